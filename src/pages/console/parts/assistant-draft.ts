/**
 * The draft in an assistant's form, converted to and from the API's shape. Unsaved changes outlive a reload of the
 * page.
 */
import type { ApiFailure } from '../api.ts';
import { durationText, durationSeconds } from './duration.ts';
import type { Assistant } from '../types.ts';
import type { Edit } from './draft-merge.ts';
import { linkLimitNames, type LinkLimitName } from '../../../base/link-limits.ts';
import { limitOf, type LinkLimits } from './link-limits.ts';

export interface VisitorField {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'number' | 'boolean';
  readonly required: boolean;
}

export interface ModelDraft {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
}

export interface AssistantDraft extends ModelDraft {
  readonly name: string;
  readonly description: string;
  readonly greeting: string;
  readonly alias: string;
  readonly maxCall: string;
  readonly sessionPolicy: string;
  readonly fallbacks: readonly ModelDraft[];
  readonly historyTokens: string;
  readonly systemPrompt: string;
  readonly temperature: string;
  readonly outputTokens: string;
  readonly reasoning: string;
  readonly voiceOn: boolean;
  readonly voiceProvider: string;
  readonly voice: string;
  readonly voiceCredential: string;
  readonly toolIds: readonly string[];
  readonly toolRounds: string;
  readonly fields: readonly VisitorField[];
  readonly linkOn: boolean;
  readonly widgetOn: boolean;
  readonly slug: string;
  readonly feedbackOn: boolean;
  readonly identityRequired: boolean;
  /** One on each line. */
  readonly origins: string;
  readonly linkLimits: LinkLimits;
  readonly requireTests: boolean;
  readonly deskOn: boolean;
  readonly deskWait: string;
  readonly deskWhileWaiting: string;
  readonly deskWaiting: string;
  readonly deskJoined: string;
  readonly deskLeft: string;
  readonly deskNobody: string;
}

export interface FormOptions {
  readonly draft: AssistantDraft;
  readonly change: (fields: Partial<AssistantDraft>) => void;
  readonly failure: ApiFailure | null;
}

/** Takes a field of the draft to a field of the form. */
export const bound = ({ draft, change, failure }: FormOptions, name: keyof AssistantDraft, path: string) => ({
  value: draft[name] as string,
  onValue: (value: string) => change({ [name]: value }),
  path,
  failure,
});

export const emptyDraft: AssistantDraft = {
  ...{ name: '', description: '', greeting: '', alias: '', maxCall: durationText(3600), sessionPolicy: 'pin' },
  ...{
    provider: 'scripted',
    model: 'scripted',
    credential: '',
    fallbacks: [],
    historyTokens: '',
    systemPrompt: '',
    temperature: '',
    outputTokens: '',
    reasoning: 'hidden',
  },
  ...{ voiceOn: false, voiceProvider: 'embedded', voice: '', voiceCredential: '' },
  ...{ toolIds: [], toolRounds: '8' },
  ...{ fields: [], linkOn: false, widgetOn: false, slug: '', feedbackOn: false, identityRequired: false },
  ...{ origins: '', linkLimits: {}, requireTests: false },
  ...{ deskOn: false, deskWait: durationText(120), deskWhileWaiting: 'assistant' },
  ...{ deskWaiting: '', deskJoined: '', deskLeft: '', deskNobody: '' },
};

const text = (value: string | number | null | undefined): string => (value == null ? '' : String(value));

export function draftOf({
  name,
  description,
  greeting,
  alias,
  channels,
  visitor_fields: fields,
  max_call_seconds: seconds,
  session_policy: sessionPolicy,
  model,
  voice,
  link,
  tool_ids: toolIds,
  tool_rounds_max: toolRounds,
  require_tests: requireTests,
  desk,
}: Assistant): AssistantDraft {
  return {
    ...{
      name,
      description: text(description),
      greeting: text(greeting),
      alias: text(alias),
      maxCall: durationText(seconds),
      sessionPolicy,
    },
    ...{
      provider: model.provider,
      model: model.name,
      credential: text(model.credential_id),
      fallbacks: model.fallbacks.map(({ provider, name, credential_id: id }) => ({
        provider,
        model: name,
        credential: text(id),
      })),
      historyTokens: text(model.history_tokens_max),
      systemPrompt: text(model.system_prompt),
      temperature: text(model.temperature),
      outputTokens: text(model.output_tokens_max),
      reasoning: model.reasoning,
    },
    ...{
      voiceOn: channels.voice,
      voiceProvider: voice?.provider ?? 'embedded',
      voice: text(voice?.voice),
      voiceCredential: text(voice?.credential_id),
    },
    ...{ toolIds, toolRounds: text(toolRounds) },
    ...{
      fields,
      linkOn: channels.link,
      widgetOn: channels.widget,
      slug: text(link?.slug),
      feedbackOn: link?.feedback ?? false,
      identityRequired: link?.identity_required ?? false,
      origins: link?.origins.join('\n') ?? '',
    },
    linkLimits: Object.fromEntries(
      Object.entries(link?.limits ?? {}).map(([limit, value]) => [limit, value === null ? 'none' : text(value)]),
    ),
    requireTests,
    ...{
      deskOn: desk.enabled,
      deskWait: durationText(desk.wait_seconds),
      deskWhileWaiting: desk.while_waiting,
      deskWaiting: text(desk.texts.waiting),
      deskJoined: text(desk.texts.joined),
      deskLeft: text(desk.texts.left),
      deskNobody: text(desk.texts.nobody),
    },
  };
}

