/** A client's connection: raw HTTP/1.1 over `node:net`, parsed by hand, one request at a time. */
import { connect, type Socket } from 'node:net';

/** Hears of one answer. Pieces are without the transfer's framing, a character for a byte. */
export interface Listener {
  head?(status: number): void;
  piece(piece: string, now: number): void;
  ended(): void;
  failed(error: Error): void;
}

/** Bytes are consumed before the next read, so one buffer does for all connections. */
const shared = Buffer.allocUnsafe(256 * 1024);

type State = 'head' | 'size' | 'chunk' | 'chunk end' | 'last end' | 'body';

export class Connection {
  readonly #socket: Socket;
  #listener: Listener | null = null;
  #state: State = 'head';
  #rest = '';
  #left = 0;

  constructor(port: number) {
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length) => {
          this.#take(shared.toString('latin1', 0, length));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('The connection was closed in an answer.')));
  }

  send(request: string, listener: Listener): void {
    this.#listener = listener;
    this.#socket.write(request);
  }

  close(): void {
    this.#listener = null;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const listener = this.#listener;
    this.#listener = null;
    listener?.failed(error);
  }

  #take(text: string): void {
    const now = performance.now();
    this.#rest = this.#rest === '' ? text : this.#rest + text;
    try {
      let at = 0;
      for (let next = this.#step(at, now); next > at; next = this.#step(at, now)) at = next;
      if (at > 0) this.#rest = this.#rest.slice(at);
    } catch (error) {
      this.#fail(error as Error);
      this.#socket.destroy();
    }
  }

  /** Takes one part of the answer, from `at` in the buffer; returns where it ended, `at` if it is not whole. */
  #step(at: number, now: number): number {
    const rest = this.#rest;
    if (this.#state === 'chunk' || this.#state === 'body') {
      if (rest.length - at < this.#left) return at;
      const end = at + this.#left;
      this.#left = 0;
      this.#listener?.piece(rest.slice(at, end), now);
      if (this.#state === 'chunk') this.#state = 'chunk end';
      else this.#end();
      return end;
    }
    const mark = this.#state === 'head' ? '\r\n\r\n' : '\r\n';
    const found = rest.indexOf(mark, at);
    if (found < 0) return at;
    const line = rest.slice(at, found);
    if (this.#state === 'head') this.#head(line);
    else if (this.#state === 'size') this.#size(line);
    else if (this.#state === 'chunk end') this.#state = 'size';
    else this.#end();
    return found + mark.length;
  }

  #head(head: string): void {
    this.#listener?.head?.(Number(head.slice(9, 12)));
    if (/transfer-encoding: chunked/i.test(head)) return void (this.#state = 'size');
    this.#left = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.#state = 'body';
    if (this.#left === 0) this.#end();
  }

  #size(line: string): void {
    this.#left = parseInt(line, 16);
    this.#state = this.#left === 0 ? 'last end' : 'chunk';
  }

  #end(): void {
    this.#state = 'head';
    const listener = this.#listener;
    this.#listener = null;
    listener?.ended();
  }
}
