/**
 * A served parley for the API's tests: asks it things, and holds every answer to the OpenAPI document that it serves.
 */
import { basename } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { temporaryFolder, type Owner } from '../folders.ts';
import type { StrictName } from '../providers/strict/modes.ts';
import { strictNames } from '../providers/strict/names.mjs';
import { startServer, type Server, type ServerOptions } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { patient } from '../run/speed.mjs';
import { conformity } from './conformity.ts';
import { cut, headersOf, send as sendTo, textOf as bodyOf } from './request.ts';

/** Whether the houses stand on Redis, where a dead process's turns are sealed only once its leases have run out. */
export const leased = process.env['PARLEY_TEST_STORE'] === 'redis';

/**
 * With PARLEY_TEST_PROVIDER the models that call tools are at this strict provider, where their tests ask for the
 * synthetic one.
 */
const strictName = process.env['PARLEY_TEST_PROVIDER'] as StrictName | undefined;
if (strictName !== undefined && !strictNames.includes(strictName))
  throw new Error(`PARLEY_TEST_PROVIDER must be one of: ${strictNames.join(', ')}.`);

// Then a file of tests has nothing to stand on. Only then is tap loaded: it fails a command that uses this file and
// runs for 30 s.
const lacking = leased ? whyNoRedis() : null;
if (lacking !== null) {
  (await import('tap')).default.plan(0, lacking);
  process.exit(0);
}

type Engine = 'uws' | 'node';

/**
 * The engines of suites that run on both: heads, routing, sockets, draining, hostile requests. On Redis one will do,
 * since engine and store are independent.
 */
export const edges: readonly Engine[] = leased ? ['uws'] : ['uws', 'node'];

const [suite] = basename(process.argv[1]!).split('.') as [string];

/**
 * The engine of all other suites. The contract in `test/http/edge/` holds both to the same, so one will do; half of the
 * suites have the one, half the other. PARLEY_TEST_EDGE names one for all.
 */
export const edge = (process.env['PARLEY_TEST_EDGE'] ?? (suite.length % 2 === 0 ? 'uws' : 'node')) as Engine;

export interface Ask {
  readonly method?: string;
  /** An API key, sent as Bearer; the operator's token for paths of the console. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string or bytes go as they are. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined for another body. */
  readonly json: any;
}

export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: any;
}

/** A stream as it arrives. */
export interface Stream {
  readonly status: number;
  readonly headers: Headers;
  readonly turnId: string;
  /** The next event; undefined at the end. */
  next(): Promise<StreamEvent | undefined>;
  /** All that are left. */
  rest(): Promise<StreamEvent[]>;
  /** Leaves without waiting for the end. */
  leave(): void;
}

/** Tries of what a store was too slow for: the start of a server, and requests that a test builds on. */
const triesMax = 20;
const againMs = 500;

/** Longer than any test that leaves a turn in flight. */
const turnMsMax = String(patient(3_600_000));

/** Budgets that no test exhausts. */
export const inexhaustible = { requests: 100_000, speech: 100_000, transcription_tokens: 100_000 };

export interface House extends Server {
  readonly url: string;
  /** A key of the workspace `default` that no test will exhaust. */
  readonly key: string;
  readonly workspaceId: string;
  ask(path: string, ask?: Ask): Promise<Answer>;
  stream(path: string, ask?: Ask): Promise<Stream>;
  /** A path below `/console/api`, as the operator. */
  console(path: string, ask?: Ask): Promise<Answer>;
  /** A published assistant of the workspace. */
  assistant(fields?: object): Promise<any>;
  /** Changes an assistant and publishes the change; resolves with the assistant after it. */
  revise(assistantId: string, fields?: object): Promise<any>;
  /** A new key of the workspace, with all that its creation answered. */
  newKey(fields?: object): Promise<any>;
  session(assistantId: string, fields?: object): Promise<any>;
}

