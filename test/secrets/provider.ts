/** A provider that writes its answers byte by byte, so that no part of them is too odd to be sent. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Owner } from '../folders.ts';

/** Bytes as Latin-1, one write each, and how the connection ends after them. */
export interface Script {
  readonly pieces: readonly string[];
  readonly ending: 'end' | 'reset';
}

export class ByteProvider {
  /** The answer from now on. */
  script: Script = { pieces: [], ending: 'end' };
  /** The requests received, heads and bodies, as Latin-1. */
  readonly asked: string[] = [];
  #sockets = new Set<Socket>();
  #port = 0;

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async open(t: Owner): Promise<this> {
    const server = createServer((socket) => {
      this.#sockets.add(socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket)));
      let text = '';
      socket.on('data', (data) => {
        text += data.toString('latin1');
        const head = text.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, Math.max(head, 0)))?.[1] ?? 0);
        if (head < 0 || text.length < head + 4 + length) return;
        this.asked.push(text);
        text = '';
        this.#answer(socket);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    t.teardown(async () => {
      for (const socket of this.#sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    });
    return this;
  }

  #answer(socket: Socket): void {
    const { pieces, ending } = this.script;
    for (const piece of pieces) socket.write(Buffer.from(piece, 'latin1'));
    if (ending === 'end') socket.end();
    else socket.write('', () => socket.destroy());
  }
}

/** A whole answer, ended by its connection. */
export const answer = (
  body: readonly string[],
  { status = '200 OK', headers = [] as readonly string[], type = 'text/event-stream' } = {},
): string[] => [
  `HTTP/1.1 ${status}\r\n${[`Content-Type: ${type}`, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`,
  ...body,
];
