/**
 * Stands between a browser and a server: adds the operator's credential, as a person's sign-in would, answers in a way of its own
 * what a test wants answered so, and cuts what a test wants cut. Of a server without histories it keeps them.
 */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Owner } from '../folders.ts';

interface Upstream {
  readonly url: string;
  readonly operatorToken: string;
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

/** The history of an actor, where the server has none. */
function historyIn(url: URL, histories: Histories): Json {
  const found = /^\/console\/api\/workspaces\/[^/]+\/(?:sessions|keys|assistants)\/([^/]+)\/history$/.exec(url.pathname);
  return found === null ? null : histories.list(found[1]!, url.searchParams);
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
    const history = body.includes('route_not_found') ? historyIn(url, this.#histories) : null;
    if (history !== null) return end(response, 200, history);
    response.writeHead(404, answer.headers).end(body);
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
