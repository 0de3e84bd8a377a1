/** Stand-ins for providers: a server whose every answer a test writes, and a sink that records its calls. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WheelClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { OpaqueFields } from '../../../src/base/opaque-fields.ts';
import type {
  Model,
  ModelStream,
  ModelFailure,
  ModelRequest,
  ModelSink,
  ModelUsage,
} from '../../../src/providers/model.ts';
import { providerBounds, providerHttp } from '../../../src/providers/client.ts';
import type { ProviderBounds, ProviderHttp } from '../../../src/providers/client.ts';
import type { Lookup } from '../../../src/providers/client/address.ts';

export const request = (over: Partial<ModelRequest> = {}): ModelRequest => ({
  name: 'm1',
  systemPrompt: null,
  messages: [{ role: 'user', content: 'hello' }],
  temperature: null,
  outputTokensMax: null,
  reasoning: 'hidden',
  baseUrl: null,
  apiKey: 'secret',
  assistantName: 'Demo',
  ...over,
});

export class Heard implements ModelSink {
  readonly pieces: string[] = [];
  readonly calls: { readonly name: string; readonly arguments: string }[] = [];
  /** The fields that the provider put on each call. */
  readonly opaques: (OpaqueFields | undefined)[] = [];
  kept: unknown = null;
  usageGiven: ModelUsage | null = null;
  readonly leftOutGiven: number[] = [];
  /** `end`, or why it failed; more than one entry is a fault of the model. */
  readonly endings: ('end' | ModelFailure)[] = [];
  readonly settled: Promise<'end' | ModelFailure>;
  #settle: (ending: 'end' | ModelFailure) => void = () => {};
  #watchers: (() => void)[] = [];

  constructor() {
    this.settled = new Promise((resolve) => (this.#settle = resolve));
  }

  get said(): string {
    return this.pieces.join('');
  }

  /** Resolves once this text has been heard. */
  async hears(text: string): Promise<void> {
    while (!this.said.includes(text)) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  onText: () => void = () => {};

  text(piece: string): void {
    this.pieces.push(piece);
    this.onText();
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  call(call: { readonly name: string; readonly arguments: string }, opaque?: OpaqueFields): void {
    this.calls.push(call);
    this.opaques.push(opaque);
  }

  keep(opaque: unknown): void {
    this.kept = opaque;
  }

  usage(usage: ModelUsage): void {
    this.usageGiven = usage;
  }

  noteLeftOut(messages: number): void {
    this.leftOutGiven.push(messages);
  }

  end(): void {
    this.endings.push('end');
    this.#settle('end');
  }

  failed(reason: ModelFailure): void {
    this.endings.push(reason);
    this.#settle(reason);
  }
}

export function ask(model: Model, over: Partial<ModelRequest> = {}): Heard & { asked: ModelStream } {
  const heard = new Heard();
  return Object.assign(heard, { asked: model.start(request(over), heard) });
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Null if absent. */
  readonly body: any;
  /** The body as it was sent. */
  readonly text: string;
}

export interface Provider {
  readonly baseUrl: string;
  readonly requests: Seen[];
  readonly sockets: Socket[];
  /** Replaces the server's answer from now on. */
  answer: (response: ServerResponse, seen: Seen) => void;
  /** Resolves when the number of requests is reached. */
  reached(requests: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A stand-in never closes a kept connection by its own clock: after its process stood still for longer, as on a busy
 * machine, it would close one on which a request waits to be read.
 */
export const keepsConnections = { keepAliveTimeout: 0 };

export async function provider(answer: Provider['answer']): Promise<Provider> {
  const waiting: (() => void)[] = [];
  const server: Server = createServer(keepsConnections, (incoming, response) => {
    let text = '';
    incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    incoming.on('end', () => {
      const seen = {
        method: incoming.method!,
        path: incoming.url!,
        headers: incoming.headers,
        body: text === '' ? null : JSON.parse(text),
        text,
      };
      self.requests.push(seen);
      self.answer(response, seen);
      for (const resolve of waiting.splice(0)) resolve();
    });
  });
  server.on('connection', (socket) => self.sockets.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const self: Provider = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    sockets: [],
    answer,
    async reached(count) {
      while (self.requests.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return self;
}

export interface Hooks {
  teardown(callback: () => unknown): void;
}

/** Resolves once the socket is closed, whichever way. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : void socket.once('close', () => resolve())));

/** A client that may call private addresses, closed with the test. */
export function client(
  t: Hooks,
  bounds: Partial<ProviderBounds> = {},
  over: { clock?: Clock; allowPrivate?: boolean; lookup?: Lookup } = {},
): ProviderHttp {
  const clock = over.clock ?? new WheelClock();
  const http = providerHttp({
    clock,
    allowPrivate: over.allowPrivate ?? true,
    bounds: { ...providerBounds, ...bounds },
    lookup: over.lookup,
  });
  t.teardown(async () => {
    await http.close();
    clock.stop();
  });
  return http;
}

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  #aheadMs = 0;
  #timers: { due: number; callback: () => void }[] = [];

  now(): number {
    return this.#now + this.#aheadMs;
  }

  /** The wall clock is set; durations and timers know nothing of it. */
  jump(ms: number): void {
    this.#aheadMs += ms;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void) {
    const timer = { due: this.#now + delayMs, callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((other) => other !== timer)) };
  }

  stop(): void {
    this.#timers = [];
  }

  get timers(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.due);
      this.#timers = this.#timers.filter((other) => other !== next);
      next.callback();
    }
    this.#now = end;
  }
}

export const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' };
export const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const delta = (content: string, finish: string | null = null): string =>
  data({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
/** A piece of an answer that calls a function without arguments. */
export const callOf = (name: string): string =>
  data({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: { name, arguments: '{}' } }] } }] });
export const done = 'data: [DONE]\n\n';