export const textOf = (events: readonly StreamEvent[]): string =>
  events
    .filter(({ event }) => event === 'message.delta')
    .map(({ data }) => data.text)
    .join('');

export interface HouseOptions extends ServerOptions {
  /** The test looks into the embedded store's files: it stands on no other. */
  readonly embedded?: boolean;
}

/** A Redis for each house, or for each folder where a test starts again on what is stored. */
const redisOf = new Map<string, string>();

/**
 * Settings of the house's store: a new Redis with PARLEY_TEST_STORE=redis, also if its test asks for an embedded store.
 */
async function storeOf(t: Owner, folder: string, { env, embedded }: HouseOptions): Promise<Record<string, string>> {
  if (!leased || embedded || env?.['PARLEY_STORE']?.startsWith('redis')) return {};
  let url = redisOf.get(folder);
  if (url === undefined) {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    url = server.url;
    redisOf.set(folder, url);
  }
  return { PARLEY_STORE: url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
}

/** Starts a server in memory unless told otherwise, on the engine of the suite, with the synthetic provider on. */
export const openHouse = async (t: Owner, options: HouseOptions = {}): Promise<House> =>
  houseAt(await openServer(t, options));

let shared: Promise<Server> | undefined;

/**
 * A new workspace on a server of this process's suites, in memory, whose providers may be at private addresses. It is
 * for suites that look at no more than their workspace, and change nothing of the server: they may not count what all
 * workspaces have (metrics, the operator's lists), find anything by a name that another suite may give too, or stop it.
 */
export async function openWorkspace(): Promise<House> {
  const { default: t } = await import('tap');
  shared ??= openServer(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  return houseAt(await shared, { workspace: 'new' });
}

async function openServer(t: Owner, { env = {}, ...options }: HouseOptions): Promise<Server> {
  const folder = options.folder ?? (await temporaryFolder(t));
  const strict = strictName && { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' };
  const own = {
    PARLEY_STORE: 'memory:',
    PARLEY_EDGE: edge,
    PARLEY_SYNTHETIC: '1',
    PARLEY_LOG: 'warn',
    PARLEY_TURN_MS_MAX: turnMsMax,
  };
  const settings = { ...own, ...strict, ...env, ...(await storeOf(t, folder, { env, ...options })) };
  for (let left = triesMax; ; left--) {
    try {
      return await startServer(t, { ...options, env: settings, folder });
    } catch (error) {
      if (left === 1 || !(error as Error).message.includes('Redis did not answer in time')) throw error;
    }
  }
}

/** Whether a store was too slow for a request. */
const isSlow = (status: number, text: string): boolean => status === 503 && text.includes('"code":"api_error"');

/**
 * Resolves with the JSON of an answer that must have one of these statuses. A store that is too slow for a moment
 * answers 503, and nothing has changed: what a test builds on is requested again, as a client would.
 */
export async function must(request: () => Promise<Answer>, ...statuses: readonly number[]): Promise<any> {
  for (let left = triesMax; ; left--) {
    const { status, text, json } = await request();
    if (statuses.includes(status)) return json;
    if (!isSlow(status, text) || left === 1)
      throw new Error(`expected ${statuses.join(' or ')}, got ${status}: ${text}`);
    await pause(againMs);
  }
}

/** Opens a house at an address, which may be a proxy's: in its last workspace, or in a new one. */
export async function houseAt(
  server: Server,
  { workspace = 'last' }: { readonly workspace?: 'last' | 'new' } = {},
): Promise<House> {
  const conforms = await conformity(server);

  const send = (path: string, { method, key, headers = {}, body, signal }: Ask): Promise<IncomingMessage> => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return sendTo(server.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key == null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: raw || body === undefined ? body : JSON.stringify(body),
      signal,
    });
  };
  const ask = async (path: string, options: Ask = {}): Promise<Answer> => {
    const response = await send(path, options);
    const [headers, text] = [headersOf(response), await bodyOf(response)];
    const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
    const answer = {
      status: response.statusCode!,
      headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
    conforms.check(options.method ?? (options.body === undefined ? 'GET' : 'POST'), path, answer);
    return answer;
  };
  const asOperator = (path: string, options: Ask = {}) =>
    ask(`/console/api${path}`, { key: server.operatorToken, ...options });
  const workspaceId: string =
    workspace === 'new'
      ? (await must(() => asOperator('/workspaces', { body: { name: 'test' } }), 201)).id
      : (await must(() => asOperator('/workspaces'), 200)).data.at(-1).id;
  const inWorkspace = `/workspaces/${workspaceId}`;
  const newKey = (fields: object = {}) =>
    must(() => asOperator(`${inWorkspace}/keys`, { body: { name: 'test', limits: inexhaustible, ...fields } }), 201);
  const { key } = await newKey();
  let strict: Promise<object> | undefined;
  /** Opens the provider for its first assistant. */
  const atStrict = async (model: any): Promise<object> => {
    strict ??= (async () => {
      const { strictProvider } = await import('../providers/strict/provider.ts');
      const { kind, baseUrl } = await strictProvider((await import('tap')).default, strictName!);
      const credential = await must(
        () =>
          asOperator(`${inWorkspace}/credentials`, {
            body: { kind: 'model', provider: kind, api_key: 'sk-strict', base_url: baseUrl },
          }),
        201,
      );
      return { provider: kind, credential_id: credential.id };
    })();
    return { ...model, ...(await strict) };
  };
  const isCalling = ({ model }: any): boolean => model?.provider === 'synthetic' && /\bcall=/.test(model.name);
  return {
    ...server,
    key,
    workspaceId,
    ask: (path, options = {}) => ask(path, { key, ...options }),
    console: asOperator,
    newKey,
    async stream(path, options = {}) {
      for (let left = triesMax; ; left--) {
        const response = await send(path, { key, ...options });
        if (response.statusCode === 200) return readStream(response, conforms.checkEvent);
        const text = await bodyOf(response);
        if (!isSlow(response.statusCode!, text) || left === 1)
          throw new Error(`expected a stream, got ${response.statusCode}: ${text}`);
        await pause(againMs);
      }
    },
    async assistant(fields: any = {}) {
      const model = strictName !== undefined && isCalling(fields) ? { model: await atStrict(fields.model) } : {};
      const made = await must(
        () => asOperator(`${inWorkspace}/assistants`, { body: { name: 'Test', ...fields, ...model } }),
        201,
      );
      return must(() => asOperator(`${inWorkspace}/assistants/${made.id}/publish`, { method: 'POST' }), 200);
    },
    async revise(assistantId, fields = {}) {
      const path = `${inWorkspace}/assistants/${assistantId}`;
      await must(() => asOperator(path, { method: 'PATCH', body: fields }), 200);
      return must(() => asOperator(`${path}/publish`, { method: 'POST' }), 200);
    },
    session: (assistantId, fields = {}) =>
      must(() => ask('/sessions', { key, body: { assistant_id: assistantId, ...fields } }), 201),
  };
}

function readStream(response: IncomingMessage, check: (event: StreamEvent) => void): Stream {
  const arrived: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event = '', id = '', data }) => arrived.push({ event, id, data: JSON.parse(data) }),
  });
  const pieces = response.setEncoding('utf8')[Symbol.asyncIterator]();
  const headers = headersOf(response);
  const next = async (): Promise<StreamEvent | undefined> => {
    while (arrived.length === 0) {
      const { done, value } = await pieces.next().catch((error: unknown) => Promise.reject(cut(error)));
      if (done) return undefined;
      parser.feed(value as string);
    }
    const event = arrived.shift()!;
    check(event);
    return event;
  };
  return {
    status: response.statusCode!,
    headers,
    turnId: headers.get('x-turn-id') ?? '',
    next,
    async rest() {
      const all: StreamEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) all.push(event);
      return all;
    },
    leave: () => void response.destroy(),
  };
}
