/** The reference's texts on the console's API, without its assistants. */
import { limits } from '../../base/limits.ts';
import { grouped } from '../../base/text.ts';
import { listOf, type Area } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const unknown =
  'An unknown workspace or an unknown id is 404 `route_not_found`: the error table has no other code for it.';
const keep = 'Fields that are left out stay as they are.';
const paged = '`limit` and `after` page through the list.';
/** A moment in 2027. */
const expiry = 2_000_000_000;

export const workspaces: Area = {
  name: 'Console: workspaces',
  group: 'Console',
  description: 'A workspace owns assistants, keys, credentials and sessions; nothing is shared between two.',
  entries: {
    'GET /console/api/workspaces': {
      does: `Returns the workspaces of the installation, newest first. ${paged}`,
      query: { limit: 10 },
      answer: listOf(example.workspace),
    },
    'POST /console/api/workspaces': {
      does: `Creates a workspace. \`retention_days\` (${limits.retentionDaysDefault} by default) is how long a session is kept after its last activity, and \`turns_in_flight_max\` \
(${limits.turnsInFlightMax} by default) how many replies may stream at once over the API.`,
      repeat: 'A repeat creates a second workspace; names need not be unique.',
      body: { name: 'Shop', retention_days: 30 },
      answer: example.workspace,
    },
    [`GET ${inWorkspace}`]: { does: 'Returns one workspace.', surprises: unknown, answer: example.workspace },
    [`PATCH ${inWorkspace}`]: {
      does: `Changes a workspace. ${keep} A shorter retention hides older sessions at once; they are deleted soon after.`,
      repeat: 'A repeat changes nothing but `updated_at`.',
      surprises: unknown,
      body: { turns_in_flight_max: 25 },
      answer: { ...example.workspace, turns_in_flight_max: 25, updated_at: example.workspace.updated_at + 600 },
    },
    [`DELETE ${inWorkspace}`]: {
      does: 'Deletes a workspace with its assistants, keys, credentials, sessions and usage. This cannot be undone. Its keys are 401 `invalid_api_key` from then on.',
      repeat: 'A repeat is 404 `route_not_found`.',
      surprises: unknown,
    },
  },
};

export const keys: Area = {
  name: 'Console: keys',
  group: 'Console',
  description: 'API keys: who may call for a workspace, which assistants, and how often.',
  entries: {
    [`GET ${inWorkspace}/keys`]: {
      does: `Returns the API keys of a workspace, newest first, revoked and expired ones included. The keys themselves are not in it. \
\`last_used_at\` is to the minute, and null before the first request; \`budgets\` are as they stand, and reading them charges nothing. ${paged}`,
      surprises: unknown,
      query: { limit: 10 },
      answer: listOf(example.key),
    },
    [`POST ${inWorkspace}/keys`]: {
      does: `Creates an API key. \`key\` of this answer is the key itself: only its digest is stored, so it cannot be shown again. \
\`assistant_ids\` restricts the key to these assistants (null for all, an empty list for none), \`expires_at\` ends it, and \`limits\` are its ceilings a minute: \
${limits.requestsPerMinute} requests, ${limits.speechPerMinute} of speech and ${limits.transcriptionTokensPerMinute} transcription tokens by default. \
\`limits.tokens_per_day\` is the number of model tokens, input and output, that the key's turns may use in a UTC day; null by default, for any number.`,
      repeat: 'A repeat creates a second key. A key whose answer was lost cannot be read again: revoke it.',
      surprises: `${unknown} The ids in \`assistant_ids\` are not looked up, so an assistant can be named before it exists.`,
      body: { name: 'web shop', assistant_ids: [example.ids.assistant], limits: { requests: 120 } },
      answer: { ...example.newKey, key: example.secret },
    },
    [`GET ${inWorkspace}/keys/{id}`]: {
      does: 'Returns one API key without its secret.',
      surprises: unknown,
      answer: example.key,
    },
    [`PATCH ${inWorkspace}/keys/{id}`]: {
      does: `Changes an API key; every process of the installation knows within a second. ${keep} Null clears \`assistant_ids\`, \`expires_at\` and \`limits.tokens_per_day\`.`,
      repeat: 'A repeat changes nothing.',
      surprises: `${unknown} A revoked key can be changed, and stays revoked.`,
      body: { expires_at: expiry, limits: { requests: 240 } },
      answer: { ...example.key, ...example.raised, expires_at: expiry },
    },
    [`POST ${inWorkspace}/keys/{id}/revoke`]: {
      does: 'Revokes an API key for good: its requests are 401 `revoked_api_key`. Turns in flight run on. Takes no body.',
      repeat: 'A repeat changes nothing, and `revoked_at` stays.',
      surprises: unknown,
      answer: { ...example.key, status: 'revoked', revoked_at: example.key.created_at + 4_000 },
    },
    [`POST ${inWorkspace}/keys/{id}/rotate`]: {
      does: `Replaces an API key: makes a new one of the same name, limits, assistants and expiry, whose \`key\` is in this answer alone, and gives the old one an end after \`overlap_seconds\` \
(0 by default, ${grouped(limits.keyOverlapSecondsMax)} at most) or at its own date, the earlier. Until then both work, each with its own budgets; every process of the installation knows within a second.`,
      repeat:
        'A repeat within the overlap makes a third key, and the end of the old one moves no further away. A key whose answer was lost cannot be read again: revoke it and rotate once more, which an overlap leaves time for.',
      surprises: `${unknown} A key that is revoked or has expired is 422 \`id\`: a new one is created, not rotated.`,
      body: { overlap_seconds: 86_400 },
      answer: { ...example.rotatedKey, expires_at: expiry, key: example.rotatedSecret },
    },
  },
};

