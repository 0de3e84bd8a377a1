/** A row for each route. */
import { limits } from '../../src/base/limits.ts';
import type { Route } from '../../src/http/request.ts';
import type { Row, Sent } from './rows.ts';
import { eachOf, Statuses, type Ask } from './sender.ts';
import type { RepeatWorld } from './world.ts';

/**
 * Sends so many requests, a few at a time. A row that is not answered once with the status that it is there for has
 * shown nothing.
 */
export async function requests(
  { port }: RepeatWorld,
  times: number,
  make: (time: number) => Ask,
  wanted: Wanted = null,
  moves = true,
): Promise<Sent> {
  const statuses = new Statuses();
  await eachOf(port, times, async (ask, time) => statuses.add((await ask(make(time))).status), moves);
  return sentOf(statuses, times, wanted);
}

/** A status that shows what the row is there for, or several; null for any from 200 to 399. */
type Wanted = number | readonly number[] | null;

/** The result of requests that were to be answered with a status. */
export function sentOf(statuses: Statuses, sent: number, wanted: Wanted): Sent {
  const statusesWanted = wanted === null ? null : [wanted].flat();
  const seen = statuses.answered((status) => statusesWanted?.includes(status) ?? (status >= 200 && status < 400));
  const missed = seen > 0 ? null : `no answer was ${statusesWanted?.join(' or ') ?? '2xx or 3xx'}`;
  return { sent, came: String(statuses), missed };
}

type Make = (world: RepeatWorld, time: number) => object;

const nothing: Make = () => ({});

