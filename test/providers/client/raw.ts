/** A provider of raw bytes: reads whole requests and answers with the bytes of a test. Also a listener that records. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { ModelFailure } from '../../../src/providers/model.ts';
import type { ProviderRequest, ProviderHttp, ProviderListener, ProviderPost } from '../../../src/providers/client.ts';
import type { Hooks } from '../model/provider.ts';

/** `request` counts from 0 over all connections, `connection` likewise. */
export interface Arrival {
  readonly socket: Socket;
  readonly connection: number;
  readonly request: number;
  readonly text: string;
}

export interface Raw {
  readonly baseUrl: string;
  readonly port: number;
  readonly sockets: Socket[];
  readonly arrivals: Arrival[];
  answer: (arrival: Arrival) => void;
  /** Resolves once so many requests have come. */
  reached(requests: number): Promise<void>;
}

/** Listens with `server`, whose every socket comes in `event`. */
export async function raw(
  t: Hooks,
  answer: Raw['answer'],
  server: Server = createServer(),
  event = 'connection',
): Promise<Raw> {
  const waiting: (() => void)[] = [];
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) =>
    open.add(socket.on('close', () => open.delete(socket)).on('error', () => {})),
  );
  server.on(event, (socket: Socket) => {
    const connection = self.sockets.push(socket.setNoDelay(true)) - 1;
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (text.length < lengthOf(text)) return;
      const arrival = { socket, connection, request: self.arrivals.length, text };
      text = '';
      self.arrivals.push(arrival);
      self.answer(arrival);
      for (const resolve of waiting.splice(0)) resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const self: Raw = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    sockets: [],
    arrivals: [],
    answer,
    async reached(count) {
      while (self.arrivals.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
  t.teardown(async () => {
    server.close();
    for (const socket of open) socket.destroy();
    await once(server, 'close');
  });
  return self;
}

/** The length of a request, as far as its head has come. */
function lengthOf(text: string): number {
  const head = text.indexOf('\r\n\r\n') + 4;
  return head === 3 ? Infinity : head + Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
}

export class Told implements ProviderListener {
  contentType: string | null = null;
  body = '';
  readonly endings: ('ended' | ModelFailure)[] = [];
  status: number | null = null;
  onData: () => void = () => {};
  readonly settled: Promise<'ended' | ModelFailure>;
  #settle: (ending: 'ended' | ModelFailure) => void = () => {};
  #watchers: (() => void)[] = [];

  constructor() {
    this.settled = new Promise((resolve) => (this.#settle = resolve));
  }

  /** Resolves once the body is this. */
  async has(body: string): Promise<void> {
    while (this.body !== body) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  head(contentType: string): void {
    this.contentType = contentType;
  }

  data(chunk: Buffer): void {
    this.body += chunk.toString('latin1');
    this.onData();
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  ended(): void {
    this.endings.push('ended');
    this.#settle('ended');
  }

  failed(failure: ModelFailure, status: number | null): void {
    this.endings.push(failure);
    this.status = status;
    this.#settle(failure);
  }
}

export function post(
  http: ProviderHttp,
  baseUrl: string,
  over: Partial<ProviderPost> = {},
): Told & { call: ProviderRequest } {
  const told = new Told();
  const call = http.post({ baseUrl, path: '/chat', headers: { authorization: 'Bearer k' }, body: '{}', ...over }, told);
  return Object.assign(told, { call });
}

/** An answer that leaves its connection open. */
export const answerOf = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
