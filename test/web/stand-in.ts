/**
 * Stands between a browser and a server: adds the operator's credential, as a person's sign-in would, and answers in the contract's
 * shapes what the server answers with `route_not_found`. What the server has it answers itself.
 */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Owner } from '../folders.ts';

interface Upstream {
  readonly url: string;
  readonly operatorToken: string;
  readonly key: string;
}

export interface StandIn {
  readonly url: string;
  /** Answers every request for a path that matches in its own way, until the returned function is called. */
  answer(path: RegExp, status: number, body: unknown): () => void;
  /** Cuts the sockets that are open. */
  cut(): void;
}

type Json = any;
const bodyOf = async (incoming: IncomingMessage): Promise<Buffer> => Buffer.concat(await incoming.toArray());

/** What happened to each actor, kept as the history keeps it. */
class Histories {
  readonly #rows = new Map<string, Json[]>();

  /** The message with what the contract's has beyond it. */
  taken(message: Json): Json {
    if (message.type !== 'event') return message;
    const rows = this.#rows.get(message.actor.id) ?? [];
    this.#rows.set(message.actor.id, rows);
    const refused = message.refused ?? message.outcomes.some(({ type }: Json) => type === 'refused');
    const committed = !refused || message.from !== message.to;
    const seq = message.seq ?? (rows.at(-1)?.seq ?? 0) + (committed ? 1 : 0);
    const last = rows.at(-1);
    const row = { seq, at: Math.floor(message.at / 1000), event: message.event.type, from: message.from, to: message.to, outcomes: message.outcomes, refused };
    const caused = { request_id: message.request_id ?? `req_${'0'.repeat(20)}${String(rows.length).padStart(6, '0')}`, by: message.by ?? { kind: 'key', id: 'key_00000000000000000000000001', name: 'web shop' } };
    if (!committed && last?.refused && last.event === row.event && JSON.stringify(last.outcomes) === JSON.stringify(row.outcomes)) Object.assign(last, row, caused, { count: last.count + 1 });
    else rows.push({ ...row, ...caused, count: 1 });
    return { ...message, seq, refused, ...caused };
  }

  list(id: string, query: URLSearchParams): Json {
    const rows = [...(this.#rows.get(id) ?? [])];
    if (query.get('order') !== 'asc') rows.reverse();
    const from = Number(query.get('after') ?? 0);
    const limit = Number(query.get('limit') ?? 20);
    const data = rows.slice(from, from + limit);
    const more = rows.length > from + limit;
    return { object: 'list', data, has_more: more, next_cursor: more ? String(from + limit) : null };
  }
}

const seconds = (): number => Math.floor(Date.now() / 1000);

/** An hour that looks like one: the same each time. */
function load(): Json {
  const start = seconds() - (seconds() % 5) - 3600;
  const wave = (index: number, length: number): number => 1 + Math.sin((index / length) * Math.PI * 2);
  const data = Array.from({ length: 720 }, (_, index) => ({
    start: start + index * 5,
    requests: Math.round(40 * wave(index, 240) + (index % 7)),
    refused: index % 90 < 4 ? 3 : 0,
    turns_in_flight: Math.round(4 * wave(index, 300)),
    events: Math.round(160 * wave(index, 200)),
    first_output_p50_ms: 30 + Math.round(12 * wave(index, 160)),
    first_output_p99_ms: 90 + Math.round(60 * wave(index, 90)),
    loop_lag_ms: 1 + wave(index, 60),
    memory_bytes: 120_000_000 + index * 20_000,
    store_ms: 0.4 + wave(index, 110) / 4,
  }));
  return { object: 'load', step_seconds: 5, data };
}

/** Paths of a conversation that the console has by the contract, on the API under a key. */
const onApi = (path: string): string | null => /^\/workspaces\/[^/]+(\/sessions\/[^/]+\/(?:chat|end|turns\/[^/]+\/(?:abort|events)))$/.exec(path)?.[1] ?? null;

/** What the contract has and the server has not. */
function missing(method: string, url: URL, histories: Histories): { status: number; body: Json } | null {
  const path = url.pathname.replace('/console/api', '');
  const at = seconds();
  const found = (body: Json, status = 200) => ({ status, body });
  if (path === '/me') return found({ object: 'person', id: 'operator', name: 'operator', signed_in_at: at - 600, expires_at: at + 40_000 });
  if (path === '/sign-out') return found(null, 204);
  if (path === '/sign-in-links' && method === 'POST') return found({ object: 'sign_in_link', url: `${url.origin}/console#sign-in=example`, name: 'Ada', expires_at: at + 600 }, 201);
  if (path === '/sign-ins') {
    const item = { object: 'sign_in', id: `sin_${'0'.repeat(26)}`, name: 'operator', signed_in_at: at - 600, last_seen_at: at - 4, expires_at: at + 40_000, address: '127.0.0.1', agent: 'Chromium', current: true };
    return found({ object: 'list', data: [item, { ...item, id: `sin_${'1'.repeat(26)}`, name: 'Ada', address: '192.0.2.7', agent: 'Firefox', current: false }], has_more: false, next_cursor: null });
  }
  if (path === '/load') return found(load());
  const history = /^\/workspaces\/[^/]+\/(?:sessions|keys|assistants)\/([^/]+)\/history$/.exec(path);
  return history === null ? null : found(histories.list(history[1]!, url.searchParams));
}

interface OwnAnswer {
  readonly path: RegExp;
  readonly status: number;
  readonly body: unknown;
}

const answerOf = (outgoing: ReturnType<typeof request>): Promise<IncomingMessage> => new Promise((resolve, reject) => outgoing.once('response', resolve).once('error', reject));

function passOn(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode!, answer.headers);
  answer.pipe(response);
  response.once('close', () => answer.destroy());
}

/** The requests of a browser. */
class Forwarder {
  readonly answers = new Set<OwnAnswer>();
  readonly #upstream: Upstream;
  readonly #histories: Histories;

