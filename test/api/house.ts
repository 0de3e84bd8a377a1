/** A served parley for the API's tests: asks it things, and holds every answer to the OpenAPI document that it serves. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { temporaryFolder, type Owner } from '../folders.ts';
import { startServer, type Server, type ServerOptions } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { conformity } from './conformity.ts';

/** Whether the houses stand on Redis, where a dead process's turns are sealed only once its leases have run out. */
export const leased = process.env['PARLEY_TEST_STORE'] === 'redis';

// Then a file of tests has nothing to stand on. Only then is tap loaded: it fails a command that uses this file and runs for 30 s.
const lacking = leased ? whyNoRedis() : null;
if (lacking !== null) {
  (await import('tap')).default.plan(0, lacking);
  process.exit(0);
}

/** Where a suite runs on both engines; on Redis one will do, since neither knows of the other. */
export const edges: readonly ('uws' | 'node')[] = leased ? ['uws'] : ['uws', 'node'];

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
  /** The body as JSON; undefined where it is none. */
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

/** What no test will exhaust. */
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

/** With PARLEY_TEST_STORE=redis every house stands on a Redis of its own, where its test asks for an embedded store. */
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

/** Starts a server in memory unless told otherwise, with the synthetic provider on. */
export async function openHouse(t: Owner, { env = {}, ...options }: HouseOptions = {}): Promise<House> {
  const folder = options.folder ?? (await temporaryFolder(t));
  const settings = { PARLEY_STORE: 'memory:', PARLEY_SYNTHETIC: '1', PARLEY_LOG: 'warn', ...env, ...(await storeOf(t, folder, { env, ...options })) };
  return houseAt(await startServer(t, { ...options, env: settings, folder }));
}

/** The same, asked at its `url`, which may be that of a proxy in front of it. */
export async function houseAt(server: Server): Promise<House> {
  const conforms = await conformity(server);

  const send = async (path: string, { method, key, headers = {}, body, signal }: Ask): Promise<Response> => {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return fetch(server.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key == null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      redirect: 'manual',
    });
  };
  const ask = async (path: string, options: Ask = {}): Promise<Answer> => {
    const response = await send(path, options);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const answer = { status: response.status, headers: response.headers, text, json: isJson && text !== '' ? JSON.parse(text) : undefined };
    conforms.check(options.method ?? (options.body === undefined ? 'GET' : 'POST'), path, answer);
    return answer;
  };
  const asOperator = (path: string, options: Ask = {}) => ask(`/console/api${path}`, { key: server.operatorToken, ...options });
  const must = async (answer: Promise<Answer>, status: number): Promise<any> => {
    const { status: got, text, json } = await answer;
    if (got !== status) throw new Error(`expected ${status}, got ${got}: ${text}`);
    return json;
  };

  const workspaceId: string = (await must(asOperator('/workspaces'), 200)).data.at(-1).id;
  const inWorkspace = `/workspaces/${workspaceId}`;
  const newKey = (fields: object = {}) =>
    must(asOperator(`${inWorkspace}/keys`, { body: { name: 'test', limits: inexhaustible, ...fields } }), 201);
  const { key } = await newKey();
  return {
    ...server,
    key,
    workspaceId,
    ask: (path, options = {}) => ask(path, { key, ...options }),
    console: asOperator,
    newKey,
    async stream(path, options = {}) {
      const leaving = new AbortController();
      const response = await send(path, { key, signal: leaving.signal, ...options });
      if (response.status !== 200) throw new Error(`expected a stream, got ${response.status}: ${await response.text()}`);
      return readStream(response, leaving, conforms.checkEvent);
    },
    async assistant(fields = {}) {
      const made = await must(asOperator(`${inWorkspace}/assistants`, { body: { name: 'Test', ...fields } }), 201);
      return must(asOperator(`${inWorkspace}/assistants/${made.id}/publish`, { method: 'POST' }), 200);
    },
    session: (assistantId, fields = {}) => must(ask('/sessions', { key, body: { assistant_id: assistantId, ...fields } }), 201),
  };
}

function readStream(response: Response, leaving: AbortController, check: (event: StreamEvent) => void): Stream {
  const events = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  const next = async (): Promise<StreamEvent | undefined> => {
    const { done, value } = await events.read();
    if (done) return undefined;
    const event = { event: value.event ?? '', id: value.id ?? '', data: JSON.parse(value.data) };
    check(event);
    return event;
  };
  return {
    status: response.status,
    headers: response.headers,
    turnId: response.headers.get('x-turn-id') ?? '',
    next,
    async rest() {
      const all: StreamEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) all.push(event);
      return all;
    },
    leave: () => leaving.abort(),
  };
}
