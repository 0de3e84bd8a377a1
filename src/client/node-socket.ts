/**
 * A WebSocket over the HTTP of Node itself, for Node 20, which has no WebSocket. It implements what a transcription and
 * a call need of RFC 6455: no extensions, no subprotocols. Loaded only where it is used.
 */
import type { Socket, SocketClass } from './socket.ts';

/** The parts of Node's API in use, written out so that the package needs no types of Node. */
interface Connection {
  readonly writableLength: number;
  write(bytes: Uint8Array): void;
  end(bytes?: Uint8Array): void;
  destroy(): void;
  setNoDelay(on: boolean): void;
  setTimeout(ms: number, late: () => void): void;
  on(event: 'data', listener: (bytes: Uint8Array) => void): void;
  on(event: 'close', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface Opening {
  on(
    event: 'upgrade',
    listener: (
      answer: { readonly headers: Record<string, string | undefined> },
      connection: Connection,
      first: Uint8Array,
    ) => void,
  ): void;
  on(event: 'response', listener: (answer: { readonly statusCode: number; resume(): void }) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  end(): void;
  destroy(): void;
}

interface Http {
  request(url: string, options: { readonly headers: Record<string, string> }): Opening;
}

const [continuation, text, binary, closing, ping, pong] = [0, 1, 2, 8, 9, 10];
/** Milliseconds that the other side may take to answer a close. */
const closeMs = 2000;

/** Gives so many random bytes. */
type Draw = (count: number) => Uint8Array;

/** The class, with the source of its chance. */
export const nodeSocketClass = (draw: Draw): SocketClass =>
  class extends NodeSocket {
    constructor(url: string) {
      super(url, draw);
    }
  };

class NodeSocket implements Socket {
  readonly #draw: Draw;
  readonly #listeners = new Map<string, ((event: object) => void)[]>();
  #request: Opening | null = null;
  #connection: Connection | null = null;
  #held = new Uint8Array(0);
  /** The payloads of a message that comes in several frames. */
  #parts: Uint8Array[] = [];
  #binary = false;
  #closed = false;
  #closing = false;

  constructor(url: string, draw: Draw) {
    this.#draw = draw;
    this.#open(url).catch((error: Error) => this.#fail(error));
  }

  get bufferedAmount(): number {
    return this.#connection?.writableLength ?? 0;
  }

  addEventListener(type: string, listener: (event: any) => void): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  send(data: string | Uint8Array): void {
    if (this.#closing || this.#closed) return;
    if (typeof data === 'string') this.#frame(text, new TextEncoder().encode(data));
    else this.#frame(binary, data);
  }

  close(): void {
    if (this.#connection === null) return this.#fail(new Error('The socket was closed before it opened.'));
    this.#leave(new Uint8Array([1000 >> 8, 1000 & 255]));
  }

  async #open(url: string): Promise<void> {
    // Not written out in the import, so that no bundler for browsers looks for it.
    const module = url.startsWith('wss:') ? 'node:https' : 'node:http';
    const { request } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ module)) as Http;
    if (this.#closed) return;
    const key = btoa(String.fromCharCode(...this.#draw(16)));
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    };
    this.#request = request(url.replace(/^ws/, 'http'), { headers });
    this.#request.on('error', (error) => this.#fail(error));
    this.#request.on('response', (answer) => {
      answer.resume();
      this.#fail(new Error(`The server answered ${answer.statusCode} and no socket.`));
    });
    this.#request.on(
      'upgrade',
      (answer, connection, first) => void this.#opened(key, answer.headers, connection, first),
    );
    this.#request.end();
  }

  async #opened(
    key: string,
    headers: Record<string, string | undefined>,
    connection: Connection,
    first: Uint8Array,
  ): Promise<void> {
    this.#connection = connection;
    connection.on('error', (error) => this.#fail(error));
    connection.on('close', () => this.#over());
    const digest = await crypto.subtle.digest(
      'SHA-1',
      new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`),
    );
    if (headers['sec-websocket-accept'] !== btoa(String.fromCharCode(...new Uint8Array(digest))))
      return this.#fail(new Error('What answered is no WebSocket.'));
    if (this.#closed) return connection.destroy();
    connection.setNoDelay(true);
    this.#tell('open', {});
    // The listener is added last: until then Node buffers the bytes.
    this.#data(first);
    connection.on('data', (bytes) => this.#data(bytes));
  }

  #data(bytes: Uint8Array): void {
    const held = new Uint8Array(this.#held.length + bytes.length);
    held.set(this.#held);
    held.set(bytes, this.#held.length);
    this.#held = held;
    for (let frame = this.#next(); frame !== null && !this.#closed; frame = this.#next())
      this.#take(frame.kind, frame.final, frame.payload);
  }

  /** Takes a whole frame from the buffer; null if it is incomplete. A server's frames are not masked. */
  #next(): { readonly kind: number; readonly final: boolean; readonly payload: Uint8Array } | null {
    const held = this.#held;
    if (held.length < 2) return null;
    const short = held[1]! & 127;
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (held.length < head) return null;
    const view = new DataView(held.buffer, held.byteOffset);
    const length = short === 127 ? Number(view.getBigUint64(2)) : short === 126 ? view.getUint16(2) : short;
    if (held.length < head + length) return null;
    this.#held = held.slice(head + length);
    return { kind: held[0]! & 15, final: held[0]! > 127, payload: held.slice(head, head + length) };
  }

  #take(kind: number, final: boolean, payload: Uint8Array): void {
    if (kind === ping) this.#frame(pong, payload);
    if (kind === closing) this.#leave(payload, true);
    if (kind !== text && kind !== binary && kind !== continuation) return;
    if (kind !== continuation) this.#binary = kind === binary;
    this.#parts.push(payload);
    if (!final) return;
    const whole = joined(this.#parts);
    this.#parts = [];
    this.#tell('message', { data: this.#binary ? whole.buffer : new TextDecoder().decode(whole) });
  }

  /** Sends one whole message, masked as a client's must be. */
  #frame(kind: number, payload: Uint8Array): void {
    const { length } = payload;
    const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
    const frame = new Uint8Array(head + 4 + length);
    const view = new DataView(frame.buffer);
    frame[0] = 128 | kind;
    frame[1] = 128 | (head === 2 ? length : head === 4 ? 126 : 127);
    if (head === 4) view.setUint16(2, length);
    if (head === 10) view.setBigUint64(2, BigInt(length));
    const mask = this.#draw(4);
    frame.set(mask, head);
    for (let at = 0; at < length; at++) frame[head + 4 + at] = payload[at]! ^ mask[at & 3]!;
    this.#connection?.write(frame);
  }

  /** Sends a close, once; `last`: the other side has sent its own, so the connection ends too. */
  #leave(payload: Uint8Array, last = false): void {
    if (!this.#closing) this.#frame(closing, payload.slice(0, 2));
    if (!this.#closing && !last) this.#connection!.setTimeout(closeMs, () => this.#connection!.destroy());
    this.#closing = true;
    if (last) this.#connection!.end();
  }

  #fail(error: Error): void {
    if (!this.#closed) this.#tell('error', { error });
    this.#over();
    this.#request?.destroy();
    this.#connection?.destroy();
  }

  #over(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#tell('close', {});
  }

  #tell(type: string, event: object): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