/** The routes by their callers, with the bodies of routes that take a special one. */
const bodies: Readonly<Record<Row['by'], Readonly<Record<string, Make | null>>>> = {
  nobody: {
    'GET /openapi.json': null,
    'GET /asyncapi.json': null,
    'GET /': null,
    'GET /favicon.ico': null,
    'GET /docs': null,
    'GET /docs/': null,
    'GET /healthz': null,
    'GET /readyz': null,
    'GET /metrics': null,
    'GET /p/{slug}/about': null,
    'POST /p/{slug}/visitors': () => ({ channel: 'link' }),
    'POST /console/api/sign-in': (_, time) => ({ token: `wrong-${time}` }),
    'GET /console/api/sign-in': null,
    'GET /console/api/oidc': null,
    'GET /console/api/oidc/callback': null,
    'GET /console': null,
    'GET /console/': null,
    'GET /console/{path*}': null,
    'GET /p/{slug}': null,
    'GET /p/{slug}/': null,
    'GET /p/{slug}/frame': null,
    'GET /link/{file}': null,
    'GET /widget.js': null,
    'OPTIONS /p/{slug}/about': null,
    'OPTIONS /p/{slug}/visitors': null,
    'OPTIONS /p/{slug}/sessions': null,
    'OPTIONS /p/{slug}/sessions/{id}': null,
    'OPTIONS /p/{slug}/sessions/{id}/transcript': null,
    'OPTIONS /p/{slug}/sessions/{id}/events': null,
    'OPTIONS /p/{slug}/sessions/{id}/end': null,
    'OPTIONS /p/{slug}/sessions/{id}/ask': null,
    'OPTIONS /p/{slug}/sessions/{id}/chat': null,
    'OPTIONS /p/{slug}/sessions/{id}/turns/{turn_id}/abort': null,
    'OPTIONS /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': null,
    'OPTIONS /p/{slug}/sessions/{id}/turns/{turn_id}/events': null,
    'OPTIONS /p/{slug}/transcription-tokens': null,
    'OPTIONS /p/{slug}/call-tokens': null,
    'OPTIONS /p/{slug}/speech': null,
  },
  key: {
    'GET /assistants': null,
    'GET /assistants/{id}': null,
    'POST /sessions': ({ ids }) => ({ assistant_id: ids.assistants }),
    'GET /sessions': null,
    'GET /sessions/{id}': null,
    'POST /sessions/{id}/end': nothing,
    'POST /sessions/{id}/ask': nothing,
    'POST /sessions/{id}/chat': () => ({ message: 'Hello' }),
    'POST /sessions/{id}/turns/{turn_id}/abort': nothing,
    'PUT /sessions/{id}/turns/{turn_id}/feedback': () => ({ rating: 'up' }),
    'DELETE /sessions/{id}/turns/{turn_id}/feedback': nothing,
    'GET /sessions/{id}/turns/{turn_id}/events': null,
    'GET /sessions/{id}/transcript': null,
    'GET /sessions/{id}/events': null,
    'GET /usage': null,
    'GET /voices': null,
    'POST /speech': ({ speaker }) => ({ assistant_id: speaker, text: 'Hello', format: 'wav' }),
    'POST /call-tokens': ({ talk }) => ({ session_id: talk }),
    'GET /v1/models': null,
    'GET /v1/models/{id}': null,
    'POST /v1/chat/completions': ({ speaker }) => ({ model: speaker, messages: [{ role: 'user', content: 'Hello' }] }),
    'POST /v1/responses': ({ speaker }) => ({ model: speaker, input: 'Hello' }),
    'GET /v1/responses/{id}': null,
    'DELETE /v1/responses/{id}': null,
    'POST /v1/audio/speech': ({ speaker }) => ({ model: speaker, input: 'Hello', response_format: 'wav' }),
    'POST /mcp': (_, time) => ({ jsonrpc: '2.0', id: time, method: 'tools/list' }),
    'POST /transcription-tokens': ({ speaker }) => ({ assistant_id: speaker }),
  },
  visitor: {
    'POST /p/{slug}/sessions': nothing,
    'GET /p/{slug}/sessions/{id}': null,
    'GET /p/{slug}/sessions/{id}/transcript': null,
    'POST /p/{slug}/sessions/{id}/ask': nothing,
    'POST /p/{slug}/sessions/{id}/chat': () => ({ message: 'Hello' }),
    'POST /p/{slug}/sessions/{id}/turns/{turn_id}/abort': nothing,
    'PUT /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': () => ({ rating: 'up' }),
    'DELETE /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': nothing,
    'GET /p/{slug}/sessions/{id}/turns/{turn_id}/events': null,
    'POST /p/{slug}/transcription-tokens': ({ visited }) => ({ session_id: visited.session }),
    'POST /p/{slug}/call-tokens': ({ visited }) => ({ session_id: visited.session }),
    'POST /p/{slug}/speech': ({ visited }) => ({ session_id: visited.session, text: 'Hello', format: 'wav' }),
    'POST /p/{slug}/sessions/{id}/end': nothing,
    'GET /p/{slug}/sessions/{id}/events': null,
  },
  operator: {
    'POST /console/api/sign-out': nothing,
    'GET /console/api/me': null,
    'GET /console/api/sign-ins': null,
    'DELETE /console/api/sign-ins/{id}': nothing,
    'POST /console/api/sign-in-links': (_, time) => ({ name: `Person ${time}` }),
    'GET /console/api/audit': null,
    'GET /console/api/people': null,
    'PATCH /console/api/people/{id}': () => ({ blocked: false }),
    'GET /console/api/workspaces': null,
    'POST /console/api/workspaces': (_, time) => ({ name: `W ${time}` }),
    'GET /console/api/workspaces/{w}': null,
    'PATCH /console/api/workspaces/{w}': (_, time) => ({ name: `spare ${time}` }),
    'DELETE /console/api/workspaces/{w}': nothing,
    'GET /console/api/workspaces/{w}/assistants': null,
    'POST /console/api/workspaces/{w}/assistants': (_, time) => ({ name: `A ${time}` }),
    'GET /console/api/workspaces/{w}/assistants/{id}': null,
    'PATCH /console/api/workspaces/{w}/assistants/{id}': (_, time) => ({ name: `A ${time}` }),
    'DELETE /console/api/workspaces/{w}/assistants/{id}': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/preview': ({ ids }) => ({ session_id: ids.sessions }),
    'GET /console/api/workspaces/{w}/assistants/{id}/link': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/link/identity': nothing,
    'DELETE /console/api/workspaces/{w}/assistants/{id}/link/identity': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/publish': nothing,
    'GET /console/api/workspaces/{w}/assistants/{id}/versions': null,
    'GET /console/api/workspaces/{w}/assistants/{id}/versions/{n}': null,
    'GET /console/api/workspaces/{w}/assistants/{id}/versions/{n}/changes': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/versions/{n}/restore': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/rollback': () => ({ version: 1 }),
    'POST /console/api/workspaces/{w}/assistants/{id}/rollout': () => ({ version: 1, percent: 10 }),
    'POST /console/api/workspaces/{w}/assistants/{id}/rollout/promote': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/rollout/end': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/recall': nothing,
    'GET /console/api/workspaces/{w}/assistants/{id}/tests': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/tests': () => ({ name: 'Test', steps: [{ message: 'Hello' }] }),
    'GET /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': null,
    'PATCH /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': () => ({ repeat: 2 }),
    'DELETE /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': nothing,
    'GET /console/api/workspaces/{w}/assistants/{id}/test-runs': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/test-runs': () => ({ version: 'draft' }),
    'GET /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}': null,
    'DELETE /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/unpublish': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/disable': nothing,
    'POST /console/api/workspaces/{w}/assistants/{id}/enable': nothing,
    'GET /console/api/workspaces/{w}/keys': null,
    'POST /console/api/workspaces/{w}/keys': (_, time) => ({ name: `K ${time}` }),
    'GET /console/api/workspaces/{w}/keys/{id}': null,
    'PATCH /console/api/workspaces/{w}/keys/{id}': (_, time) => ({ name: `K ${time}` }),
    'POST /console/api/workspaces/{w}/keys/{id}/revoke': nothing,
    'POST /console/api/workspaces/{w}/keys/{id}/rotate': () => ({ overlap_seconds: 60 }),
    'GET /console/api/workspaces/{w}/credentials': null,
    'POST /console/api/workspaces/{w}/credentials': (_, time) => ({
      kind: 'model',
      provider: 'openai',
      api_key: `k${time}`,
    }),
    'PATCH /console/api/workspaces/{w}/credentials/{id}': (_, time) => ({ api_key: `k${time}` }),
    'DELETE /console/api/workspaces/{w}/credentials/{id}': nothing,
    'POST /console/api/workspaces/{w}/credentials/{id}/test': nothing,
    'GET /console/api/workspaces/{w}/webhooks': null,
    'POST /console/api/workspaces/{w}/webhooks': (_, time) => ({
      url: `https://crm.example/${time}`,
      events: ['turn.failed'],
    }),
    'GET /console/api/workspaces/{w}/webhooks/{id}': null,
    'PATCH /console/api/workspaces/{w}/webhooks/{id}': () => ({ enabled: false }),
    'DELETE /console/api/workspaces/{w}/webhooks/{id}': nothing,
    'GET /console/api/workspaces/{w}/webhooks/{id}/deliveries': null,
    'POST /console/api/workspaces/{w}/webhooks/{id}/deliveries/{delivery_id}/retry': nothing,
    'GET /console/api/workspaces/{w}/tools': null,
    'POST /console/api/workspaces/{w}/tools': (_, time) => ({ kind: 'client', name: `T ${time}` }),
    'GET /console/api/workspaces/{w}/tools/{id}': null,
    'PATCH /console/api/workspaces/{w}/tools/{id}': (_, time) => ({ name: `T ${time}` }),
    'DELETE /console/api/workspaces/{w}/tools/{id}': nothing,
    'POST /console/api/workspaces/{w}/tools/{id}/refresh': nothing,
    'POST /console/api/workspaces/{w}/tools/{id}/rotate-secret': nothing,
    'POST /console/api/workspaces/{w}/tools/{id}/test': () => ({ name: 'look' }),
    'GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/steps': null,
    'GET /console/api/workspaces/{w}/sessions': null,
    'GET /console/api/workspaces/{w}/sessions/{id}': null,
    'DELETE /console/api/workspaces/{w}/sessions/{id}': nothing,
    'DELETE /console/api/workspaces/{w}/visitors/{visitor_id}': nothing,
    'GET /console/api/workspaces/{w}/sessions/{id}/transcript': null,
    'GET /console/api/workspaces/{w}/usage': null,
    'GET /console/api/machines': null,
    'GET /console/api/machines/{kind}': null,
    'GET /console/api/load': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/trials': nothing,
    'POST /console/api/workspaces/{w}/sessions/{id}/call-tokens': nothing,
    'POST /console/api/workspaces/{w}/sessions/{id}/chat': () => ({ message: 'Hello' }),
    // Each engine is sent every other row: the person's rows are the same engine's.
    'POST /console/api/workspaces/{w}/sessions/{id}/take': nothing,
    'GET /console/api/workspaces/{w}/desk': null,
    'POST /console/api/workspaces/{w}/sessions/{id}/messages': () => ({ text: 'Hello' }),
    'GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}': null,
    'POST /console/api/workspaces/{w}/sessions/{id}/return': nothing,
    'POST /console/api/workspaces/{w}/sessions/{id}/release': nothing,
    'POST /console/api/workspaces/{w}/sessions/{id}/end': nothing,
    'POST /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/abort': nothing,
    'GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/events': null,
    'GET /console/api/workspaces/{w}/sessions/{id}/events': null,
    'GET /console/api/workspaces/{w}/sessions/{id}/history': null,
    'GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/history': null,
    'GET /console/api/workspaces/{w}/keys/{id}/history': null,
    'GET /console/api/workspaces/{w}/assistants/{id}/history': null,
    'GET /console/api/workspaces/{w}/assistants/{id}/voices': null,
    'POST /console/api/workspaces/{w}/assistants/{id}/speech': () => ({ text: 'Hello', format: 'wav' }),
  },
  provider: {},
};

