/** The reference's texts on the console's assistants. */
import { listOf, type Area, type OperationEntry } from './entry.ts';
import * as example from './examples.ts';
import { linkStatus } from './link.ts';
import { testEntries } from './tests.ts';
import { versionEntries } from './versions.ts';

const all = '/console/api/workspaces/{w}/assistants';
const one = `${all}/{id}`;
const unknown = 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.';
const settings =
  'A provider that the server does not have (`model.provider`, `voice.provider`), a name or a voice that it does not take (`model.name`, `voice.name`, `voice.transcription_name`, `voice.voice`), and a credential of another kind, provider or workspace \
(`model.credential_id`, `voice.credential_id`) are 422 `invalid_request`, and the message names the field.';
const voice = `\`voice\` names the provider that speaks and transcribes: \`name\` is the model that speaks, \`transcription_name\` the one that transcribes, \`voice\` an id of \`GET /voices\`, each the provider's own default where it is null. The providers are \`embedded\` (offline, English, no credential), \
\`openai\` (any endpoint with \`/audio/speech\` and \`/audio/transcriptions\`, with a credential of the kind \`voice\`) and, where the operator names a folder, \`local\`. A \`voice\` of null is \`embedded\`. Nothing of it counts while \`channels.voice\` is off.`;

const variables =
  '`greeting` and `model.system_prompt` may have variables, `{{NAME}}` or `{{NAME|default}}`: `visitor.FIELD`, `metadata.KEY`, `channel`, `date`, `time`, `weekday`, `assistant.name`, `session.id`; `\\{{` is a literal `{{`. `metadata.KEY` needs a default, which may be empty, and `visitor.FIELD` does unless the field is required. \
An unknown name, a brace that does not close and a missing default are 422 `invalid_request`, and the message names the field.';

const draft =
  "The settings are those of the draft; people are answered by versions, and `version` is the number of the current one. `draft.digest` is another for every change of the settings that belong to the draft, its tools' definitions included; the `ETag` has it in quotes. `draft.changed` says whether the draft differs from the current version.";
const expected = 'With `If-Match`, a draft of another digest is 409 `draft_changed`, and nothing changes.';

const move = (verb: string, does: string, status: string, entry: Partial<OperationEntry> = {}) => ({
  [`POST ${one}/${verb}`]: {
    does: `${does} Turns in flight run on.${verb === 'publish' ? '' : ' Takes no body.'}`,
    repeat: 'A repeat changes nothing and returns the assistant as it is.',
    surprises: `${unknown} Each verb leads to its one status from every other.${verb === 'publish' ? ` ${expected}` : ''}`,
    answer: { ...example.configured, status },
    ...entry,
  } satisfies OperationEntry,
});

export const consoleAssistants: Area = {
  name: 'Console: assistants',
  group: 'Console',
  description: 'Assistants with all their settings: model, credential, system prompt, voice, public link.',
  entries: {
    [`GET ${all}`]: {
      does: 'Returns the assistants of a workspace with their settings, newest first. `limit` and `after` page through the list.',
      surprises: 'An unknown workspace is 404 `route_not_found`.',
      query: { limit: 10 },
      answer: listOf(example.configured),
    },
    [`POST ${all}`]: {
      does: `Creates an assistant as a draft, which is listed over the API and refuses sessions until it is published. Only \`name\` is required: \
without \`model\` it answers from the embedded model, which is rule-based, needs no credential and says so. \`model.reasoning\` says whether the model's reasoning before its answer is shown: \
\`hidden\` passes over \`<think>…</think>\` at the beginning of an answer and over fields for reasoning, \`shown\` makes both part of the answer, in these tags.

${variables}

${voice}`,
      repeat: 'A repeat creates a second assistant; names need not be unique.',
      surprises: settings,
      body: {
        name: 'Support',
        description: example.assistant.description,
        greeting: example.assistant.greeting,
        channels: { voice: true },
        visitor_fields: example.assistant.visitor_fields,
        model: example.settings.model,
      },
      answer: example.draft,
    },
    [`GET ${one}`]: {
      does: `Returns one assistant with its settings. ${draft}`,
      surprises: unknown,
      answer: example.configured,
    },
    [`PATCH ${one}`]: {
      does: `Changes an assistant in any status. \`greeting\`, \`visitor_fields\`, \`max_call_seconds\`, \`model\`, \`voice\`, \`tool_ids\` and \`tool_rounds_max\` change the draft alone, until it is published; the other settings are effective at once. Fields that are left out stay as they are, those of \`model\`, \`voice\`, \`channels\` and \`link\` one by one (the \`provider\` of \`voice\` is required where there were no voice settings); \
\`visitor_fields\` is replaced as a whole. Null clears a field that may be empty. Sessions that are open keep their version.`,
      repeat: 'A repeat changes nothing but `updated_at`.',
      surprises: `${settings} ${unknown} ${expected}`,
      body: { model: { temperature: 0 }, max_call_seconds: 1800, desk: { enabled: true } },
      answer: {
        ...example.configured,
        model: { ...example.settings.model, temperature: 0 },
        max_call_seconds: 1800,
        updated_at: example.assistant.updated_at + 600,
      },
    },
    [`DELETE ${one}`]: {
      does: 'Deletes an assistant. This cannot be undone. Its sessions and transcripts stay until their retention is over, and refuse messages with 404 `assistant_not_found`.',
      repeat: 'A repeat is 404 `assistant_not_found`.',
      surprises: unknown,
    },
    [`POST ${one}/preview`]: {
      does: 'Returns prompt and greeting as a session of the assistant would get them now, its variables filled. `greeting`, `visitor_fields` and `model.system_prompt` of the body are tried without being saved.',
      repeat: 'A repeat changes nothing.',
      surprises: `A text that a \`PATCH\` would refuse is 422 with the same field. A session of another assistant is 404 \`session_not_found\`. ${unknown}`,
      body: { session_id: example.ids.session, model: { system_prompt: 'You answer for {{assistant.name}}.' } },
      answer: {
        object: 'assistant_preview',
        session_id: example.ids.session,
        system_prompt: 'You answer for Support.',
        greeting: example.assistant.greeting,
      },
    },
    ...linkStatus,
    ...versionEntries,
    ...testEntries,
    ...move(
      'publish',
      'Makes the next version from the draft and makes it current: new sessions get it, and open ones stay on theirs. A draft that equals the current version makes none. The assistant takes sessions and messages over the API. The body is optional: `note` is kept with the version.',
      'published',
      { body: { note: 'Answers in one sentence.' } },
    ),
    ...move(
      'unpublish',
      'Turns a published assistant into a draft again: new sessions and new messages are 409 `assistant_not_published`.',
      'draft',
    ),
    ...move(
      'disable',
      'Switches an assistant off: new sessions and new messages are 409 `assistant_disabled`.',
      'disabled',
    ),
    ...move(
      'enable',
      'Switches a disabled assistant on again: it is published. The draft of an assistant that was never published becomes its first version, for which `require_tests` holds.',
      'published',
    ),
  },
};
