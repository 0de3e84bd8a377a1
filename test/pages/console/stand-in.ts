/**
 * A proxy between a browser and a server: adds the operator's credential, as a person's sign-in would, replaces answers
 * as a test wants, and cuts the sockets that a test wants cut.
 */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Owner } from '../../folders.ts';

interface Upstream {
  readonly url: string;
  readonly operatorToken: string;
}

export interface StandIn {
  readonly url: string;
  /** Answers every request for a path that matches in its own way, until the returned function is called. */
  answer(path: RegExp, status: number, body: OwnBody | OwnList): () => void;
  /** Cuts the sockets that are open. */
  cut(): void;
  /** Holds the sockets that are open, and says nothing on them any more. */
  stall(): void;
}

/** A failure, or nothing. */
type OwnBody = { readonly error: object; readonly request_id: string } | null;

/** Answers a list out of the test's own head: `after` is the cursor that the page sent. */
export type OwnList = (after: string | null) => object;

interface OwnAnswer {
  readonly path: RegExp;
  readonly status: number;
  readonly body: OwnBody | OwnList;
}

async function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  { url, operatorToken }: Upstream,
  answers: ReadonlySet<OwnAnswer>,
): Promise<void> {
  const own = [...answers].find(({ path }) => path.test(incoming.url!));
  if (own !== undefined) {
    const body =
      typeof own.body === 'function' ? own.body(new URL(incoming.url!, url).searchParams.get('after')) : own.body;
    const id = body !== null && 'request_id' in body ? String(body.request_id) : `req_${'0'.repeat(26)}`;
    response.writeHead(own.status, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id });
    response.end(body === null ? undefined : JSON.stringify(body));
    return;
  }
  const credential = incoming.url!.startsWith('/console/api') ? { authorization: `Bearer ${operatorToken}` } : {};
  const outgoing = request(url + incoming.url!, {
    method: incoming.method,
    headers: { ...incoming.headers, ...credential },
  });
  incoming.pipe(outgoing);
  response.once('close', () => outgoing.destroy());
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    outgoing.once('response', resolve).once('error', reject),
  );
  response.writeHead(answer.statusCode!, answer.headers);
  answer.pipe(response);
}

/** The feed of one page, or its call. */
function feed(socket: WebSocket, path: string, { url, operatorToken }: Upstream, stalled: WeakSet<WebSocket>): void {
  const upper = new WebSocket(url.replace('http', 'ws') + path, {
    headers: path.startsWith('/console/api') ? { authorization: `Bearer ${operatorToken}` } : {},
  });
  const open = once(upper, 'open').catch(() => {});
  upper.on('message', (data, binary) => stalled.has(socket) || socket.send(data, { binary }));
  upper.on('close', () => socket.close());
  upper.on('error', () => socket.close());
  socket.on(
    'message',
    (data, binary) => void open.then(() => upper.readyState === WebSocket.OPEN && upper.send(data, { binary })),
  );
  socket.on('close', () => upper.close());
}

export async function openStandIn(t: Owner, upstream: Upstream): Promise<StandIn> {
  const answers = new Set<OwnAnswer>();
  const server = createServer(
    (incoming, response) => void forward(incoming, response, upstream, answers).catch(() => response.destroy()),
  );
  const stalled = new WeakSet<WebSocket>();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, incoming) => feed(socket, incoming.url!, upstream, stalled));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const client of sockets.clients) client.terminate();
  };
  t.teardown(() => {
    cut();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(path, status, body) {
      const one = { path, status, body };
      answers.add(one);
      return () => answers.delete(one);
    },
    cut,
    stall() {
      for (const client of sockets.clients) stalled.add(client);
    },
  };
}