export const credentials: Area = {
  name: 'Console: credentials',
  group: 'Console',
  description: 'Keys of model and voice providers, stored encrypted. A secret goes in and never comes out.',
  entries: {
    [`GET ${inWorkspace}/credentials`]: {
      does: `Returns the credentials of a workspace, newest first, without their secrets. ${paged}`,
      surprises: unknown,
      query: { limit: 10 },
      answer: listOf(example.credential),
    },
    [`POST ${inWorkspace}/credentials`]: {
      does: "Stores a credential, encrypted. `base_url` is the address of an OpenAI-compatible endpoint with its `/v1`; null is the provider's own. `name` is optional. White space at the ends of `api_key` is removed. Nothing is sent to the provider yet.",
      repeat: 'A repeat stores a second credential.',
      surprises:
        'A `base_url` without `https://` is 422, but for private addresses where the server allows them; one in a private network is 422 where it does not. So are one that ends in an operation, as in `…/v1/chat/completions`, a `provider` that is not offered, a `name` that another credential of the workspace has, and an `api_key` that begins with `Bearer `.',
      body: {
        kind: 'model',
        name: 'main',
        provider: 'openai',
        base_url: 'https://api.example.com/v1',
        api_key: 'sk-example',
      },
      answer: example.credential,
    },
    [`PATCH ${inWorkspace}/credentials/{id}`]: {
      does: `Changes a credential, for the turns that begin from then on. ${keep}`,
      repeat: 'A repeat changes nothing but `updated_at`.',
      surprises:
        'Another `provider` or `base_url` without `api_key` is 422: who may change where a secret is sent must know the secret. A `name` that another credential of the workspace has is 422; null removes it.',
      body: { api_key: 'sk-example-of-autumn' },
      answer: { ...example.credential, updated_at: example.credential.updated_at + 600 },
    },
    [`POST ${inWorkspace}/credentials/{id}/test`]: {
      does: `Asks the provider for its list of models with the credential, which costs nothing there. \`result\` is \`works\`, \`refused\`, or \`unknown\` where the provider does not answer \
(within ${limits.providerGetMs / 1000} seconds), answers in HTTP/2 alone or something else, or may not be called, and for the key of a tool, which a test call of the tool tries. \`message\` is a fixed sentence: the provider's own words are never shown. Takes no body.`,
      repeat: 'A repeat asks the provider again.',
      surprises: `${unknown} A failure of the provider is no error of this call, but its result.`,
      answer: { object: 'credential_test', result: 'works', message: 'The provider takes the key.' },
    },
    [`DELETE ${inWorkspace}/credentials/{id}`]: {
      does: 'Deletes a credential. Assistants that name it stay as they are, and their turns are 503 `assistant_unavailable`.',
      repeat: 'A repeat is 404 `route_not_found`.',
      surprises: unknown,
    },
  },
};

