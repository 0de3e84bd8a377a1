/**
 * One command over a new connection, with the reply as redis-cli prints it. A test sends hundreds while it waits, and a
 * process for each costs a hundred times as much.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

/** A reply that is not whole yet. */
const incomplete = Symbol('incomplete');

/** Reads a reply of Redis's protocol, version 2; the bytes may end before it. */
class ReplyReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  #line(): string {
    const end = this.#bytes.indexOf('\r\n', this.#at);
    if (end < 0) throw incomplete;
    const line = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return line;
  }

  /** Items of an array, nested ones too, are lines. */
  read(): string {
    const line = this.#line();
    const rest = line.slice(1);
    switch (line[0]) {
      case '$':
        return Number(rest) < 0 ? '' : this.#text(Number(rest));
      case '*':
        return Array.from({ length: Math.max(0, Number(rest)) }, () => this.read()).join('\n');
      default:
        return rest;
    }
  }

  #text(length: number): string {
    const end = this.#at + length;
    if (this.#bytes.length < end + 2) throw incomplete;
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return text;
  }
}

/** Resolves with the reply, also where it is an error; rejects if the connection ends before it is whole. */
export async function redisCommand(port: number, words: readonly string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  try {
    await once(socket, 'connect');
    socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
    let bytes = Buffer.alloc(0);
    for await (const piece of socket) {
      bytes = Buffer.concat([bytes, piece as Buffer]);
      try {
        return new ReplyReader(bytes).read().trim();
      } catch (error) {
        if (error !== incomplete) throw error;
      }
    }
    throw new Error(`Redis closed the connection before it replied to ${words[0]}.`);
  } finally {
    socket.destroy();
  }
}