const orNull = (value: string): string | null => (value.trim() === '' ? null : value);
const numberOrNull = (value: string): number | null => (value.trim() === '' ? null : Number(value));

/**
 * `before`: what is stored. The API keeps a limit that a change does not name, so one that was emptied is sent as its
 * default.
 */
export function bodyOf(draft: AssistantDraft, before: Assistant | null): object {
  const isGiven = (name: LinkLimitName) =>
    (draft.linkLimits[name] ?? '').trim() !== '' || before?.link?.limits?.[name] !== undefined;
  const limits = linkLimitNames.filter(isGiven).map((name) => [name, limitOf(draft.linkLimits, name)]);
  const origins = draft.origins
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const hasLink =
    draft.slug.trim() !== '' ||
    origins.length > 0 ||
    limits.length > 0 ||
    draft.linkOn ||
    draft.widgetOn ||
    draft.feedbackOn ||
    draft.identityRequired ||
    // A link of null would remove the secret as well.
    before?.link?.identity != null;
  const hasVoice = draft.voiceOn || draft.voiceProvider !== 'embedded' || draft.voice !== '';
  return {
    ...{
      name: draft.name,
      description: orNull(draft.description),
      greeting: orNull(draft.greeting),
      alias: orNull(draft.alias.trim()),
      max_call_seconds: durationSeconds(draft.maxCall),
      session_policy: draft.sessionPolicy,
      require_tests: draft.requireTests,
    },
    ...{ tool_ids: draft.toolIds, tool_rounds_max: Number(draft.toolRounds) },
    channels: { voice: draft.voiceOn, link: draft.linkOn, widget: draft.widgetOn },
    visitor_fields: draft.fields.map(({ label, ...field }) => ({
      ...field,
      label: label.trim() === '' ? field.name : label,
    })),
    model: {
      provider: draft.provider,
      name: draft.model,
      credential_id: orNull(draft.credential),
      fallbacks: draft.fallbacks.map(({ provider, model, credential }) => ({
        provider,
        name: model,
        credential_id: orNull(credential),
      })),
      history_tokens_max: numberOrNull(draft.historyTokens),
      system_prompt: orNull(draft.systemPrompt),
      temperature: numberOrNull(draft.temperature),
      output_tokens_max: numberOrNull(draft.outputTokens),
      reasoning: draft.reasoning,
    },
    voice: hasVoice
      ? { provider: draft.voiceProvider, voice: orNull(draft.voice), credential_id: orNull(draft.voiceCredential) }
      : null,
    link: hasLink
      ? {
          slug: orNull(draft.slug.trim()),
          origins,
          limits: Object.fromEntries(limits),
          feedback: draft.feedbackOn,
          identity_required: draft.identityRequired,
        }
      : null,
    desk: {
      enabled: draft.deskOn,
      wait_seconds: durationSeconds(draft.deskWait),
      while_waiting: draft.deskWhileWaiting,
      texts: {
        waiting: orNull(draft.deskWaiting),
        joined: orNull(draft.deskJoined),
        left: orNull(draft.deskLeft),
        nobody: orNull(draft.deskNobody),
      },
    },
  };
}

const keyOf = (place: string): string => `parley assistant ${place}`;

export const keep = (place: string, edit: Edit<AssistantDraft>): void =>
  sessionStorage.setItem(keyOf(place), JSON.stringify(edit));
export const forget = (place: string): void => sessionStorage.removeItem(keyOf(place));

export function readKept(place: string): Edit<AssistantDraft> | null {
  const found = sessionStorage.getItem(keyOf(place));
  if (found === null) return null;
  const { base, draft } = JSON.parse(found) as Partial<Edit<AssistantDraft>>;
  // An earlier build kept the draft alone.
  return base && draft ? { base: { ...emptyDraft, ...base }, draft: { ...emptyDraft, ...draft } } : null;
}