/** Routes after which an id is of no use to later rows: they get a spare id, and DELETE an unknown one. */
const isLast = ({ path }: Pick<Route, 'path'>): boolean =>
  /\/(end|revoke|unpublish|publish|disable|enable)$/.test(path);

function idOf(
  route: Pick<Route, 'method' | 'path'>,
  kind: string,
  { ids, spares, speaker, visited, credential }: RepeatWorld,
  time: number,
): string {
  if (route.method === 'DELETE') return `none_${time}`;
  if (route.path.startsWith('/p/')) return isLast(route) ? spares.visited : visited.session;
  if (route.path.includes('/{w}/sessions') && route.method === 'POST') return spares.trial;
  if (route.path.endsWith('/speech') || route.path.startsWith('/v1/models/')) return speaker;
  if (route.path.endsWith('/credentials/{id}/test')) return credential;
  return (
    (isLast(route) ? (spares as Readonly<Record<string, string>>)[kind] : undefined) ??
    (ids as Readonly<Record<string, string>>)[kind]!
  );
}

function pathOf(route: Pick<Route, 'method' | 'path'>, world: RepeatWorld, time: number): string {
  const { ids, house, visited } = world;
  // The console's rows of sessions and assistants, and the one that asks a provider, look where these are.
  const workspace = /\{w\}\/(assistants|sessions)|credentials\/.*\/test$/.test(route.path)
    ? house.workspaceId
    : ids.workspaces;
  return route.path
    .replace('{slug}', 'repeat')
    .replace('{w}', route.method === 'DELETE' && route.path.endsWith('{w}') ? `wks_${time}` : workspace)
    .replace(
      '{turn_id}',
      route.path.startsWith('/p/')
        ? visited.turn
        : /\/console\/.*abort$/.test(route.path)
          ? world.spares.trialTurn
          : ids.turns,
    )
    .replace('{delivery_id}', ids.deliveries)
    .replace('{test_id}', `tst_${time}`)
    .replace('{run_id}', `run_${time}`)
    .replace('{n}', '1')
    .replace('{kind}', 'session')
    .replace('{file}', `nothing-${time}.js`)
    .replace('{path*}', `nothing/${time}`)
    .replace(/(\w[\w-]*)\/\{id\}/, (_, kind: string) => `${kind}/${idOf(route, kind, world, time)}`)
    .concat(route.path === '/voices' ? `?assistant_id=${world.speaker}` : '')
    .concat(route.path.endsWith('sessions/{id}/events') ? `?after=${1e9 + time}` : '');
}

