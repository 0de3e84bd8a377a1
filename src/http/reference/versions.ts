/** The reference's texts on the versions of assistants (contract 20). */
import { listOf, type OperationEntry } from './entry.ts';
import * as example from './examples.ts';

const one = '/console/api/workspaces/{w}/assistants/{id}';
const unknown =
  'An unknown version is 404 `version_not_found`, an unknown assistant 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.';

const version = {
  object: 'assistant_version',
  number: 4,
  digest: example.configured.draft.digest,
  note: 'Answers in one sentence.',
  created_at: example.assistant.updated_at,
  created_by: { id: 'operator', name: 'operator' },
  state: 'current',
  sessions: 212,
  turns: 1_034,
  failed_turns: 3,
  feedback_up: 41,
  feedback_down: 2,
};
const halt = { failed_percent: 5, after_turns: 50 };
const candidate = { version: 2, percent: 10, halt, state: 'rolling', turns: 0, failed_turns: 0 };
const { link: _, alias: __, session_policy: ___, require_tests: ____, ...own } = example.settings;
const { greeting, visitor_fields, max_call_seconds } = example.assistant;
const versioned = { ...own, greeting, visitor_fields, max_call_seconds };
const change = { path: 'greeting', before: 'Hello.', after: example.assistant.greeting };

export const versionEntries: Readonly<Record<string, OperationEntry>> = {
  [`GET ${one}/versions`]: {
    does: 'Returns the versions of an assistant, newest first. `limit` and `after` page through the list. An assistant that was published before versions existed has version 1 with the settings that it had.',
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
    query: { limit: 10 },
    answer: listOf(version),
  },
  [`GET ${one}/versions/{n}`]: {
    does: 'Returns one version. `config` has all its settings, and its tools as they were published.',
    surprises: unknown,
    answer: { ...version, config: { ...versioned, tools: [] } },
  },
  [`GET ${one}/versions/{n}/changes`]: {
    does: 'Returns the fields in which the version differs from version `from`, or from the `draft`; without `from` it is the version before. `before` is the value of the other one. Tools are compared by their ids.',
    surprises: unknown,
    query: { from: '2' },
    answer: { object: 'version_changes', data: [change] },
  },
  [`POST ${one}/versions/{n}/restore`]: {
    does: "Makes the version's settings those of the draft; nothing is published. Tools are shared by assistants and stay as they are: `tools_differ` has those that are not as the version contains them. A tool that is gone is in it, and not in `tool_ids`.",
    repeat: 'A repeat changes nothing but `updated_at`.',
    surprises: `${unknown} With \`If-Match\`, a draft of another digest is 409 \`draft_changed\`. Tools whose functions have the same names by now are 422 \`tool_ids\`.`,
    answer: { ...example.configured, tools_differ: [] },
  },
  [`POST ${one}/rollback`]: {
    does: 'Makes an earlier version current: `version`, or without it the newest older one that was current before. New sessions get it; open ones stay on theirs. The draft stays as it is. The body is optional.',
    repeat: 'A repeat without `version` goes one further back.',
    surprises: `Nothing to go back to is 404 \`version_not_found\`. ${unknown}`,
    body: { version: 1 },
    answer: example.configured,
  },
  [`POST ${one}/rollout`]: {
    does: 'Gives a version to a share of new sessions: `percent` of them by a hash of the assistant, the version and the visitor, or the session without a visitor. A visitor keeps the version while the rollout lasts, and a higher percent takes nobody out. `draft` becomes a version first. With `halt`, the rollout is halted by the turn with which at least `after_turns` turns have ended and more than `failed_percent` of them have failed; without it the rule stays as it is.',
    repeat: 'A repeat changes the percent. A halted rollout begins again, and counts from zero.',
    surprises: `The current version is 422 \`version\`. Another version in place of a candidate retires that one. With \`If-Match\`, a draft of another digest is 409 \`draft_changed\`. ${unknown}`,
    body: { version: 2, percent: 10, halt },
    answer: { ...example.configured, candidate },
  },
  [`POST ${one}/rollout/promote`]: {
    does: 'Makes the candidate current: all new sessions get it.',
    repeat: 'A repeat is 404 `version_not_found`: there is no candidate any more.',
    surprises: `Without a rollout it is 404 \`version_not_found\`. ${unknown}`,
    answer: { ...example.configured, version: 2 },
  },
  [`POST ${one}/rollout/end`]: {
    does: 'Ends the rollout. Sessions on its candidate get the current version with their next turn.',
    repeat: 'A repeat is 404 `version_not_found`: there is no candidate any more.',
    surprises: `Without a rollout it is 404 \`version_not_found\`. ${unknown}`,
    answer: example.configured,
  },
  [`POST ${one}/recall`]: {
    does: 'Moves every open session to the current version with its next turn.',
    repeat: 'A repeat moves the sessions that have begun since.',
    surprises: `Before the first version it is 404 \`version_not_found\`. ${unknown}`,
    answer: example.configured,
  },
};
