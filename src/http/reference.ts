/**
 * The reference that people read: what each operation does, takes and answers, in words and with an example. The shapes
 * are in `wire.ts` and the rows in `routes.ts`; `openapi.ts` puts the three together. Each operation has an entry (a
 * test counts them).
 */
import { limits } from '../base/limits.ts';
import { consoleAssistants } from './reference/console-assistants.ts';
import { conversations, credentials, keys, workspaces } from './reference/console.ts';
import { erasures } from './reference/erasures.ts';
import { histories } from './reference/history.ts';
import { protocols } from './reference/protocols.ts';
import { openai } from './reference/openai.ts';
import { machines } from './reference/machines.ts';
import { assistants, sessions, turns, usage } from './reference/conversations.ts';
import { attendance } from './reference/attendance.ts';
import { desk, load } from './reference/desk.ts';
import type { Area, OperationEntry } from './reference/entry.ts';
import { ids, settings, slug } from './reference/examples.ts';
import { linkArea } from './reference/link.ts';
import { service } from './reference/service.ts';
import { people } from './reference/people.ts';
import { signingIn } from './reference/sign-in.ts';
import { tools } from './reference/tools.ts';
import { webhooks } from './reference/webhooks.ts';
import { voice } from './reference/voice.ts';
import { isLink, type Route } from './request.ts';
import type { BudgetName } from '../store/store.ts';

export type { Area, OperationEntry } from './reference/entry.ts';

/** The areas in reading order. */
export const areas: readonly Area[] = [
  assistants,
  sessions,
  turns,
  usage,
  voice,
  openai,
  protocols,
  linkArea,
  service,
  signingIn,
  people,
  workspaces,
  consoleAssistants,
  keys,
  credentials,
  tools,
  webhooks,
  conversations,
  desk,
  attendance,
  erasures,
  histories,
  load,
  machines,
];

/** `POST /sessions`: the name of an operation in the areas. */
export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

const areaOf = new Map(areas.flatMap((area) => Object.keys(area.entries).map((name) => [name, area])));

/** The operation's entry and the area that it stands in; undefined where it has none yet. */
export function referenceOf(
  route: Pick<Route, 'method' | 'path'>,
): { readonly area: Area; readonly entry: OperationEntry } | undefined {
  const area = areaOf.get(nameOf(route));
  return area && { area, entry: area.entries[nameOf(route)]! };
}

/** The operation's description, in Markdown. */
export function descriptionOf(route: Route, entry: OperationEntry): string {
  const repeat = entry.repeat ?? (route.method === 'GET' ? 'Reading changes nothing.' : '');
  const parts = [
    ['Cost', [costOf(route), entry.cost].filter(Boolean).join(' ')],
    ['Repeats', repeat],
    ['Errors', entry.surprises ?? ''],
  ] as const;
  return [entry.does, ...parts.filter(([, text]) => text !== '').map(([name, text]) => `**${name}.** ${text}`)].join(
    '\n\n',
  );
}

const budgets: Readonly<Record<BudgetName, string>> = {
  requests: `one request of the key's budget (${limits.requestsPerMinute} a minute by default)`,
  speech: `one of its budget of speech (${limits.speechPerMinute} a minute)`,
  transcriptionTokens: `one of its budget of transcription tokens (${limits.transcriptionTokensPerMinute} a minute)`,
};

