/**
 * Requests on connections that are kept, as cheap as they can be sent: of an answer little more than its status is
 * read.
 */
import { connect, type Socket } from 'node:net';

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answered {
  /** 0 where the connection was closed instead. */
  readonly status: number;
  /** The body of a short answer. */
  readonly text: string;
}

export function bytesOf({ method = 'GET', path, headers = {}, body }: Ask): string {
  let text = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  if (body !== undefined) text += `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${text}\r\n${body ?? ''}`;
}

const textCharactersMax = 8 * 1024;
const lastChunk = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n$/;
/** A last chunk and a trailer fit into it. */
const tailBytes = 64;

/**
 * Requests on one connection: fewer than an address may fail to authenticate itself in a minute. The next connection
 * comes from another address.
 */
const onOneConnection = 400;
let addresses = 0;
const nextAddress = (): string => `127.1.${(++addresses >> 8) & 255}.${addresses & 255}`;

/** A connection with one request at a time. */
class Line {
  readonly #port: number;
  readonly #moves: boolean;
  #asked = 0;
  #socket: Socket | null = null;
  #head = '';
  #status = 0;
  /** The bytes still to come; NaN while a last chunk marks the end, Infinity while the connection's end does. */
  #left = 0;
  #tail = '';
  #text = '';
  #bodiless = false;
  #closes = false;
  #resolve: (answered: Answered) => void = () => {};

  constructor(port: number, moves: boolean) {
    this.#port = port;
    this.#moves = moves;
  }

  ask(asked: Ask): Promise<Answered> {
    if (this.#moves && ++this.#asked % onOneConnection === 0) this.close();
    this.#socket ??= this.#open();
    this.#head = this.#tail = this.#text = '';
    this.#status = 0;
    this.#bodiless = asked.method === 'HEAD';
    this.#socket.write(bytesOf(asked));
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      ...(this.#moves && { localAddress: nextAddress() }),
    });
    socket.on('error', () => {}).on('data', (bytes) => this.#take(bytes));
    return socket.on('close', () => {
      if (socket !== this.#socket) return;
      this.#closes = true;
      this.#done();
    });
  }

  #take(bytes: Buffer): void {
    if (this.#status > 0) return this.#takeBody(bytes);
    this.#head += bytes.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#head.slice(0, end);
    const rest = Buffer.from(this.#head.slice(end + 4), 'latin1');
    this.#head = '';
    const status = Number(head.slice(9, 12));
    if (status === 100) return void (rest.length > 0 && this.#take(rest));
    this.#status = status;
    this.#closes = status === 101 || /\r\nconnection: close/i.test(head);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (this.#bodiless || status === 101 || status === 204 || status === 304) this.#left = 0;
    else
      this.#left =
        length === null ? (/\r\ntransfer-encoding: chunked/i.test(head) ? NaN : Infinity) : Number(length[1]);
    this.#takeBody(rest);
  }

  #takeBody(bytes: Buffer): void {
    if (this.#text.length < textCharactersMax) this.#text += bytes.toString('latin1', 0, textCharactersMax);
    this.#left -= bytes.length;
    if (Number.isNaN(this.#left)) {
      this.#tail = (this.#tail + bytes.subarray(-tailBytes).toString('latin1')).slice(-tailBytes);
      if (!lastChunk.test(this.#tail)) return;
    } else if (this.#left > 0) return;
    this.#done();
  }

  #done(): void {
    if (this.#closes) this.close();
    this.#resolve({ status: this.#status, text: this.#text });
  }
}

const abreast = 32;

/** Runs a number of tasks, a few at a time, each with a separate connection; `moves`: from changing addresses. */
export async function eachOf(
  port: number,
  times: number,
  task: (ask: (asked: Ask) => Promise<Answered>, time: number) => Promise<void>,
  moves = true,
): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    const line = new Line(port, moves);
    while (next < times) await task((asked) => line.ask(asked), next++);
    line.close();
  };
  await Promise.all(Array.from({ length: Math.min(abreast, times) }, client));
}

/** Number of answers by status. */
export class Statuses {
  readonly #counts = new Map<number, number>();

  add(status: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }

  /** Number of answers with one of these statuses. */
  answered(isWanted: (status: number) => boolean): number {
    return [...this.#counts].reduce((sum, [status, count]) => sum + (isWanted(status) ? count : 0), 0);
  }

  toString(): string {
    return [...this.#counts]
      .sort(([, a], [, b]) => b - a)
      .map(([status, count]) => `${status === 0 ? 'cut' : status} ×${count}`)
      .join(', ');
  }
}
