/** A WebSocket of bytes, on which frames are sent as fast as the system takes them. */
import { request } from 'node:http';
import type { Socket } from 'node:net';

const opcodes = { text: 0x81, binary: 0x82, ping: 0x89, pong: 0x8a };

/** A client's frame of up to 64 KB, masked with zeros. */
export function frame(kind: keyof typeof opcodes, payload: string | Buffer = ''): Buffer {
  const bytes = Buffer.from(payload);
  const long = bytes.length > 125;
  const head = Buffer.alloc(long ? 8 : 6);
  head[0] = opcodes[kind];
  head[1] = 0x80 | (long ? 126 : bytes.length);
  if (long) head.writeUInt16BE(bytes.length, 2);
  return Buffer.concat([head, bytes]);
}

const last = 'the last';
const keptCharacters = 4 * 1024;
const closingHead = 0x88;
/** The first byte of the codes from 768 to 1023. */
const closeCodesHigh = 3;

export class RawSocket {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  /** The end of what came, as Latin-1. */
  #end = '';
  #hear: () => void = () => {};
  isOpen = true;

  private constructor(socket: Socket) {
    this.#socket = socket.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.isOpen = false;
        resolve();
      });
    });
    socket.on('data', (bytes) => {
      this.#end = (this.#end + bytes.toString('latin1')).slice(-keptCharacters);
      // A server waits half a minute for the answer to its closing frame: a head and a code above 1000, at the end of
      // what came.
      const closing = this.#end.lastIndexOf(String.fromCharCode(closingHead));
      if (closing >= 0 && this.#end.charCodeAt(closing + 2) === closeCodesHigh) socket.end();
      this.#hear();
    });
    socket.on('end', () => socket.destroy());
  }

  static open(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawSocket> {
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    return new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path, headers: { ...headers, ...upgrade }, agent: false });
      asked.on('error', reject).on('response', ({ statusCode }) => reject(new Error(`${path}: ${statusCode}`)));
      asked.on('upgrade', (_, socket) => resolve(new RawSocket(socket))).end();
    });
  }

  /** Reason for the close: the error before it; null without one. */
  get refusal(): string | null {
    const [message] = /"code":"\w+"/.exec(this.#end) ?? [];
    return this.isOpen ? null : `closed with ${message ?? 'no error'}`;
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  /** Sends all bytes, and resolves when the socket is closed or the system has them. */
  async send(bytes: Buffer): Promise<void> {
    if (this.isOpen)
      await Promise.race([this.#closed, new Promise<void>((resolve) => this.#socket.write(bytes, () => resolve()))]);
  }

  /** Resolves when the server has taken all that was sent, or has closed the socket. */
  async taken(): Promise<void> {
    await this.send(frame('ping', last));
    const heard = new Promise<void>((resolve) => {
      this.#hear = () => {
        if (this.#end.includes(last)) resolve();
      };
      this.#hear();
    });
    await Promise.race([this.#closed, heard]);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
