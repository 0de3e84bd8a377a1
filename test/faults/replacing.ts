/**
 * A way to a Redis on which commands are replaced by ones that end in an error, as if Redis itself had refused to run
 * them.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Owner } from '../folders.ts';

/**
 * Returns the error to answer a command with, or null to run it; `words` are the command's, its name in lower case
 * first.
 */
export type Refuse = (words: readonly string[]) => string | null;

export class ReplacingWay {
  refuse: Refuse = () => null;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(to: number) {
    this.#server = createServer((near) => this.#accept(near, connect(to, '127.0.0.1')));
  }

  static async open(t: Owner, to: number): Promise<ReplacingWay> {
    const way = new ReplacingWay(to);
    way.#server.listen(0, '127.0.0.1');
    await once(way.#server, 'listening');
    t.teardown(async () => {
      way.#server.close();
      for (const socket of way.#sockets) socket.destroy();
    });
    return way;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  #accept(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    let rest: Buffer = Buffer.alloc(0);
    near.on('data', (bytes: Buffer) => {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      for (let command = commandIn(rest); command !== null; command = commandIn(rest)) {
        const error = this.refuse([command.words[0]!.toLowerCase(), ...command.words.slice(1)]);
        far.write(
          error === null
            ? rest.subarray(0, command.length)
            : encoded(['EVAL', 'return redis.error_reply(ARGV[1])', '0', error]),
        );
        rest = rest.subarray(command.length);
      }
    });
    far.pipe(near);
  }
}

const encoded = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;

/**
 * The first command of bytes that a client sends, an array of bulk strings; null if it is not there as a whole. Only
 * the first words are decoded.
 */
function commandIn(bytes: Buffer): { readonly words: readonly string[]; readonly length: number } | null {
  let at = 0;
  const number = (): number | null => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return null;
    const value = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return value;
  };
  const count = number();
  if (count === null) return null;
  const words: string[] = [];
  for (let word = 0; word < count; word++) {
    const length = number();
    if (length === null || bytes.length < at + length + 2) return null;
    if (word < wordsMax) words.push(bytes.toString('utf8', at, Math.min(at + length, at + wordBytesMax)));
    at += length + 2;
  }
  return { words, length: at };
}

const wordsMax = 4;
const wordBytesMax = 64;
