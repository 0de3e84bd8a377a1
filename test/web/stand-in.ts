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

export async function openStandIn(t: Owner, upstream: Upstream): Promise<StandIn> {
  const histories = new Histories();
  const answers = new Set<{ path: RegExp; status: number; body: unknown }>();
  const authorization = `Bearer ${upstream.operatorToken}`;
  const server = createServer((incoming, response) => void forward(incoming, response).catch(() => response.destroy()));

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const own = [...answers].find(({ path }) => path.test(incoming.url!));
    if (own !== undefined) return end(response, own.status, own.body);
    const sent = await bodyOf(incoming);
    const isApi = incoming.url!.startsWith('/console/api');
    const headers = { ...incoming.headers, ...(isApi ? { authorization } : {}), 'accept-encoding': isApi ? 'identity' : (incoming.headers['accept-encoding'] ?? '') };
    const outgoing = request(upstream.url + incoming.url!, { method: incoming.method, headers });
    outgoing.end(sent);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => outgoing.once('response', resolve).once('error', reject));
    if (answer.statusCode === 404 && isApi) {
      const body = await bodyOf(answer);
      const stood = body.includes('route_not_found') ? missing(incoming.method!, new URL(incoming.url!, `http://${incoming.headers.host}`), histories) : null;
      if (stood !== null) return end(response, stood.status, stood.body);
      if (await asConversation(incoming, response, sent)) return;
      response.writeHead(404, answer.headers).end(body);
      return;
    }
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
    response.once('close', () => outgoing.destroy());
  }

  /** Trials are sessions of the API here, and their turns its turns. */
  async function asConversation(incoming: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<boolean> {
    const url = new URL(incoming.url!, upstream.url);
    const path = url.pathname.replace('/console/api', '');
    const tried = /\/assistants\/([^/]+)\/trials$/.exec(path)?.[1];
    const target = tried === undefined ? onApi(path) : '/sessions';
    if (target === null) return false;
    const body = tried === undefined ? sent : Buffer.from(JSON.stringify({ assistant_id: tried }));
    const outgoing = request(upstream.url + target + url.search, { method: incoming.method, headers: { authorization: `Bearer ${upstream.key}`, ...(body.length > 0 ? { 'content-type': 'application/json', 'content-length': body.length } : {}) } });
    outgoing.end(body);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => outgoing.once('response', resolve).once('error', reject));
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
    response.once('close', () => outgoing.destroy());
    return true;
  }

  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, incoming) => {
    const upper = new WebSocket(upstream.url.replace('http', 'ws') + incoming.url!, { headers: { authorization } });
    /** In order, each once the observer has it. */
    let before: Promise<void> = Promise.resolve();
    upper.on('message', (data) => {
      const message = JSON.parse(String(data));
      before = before.then(async () => socket.send(JSON.stringify(message.type === 'event' ? await numbered(message) : message)));
    });
    upper.on('close', () => socket.close());
    upper.on('error', () => socket.close());
    socket.on('message', (data) => upper.readyState === WebSocket.OPEN && upper.send(String(data)));
    socket.on('close', () => upper.close());
  });

  /** One watcher of everything sees each event before the page's own does: what it numbered is what the page is given. */
  const all = new Map<string, Json>();
  const key = ({ type, at, actor, event, from, to, outcomes }: Json): string => JSON.stringify([type, at, actor?.id, event, from, to, outcomes]);
  const waiting: (() => void)[] = [];
  const numbered = async (message: Json): Promise<Json> => {
    while (!all.has(key(message))) await new Promise<void>((resolve) => waiting.push(resolve));
    return all.get(key(message));
  };
  const observer = new WebSocket(`${upstream.url.replace('http', 'ws')}/console/api/inspect`, { headers: { authorization } });
  observer.on('message', (data) => {
    const message = JSON.parse(String(data));
    all.set(key(message), histories.taken(message));
    for (const call of waiting.splice(0)) call();
    if (all.size > 5000) all.delete(all.keys().next().value!);
  });
  await new Promise((resolve, reject) => observer.once('open', resolve).once('error', reject));

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    observer.terminate();
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(path, status, body) {
      const one = { path, status, body };
      answers.add(one);
      return () => answers.delete(one);
    },
    cut: () => {
      for (const client of sockets.clients) client.terminate();
    },
  };
}

function end(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': `req_${'0'.repeat(26)}` });
  response.end(status === 204 ? undefined : JSON.stringify(body));
}