export const conversations: Area = {
  name: 'Console: conversations',
  group: 'Console',
  description: 'Sessions, transcripts and usage of a workspace, read by operators, and its live actors.',
  entries: {
    [`GET ${inWorkspace}/sessions`]: {
      does: `Returns the sessions of a workspace, newest first, within its retention, trials included. \`q\` is the beginning of a session's id, or in any case that of one of its visitor's values; \
\`from\` and \`to\` are about \`created_at\`, the second of them exclusive; a session that no key made has none. \`first_words=true\` adds the beginning of each session's first message; \`total=true\` counts the sessions that match, up to ${grouped(limits.sessionsCountedMax)}, which costs a read of as many. ${paged}`,
      surprises: 'An unknown `assistant_id` is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
      query: { status: 'open', limit: 10, first_words: true, total: true },
      answer: { ...listOf(example.listedSession), total: 1 },
    },
    [`GET ${inWorkspace}/sessions/{id}`]: {
      does: 'Returns one session, with how many of its messages the model of the last turn was not sent because the conversation is too long for `model.history_tokens_max`, or for the model.',
      surprises: "A session past the workspace's retention is 404 `session_not_found`.",
      answer: example.session,
    },
    [`GET ${inWorkspace}/sessions/{id}/transcript`]: {
      does: `Returns the messages of a session, oldest first, as \`GET /sessions/{id}/transcript\` does.

With \`format=markdown\` it is the whole transcript as a document: a heading names the speaker and the time, and the message is quoted. Tags in it are escaped; its own Markdown is left as it is. \
An answer that cannot be finished is cut off.`,
      surprises:
        "The cursors are numbers, not message ids. A session past the workspace's retention is 404 `session_not_found`.",
      query: { limit: 50 },
      answer: listOf(...example.messages),
      exports: { 'text/markdown': example.markdown },
    },
    [`GET ${inWorkspace}/usage`]: {
      does: 'Returns the usage of a workspace, as `GET /usage` does. With `key_id` it is the usage of that key: its speech and transcription, and all of the sessions that it made, whichever key sends their messages. With `format=csv` it has a header and a row for each bucket, as RFC 4180 says; `start` is in Unix seconds, and there is no row of totals.',
      surprises: `A window longer than ${limits.usageDaysMax} days, or one that starts after it ends, is 422 \`invalid_range\`.`,
      query: { ...example.usageWindow, bucket: 'day' },
      answer: example.usage,
      exports: { 'text/csv': example.usageCsv },
    },
    'GET /console/api/inspect': {
      does: `Becomes a WebSocket that shows the live actors of every process: workspaces, keys, assistants, sessions and transcription sockets, with their states. Each message is one line of JSON:

- \`{"type":"actors","at","actors":[{"kind","id","workspace_id","state","context"}]}\` comes first, with everything that is awake, and after \`sync\`: once for all that were sent before it. Pictures that take long come seldom.
- \`{"type":"activated"|"passivated","at","actor","state"}\` says that an actor was loaded or put to sleep; \`activated\` also that another process has moved one that is awake.
- \`{"type":"event","seq","at","actor","event","from","to","context","outcomes","refused","request_id","by","data"}\` is one step of an actor, sent once it is committed. \`event\` is the event's name, as in its history, and \`data\` the event with its fields. \`seq\` is that of its history; \
an event that commits nothing has that of the step before it. That of a transcription socket counts what it did not refuse, and that of a workspace its changes in the console: its slots are each process's own count. \
A key's \`request\` has the levels of its \`budgets\`.
- \`{"type":"dropped","count"}\` says how many messages a slow reader has missed; \`sync\` brings it up to date.

\`at\` is in milliseconds. With \`format=stately\` the same comes in the three messages of Stately's inspection protocol, for an actor, an event and a snapshot; a refusal's event has its code as \`refused\`.

The client may send \`{"type":"sync"}\`, and change its selection: \`{"type":"watch","kind","id","workspace"}\` adds actors, \`unwatch\` takes some away, and if an actor fits several messages, the newest counts. \
If the query names no actors, the first \`watch\` replaces the default, all actors. Other messages are ignored.

The server closes it with 1012 when it drains, and with 1008 when the sign-in that opened it ends, or, after \`{"type":"error","code":"invalid_request","message"}\`, when the client's messages and pings come too fast: ${limits.socketTextsMax} at once, then ${limits.socketTextsPerSecond} a second.`,
      repeat: 'Any number of sockets may watch at once.',
      surprises:
        'An unknown `kind` or `format` is 422 `invalid_request`. A request for this path without an upgrade is 404 `route_not_found`. While the server drains, an upgrade is 503 `api_error`.',
      query: { kind: 'session' },
    },
  },
};
