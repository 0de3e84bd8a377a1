import { Agent, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Socket as NetSocket } from 'node:net';
import { WheelClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Edge, EdgeBounds, EdgeListener, Exchange, Upgrade } from '../../../src/base/edge.ts';

export type OpenEdge = (listener: EdgeListener, bounds: EdgeBounds, clock: Clock) => Promise<Edge>;

export const bounds: EdgeBounds = {
  bodyBytesMax: 64 * 1024,
  bodyMsMax: 30_000,
  headerBytesMax: 16 * 1024,
  headersCountMax: 90,
  connectionIdleMs: 65_000,
  pipelinedMax: 256,
  socketMessageBytesMax: 64 * 1024,
  socketTextsMax: 100,
  socketTextsPerSecond: 20,
  socketSilentMs: 60_000,
  slowReaderBytesMax: 256 * 1024,
};

/** A listener that answers nothing. */
export const deaf: EdgeListener = { exchange: () => {}, upgrade: () => {}, refuse: () => {} };

export interface Served {
  port: number;
  edge: Edge;
}

interface Teardown {
  teardown(run: () => Promise<void>): void;
}

/** An edge on a free port of the loopback, gone at the end of the test. */
export async function serve(
  t: Teardown,
  open: OpenEdge,
  listener: {
    exchange?: (exchange: Exchange) => unknown;
    upgrade?: (upgrade: Upgrade) => unknown;
    refuse?: EdgeListener['refuse'];
  },
  changed: Partial<EdgeBounds> = {},
): Promise<Served> {
  const clock = new WheelClock();
  const unexpected = (): never => {
    throw new Error('not expected here');
  };
  const edge = await open(
    { exchange: unexpected, upgrade: unexpected, refuse: unexpected, ...listener } as EdgeListener,
    { ...bounds, ...changed },
    clock,
  );
  const port = await edge.listen('127.0.0.1', 0);
  t.teardown(async () => {
    await edge.close(0);
    clock.stop();
  });
  return { port, edge };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  localPort: number;
}

export interface Ask {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
  agent?: Agent;
}

/** One request by `node:http`, and the whole answer. */
export function ask(
  port: number,
  { method = 'GET', path = '/', headers = {}, body, agent }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: agent ?? false });
    request.on('error', reject);
    request.on('response', (response) => void answerOf(response).then(resolve, reject));
    request.end(body);
  });
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  const localPort = response.socket.localPort!;
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  return { status: response.statusCode!, headers: response.headers, bytes, text: bytes.toString(), localPort };
}

const tailCharacters = 64;

/** A connection of bytes. `text` is all that came so far, as Latin-1. */
export class RawClient {
  readonly socket: NetSocket;
  readonly closed: Promise<void>;
  text = '';
  #tail = '';
  #wake: (() => void) | null = null;
  #over = false;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.on('data', (data) => {
      const text = data.toString('latin1');
      this.text += text;
      this.#tail = (this.#tail + text.slice(-tailCharacters)).slice(-tailCharacters);
      this.#wake?.();
    });
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      const over = (): void => {
        this.#over = true;
        this.socket.destroy();
        this.#wake?.();
        resolve();
      };
      this.socket.on('end', over);
      this.socket.on('close', over);
    });
  }

  /** Sends a text of Latin-1 and resolves when the kernel has it. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(Buffer.from(text, 'latin1'), () => resolve()));
  }

  /** Resolves once the text matches; rejects if the connection ends before. */
  async until(pattern: RegExp | ((text: string) => boolean)): Promise<void> {
    const matches = typeof pattern === 'function' ? pattern : (text: string): boolean => pattern.test(text);
    while (!matches(this.text)) {
      if (this.#over) throw new Error(`The connection ended before ${pattern}: ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The same for a short end of a text that may be of megabytes, which is not searched at each arrival. */
  endsWith(end: string): Promise<void> {
    return this.until(() => this.#tail.endsWith(end));
  }

  /** Whether the other side has ended the connection. */
  get over(): boolean {
    return this.#over;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** A promise and its key. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => (open = resolve));
  return { promise, open };
}