const tokenOf = (by: Row['by'], { house, visit }: RepeatWorld): string | null =>
  ({ nobody: null, key: house.key, visitor: visit.token, operator: house.operatorToken, provider: null })[by];

/** The request of a row, for the time that it is sent. */
export function requestOf(
  by: Row['by'],
  route: Pick<Route, 'method' | 'path'>,
  body: unknown,
  world: RepeatWorld,
  time: number,
): Ask {
  const token = tokenOf(by, world);
  return {
    method: route.method,
    path: pathOf(route, world, time),
    headers: {
      ...(route.path === '/' && { accept: 'text/html' }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body != null && { 'content-type': 'application/json' }),
    },
    ...(body != null && { body: JSON.stringify(body) }),
  };
}

/** The status of routes whose repetition is not answered as their method's is. */
const wanted: Readonly<Record<string, Wanted>> = {
  'POST /console/api/sign-in': 429,
  'GET /console/api/oidc': 404,
  'DELETE /console/api/workspaces/{w}/sessions/{id}': 200,
  'DELETE /console/api/workspaces/{w}/visitors/{visitor_id}': 200,
  'GET /console/api/oidc/callback': 404,
  'PATCH /console/api/people/{id}': 404,
  // A stream of events is opened and refused: its cursor is beyond the end.
  'GET /sessions/{id}/events': 422,
  'GET /p/{slug}/sessions/{id}/events': 422,
  'GET /console/api/workspaces/{w}/sessions/{id}/events': 422,
  // The desk is closed, and nobody has the session any more.
  'POST /sessions/{id}/ask': 404,
  'POST /p/{slug}/sessions/{id}/ask': 404,
  'POST /console/api/workspaces/{w}/sessions/{id}/release': 409,
  // The first return ends the take.
  'POST /console/api/workspaces/{w}/sessions/{id}/return': [200, 409],
  // The link does not take ratings.
  'PUT /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': 404,
  'GET /link/{file}': 404,
  'GET /v1/responses/{id}': 404,
  'POST /console/api/workspaces/{w}/tools/{id}/refresh': 422,
  'POST /console/api/workspaces/{w}/webhooks/{id}/deliveries/{delivery_id}/retry': 404,
  'GET /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': 404,
  'PATCH /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': 404,
  'DELETE /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': 404,
  'GET /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}': 404,
  'DELETE /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}': 404,
  // The assistant may have tests that an earlier row made.
  'POST /console/api/workspaces/{w}/assistants/{id}/test-runs': [202, 422],
  // The version is the current one, and nothing is rolled out.
  'POST /console/api/workspaces/{w}/assistants/{id}/rollout': 422,
  'POST /console/api/workspaces/{w}/assistants/{id}/rollout/promote': 404,
  'POST /console/api/workspaces/{w}/assistants/{id}/rollout/end': 404,
  // The workspace has as many webhooks as it may.
  'POST /console/api/workspaces/{w}/webhooks': 422,
  'POST /console/api/workspaces/{w}/tools/{id}/test': 422,
  'POST /console/api/workspaces/{w}/assistants/{id}/trials': 429,
};

/** Minimum number of requests until a route answers so. */
const least: Readonly<Record<string, number>> = {
  'POST /console/api/sign-in': 1.5 * limits.failedSignInsPerMinuteOfAll,
};

export const routeRows: readonly Row[] = Object.entries(bodies).flatMap(([by, made]) =>
  Object.entries(made).map(([covers, make]): Row => {
    const [method, path] = covers.split(' ') as [Route['method'], string];
    return {
      name: covers,
      by: by as Row['by'],
      covers,
      send: (world, times) =>
        requests(
          world,
          Math.max(times, least[covers] ?? 0),
          (time) => requestOf(by as Row['by'], { method, path }, make?.(world, time), world, time),
          wanted[covers] ?? (method === 'DELETE' ? 404 : null),
        ),
    };
  }),
);
