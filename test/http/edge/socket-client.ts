import { WebSocket } from 'ws';
import type { SocketListener } from '../../../src/base/edge.ts';

/** A client's socket with everything that came, for waiting on. */
export class Client {
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<number>;
  readonly messages: (string | Buffer)[] = [];
  refusedWith: number | null = null;
  responseHeaders: Record<string, unknown> = {};
  #wake: (() => void) | null = null;

  constructor(port: number, path = '/', protocols: string[] = [], headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers, perMessageDeflate: false });
    this.socket.on('upgrade', (response) => (this.responseHeaders = response.headers));
    this.socket.on('message', (data: Buffer, isBinary) => {
      this.messages.push(isBinary ? data : data.toString());
      this.#wake?.();
    });
    this.socket.on('unexpected-response', (_, response) => {
      this.refusedWith = response.statusCode ?? null;
      response.resume();
      this.socket.terminate();
    });
    this.socket.on('error', () => {});
    this.opened = new Promise((resolve) => this.socket.on('open', resolve));
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)));
  }

  async received(count: number): Promise<(string | Buffer)[]> {
    while (this.messages.length < count) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.messages;
  }
}

export const silent: SocketListener = { opened: () => {}, message: () => {}, closed: () => {} };