  constructor(upstream: Upstream, histories: Histories) {
    this.#upstream = upstream;
    this.#histories = histories;
  }

  async forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const own = [...this.answers].find(({ path }) => path.test(incoming.url!));
    if (own !== undefined) return end(response, own.status, own.body);
    const sent = await bodyOf(incoming);
    const isApi = incoming.url!.startsWith('/console/api');
    const headers = { ...incoming.headers, ...(isApi ? { authorization: `Bearer ${this.#upstream.operatorToken}`, 'accept-encoding': 'identity' } : {}) };
    const outgoing = request(this.#upstream.url + incoming.url!, { method: incoming.method, headers });
    outgoing.end(sent);
    const answer = await answerOf(outgoing);
    if (answer.statusCode !== 404 || !isApi) return passOn(answer, response);
    const body = await bodyOf(answer);
    const url = new URL(incoming.url!, `http://${incoming.headers.host}`);
    const isMissing = body.includes('route_not_found');
    const stood = isMissing ? missing(incoming.method!, url, this.#histories) : null;
    if (stood !== null) return end(response, stood.status, stood.body);
    if (isMissing && (await this.#asConversation(incoming, url, response, sent))) return;
    response.writeHead(404, answer.headers).end(body);
  }

  /** Trials are sessions of the API here, and their turns its turns. */
  async #asConversation(incoming: IncomingMessage, url: URL, response: ServerResponse, sent: Buffer): Promise<boolean> {
    const path = url.pathname.replace('/console/api', '');
    const tried = /\/assistants\/([^/]+)\/trials$/.exec(path)?.[1];
    const target = tried === undefined ? onApi(path) : '/sessions';
    if (target === null) return false;
    const body = tried === undefined ? sent : Buffer.from(JSON.stringify({ assistant_id: tried }));
    const typed = body.length > 0 ? { 'content-type': 'application/json', 'content-length': body.length } : {};
    const outgoing = request(this.#upstream.url + target + url.search, { method: incoming.method, headers: { authorization: `Bearer ${this.#upstream.key}`, ...typed } });
    outgoing.end(body);
    passOn(await answerOf(outgoing), response);
    return true;
  }
}

const keyOf = ({ actor, event, from, to, outcomes }: Json): string => JSON.stringify([actor?.id, event, from, to, outcomes]);
/** Each watcher is told in its own millisecond. */
const apartMs = 500;

/** One watcher of everything sees each event before the page's own does: what it numbered is what the page is given. */
class Observer {
  readonly #socket: WebSocket;
  readonly #numbered = new Map<string, Json[]>();
  readonly #waiting: (() => void)[] = [];

  constructor({ url, operatorToken }: Upstream, histories: Histories) {
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/console/api/inspect`, { headers: { authorization: `Bearer ${operatorToken}` } });
    this.#socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      const key = keyOf(message);
      this.#numbered.set(key, [...(this.#numbered.get(key) ?? []), histories.taken(message)]);
      for (const call of this.#waiting.splice(0)) call();
    });
  }

  opened = (): Promise<void> => new Promise((resolve, reject) => this.#socket.once('open', () => resolve()).once('error', reject));
  end = (): void => this.#socket.terminate();

  async numbered(message: Json): Promise<Json> {
    for (;;) {
      const found = this.#numbered.get(keyOf(message))?.find(({ at }) => Math.abs(at - message.at) < apartMs);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

/** The feed of one page, in order, each event once the observer has it. */
function feed(socket: WebSocket, path: string, { url, operatorToken }: Upstream, observer: Observer): void {
  const upper = new WebSocket(url.replace('http', 'ws') + path, { headers: { authorization: `Bearer ${operatorToken}` } });
  let before: Promise<void> = Promise.resolve();
  upper.on('message', (data) => {
    const message = JSON.parse(String(data));
    before = before.then(async () => socket.send(JSON.stringify(message.type === 'event' ? await observer.numbered(message) : message)));
  });
  upper.on('close', () => socket.close());
  upper.on('error', () => socket.close());
  socket.on('message', (data) => upper.readyState === WebSocket.OPEN && upper.send(String(data)));
  socket.on('close', () => upper.close());
}

export async function openStandIn(t: Owner, upstream: Upstream): Promise<StandIn> {
  const histories = new Histories();
  const forwarder = new Forwarder(upstream, histories);
  const observer = new Observer(upstream, histories);
  await observer.opened();
  const server = createServer((incoming, response) => void forwarder.forward(incoming, response).catch(() => response.destroy()));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, incoming) => feed(socket, incoming.url!, upstream, observer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const client of sockets.clients) client.terminate();
  };
  t.teardown(() => {
    observer.end();
    cut();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(path, status, body) {
      const one = { path, status, body };
      forwarder.answers.add(one);
      return () => forwarder.answers.delete(one);
    },
    cut,
  };
}

function end(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': (body as Json)?.request_id ?? `req_${'0'.repeat(26)}` });
  response.end(status === 204 ? undefined : JSON.stringify(body));
}