/** Returns a call's charge to the budgets, in words. */
function costOf({ budgets: charged, caller }: Route): string {
  if (charged.length > 0)
    return `${sentence(charged.map((name) => budgets[name]).join(' and '))} A request refused with 429 costs one of the budget that refused it.`;
  return caller === 'operator' ? "None: the console's API has no budgets." : 'None.';
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

/** Returns the description of a path's parameter and its example; empty if the reference has none. */
export function pathParameter(
  path: string,
  name: string,
): { readonly description?: string; readonly example?: string } {
  if (name === 'w') return { description: "The workspace's id.", example: ids.workspace };
  if (name === 'kind') return { description: "The machine's kind.", example: 'workspace' };
  if (name === 'slug') return { description: "The name of the assistant's public link.", example: slug };
  if (path.includes('/people/')) return { description: "The person's id.", example: ids.person };
  if (path.includes('/sign-ins/')) return { description: "The sign-in's id.", example: ids.signIn };
  if (path.startsWith('/v1/models/')) return { description: "An assistant's alias or id.", example: settings.alias };
  if (path.startsWith('/v1/responses/'))
    return { description: "The response's id.", example: `resp_${ids.turn.slice('turn_'.length)}` };
  const before = path
    .slice(0, path.indexOf(`/{${name}}`))
    .split('/')
    .at(-1)!;
  if (name === 'n') return { description: "The version's number.", example: '1' };
  const kind = kinds[before];
  if (kind === undefined) return {};
  const example = isLink(path) ? visitorIds[kind] : undefined;
  return { description: `The ${kind}'s id.`, example: example ?? ids[kind] };
}

/** The ids of a visitor's session and turn. */
const visitorIds: Readonly<Record<string, string>> = { session: ids.linkSession, turn: ids.linkTurn };

const kinds: Readonly<Record<string, keyof typeof ids>> = {
  assistants: 'assistant',
  sessions: 'session',
  turns: 'turn',
  keys: 'key',
  credentials: 'credential',
  tools: 'tool',
  webhooks: 'webhook',
  deliveries: 'delivery',
  visitors: 'visitor',
  tests: 'test',
  'test-runs': 'run',
};

/** `info.description` of the OpenAPI document, in Markdown. */
export const introduction = `Conversations with published assistants. A client opens a session, sends messages whose replies stream back as server-sent events, \
reads transcripts and usage, and has texts spoken and speech transcribed. Bodies are JSON in UTF-8, times are Unix seconds, and an optional value that is absent is \`null\`.

## Authentication

A request carries an API key as \`Authorization: Bearer KEY\` or \`X-Api-Key: KEY\`. Keys are created in the console, can expire, be revoked, and be restricted to some assistants. \
The paths below \`/console/api\` take the operator token instead, or the cookie of a person who is signed in.

## Errors

Every failure has one shape, and its \`request_id\` is in \`X-Request-Id\` as well:

\`\`\`json
{"error":{"type":"not_found","code":"session_not_found","message":"No such session."},"request_id":"req_1m3250v000b462fc68hzkz1c46"}
\`\`\`

Checks are made in this order, and the first that fails answers: route (404), authentication (401), budgets (429), body (400), fields (422), resource (404), permission (403), \
required visitor fields (422), state (409), turns in flight (429), provider (503). Once a stream has begun a failure is its last event, \`error\`.

Retry 429 after \`Retry-After\`, 500 \`api_error\` with backoff and three attempts in all, 503 \`api_error\` with backoff. Do not retry 503 \`assistant_unavailable\` or \`voice_unavailable\`, nor any other 4xx.

## Limits

Each key has token buckets: ${limits.requestsPerMinute} requests, ${limits.speechPerMinute} of speech and ${limits.transcriptionTokensPerMinute} transcription tokens a minute unless it is given others. \
Every answer to a key carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`; a 503 has none if the key could not be looked up. A refused request costs one as well, so a client that retries at once waits longer, and one that waits \
\`Retry-After\` passes. A key may also have a budget of model tokens a UTC day: a turn reserves its estimated input and its most output (${limits.outputTokensReserved} tokens where \
the assistant sets none) when it begins, and settles what it used when it ends; one that does not fit is 429 until 00:00 UTC. A body may have ${limits.bodyBytesMax / 1024} KiB.

## Repeats

\`POST /sessions\` and \`POST /sessions/{id}/chat\` take an \`Idempotency-Key\`: for 24 hours the same key and body give the same session, or join the same turn's stream, with \`Idempotent-Replayed: true\`. \
Every other call may be repeated as its description says.`;
