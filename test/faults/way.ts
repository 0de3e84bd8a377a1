/**
 * A way between two processes on which a network's faults happen: delay, a stall of one direction or both, cuts, lost
 * replies.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Owner } from '../folders.ts';

/** `there`: from who connects to who listens. */
export type Direction = 'there' | 'back';
export const directions: readonly (readonly Direction[])[] = [['there'], ['back'], ['there', 'back']];

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

/** A socket that has begun to end cannot be reset any more: Node would leave it open for good. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

export class Way {
  /** Before anything is handed on, in milliseconds. */
  delayMs = 0;
  /** Whether bytes are a reply that may be lost; a test of the protocol recognises replies of a step. */
  isReply: (bytes: Buffer) => boolean = () => true;
  /** Called with the bytes on their way there, before they are handed on. */
  onThere: (bytes: Buffer) => void = () => {};
  /** Called with the bytes that have come back in all, before they are handed on. */
  onBack: (bytes: number) => void = () => {};
  #cameBack = 0;
  #to: number;
  readonly #pairs = new Set<Pair>();
  #stalled: readonly Direction[] = [];
  #refuses = false;
  /** Replies until the one that is lost; 0 loses none. */
  #losesAt = 0;
  #server!: Server;

  private constructor(to: number) {
    this.#to = to;
  }

  static async open(t: Owner, to: number): Promise<Way> {
    const way = new Way(to);
    way.#server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => way.#accept(near)).listen(
      0,
      '127.0.0.1',
    );
    await once(way.#server, 'listening');
    t.teardown(async () => {
      way.close();
      way.#server.close();
    });
    return way;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that were in transit are delivered once the proxy continues, as from a network's queue. */
  stall(stalled: readonly Direction[]): void {
    this.#stalled = stalled;
    for (const pair of this.#pairs) this.#tap(pair);
  }

  /** Everything passes again, and connections are taken. */
  mend(): void {
    this.#refuses = false;
    this.#losesAt = 0;
    this.onThere = () => {};
    this.delayMs = 0;
    this.stall([]);
  }

  /** New connections go to another port; open ones stay, as with a proxy after a failover. */
  lead(to: number): void {
    this.#to = to;
  }

  /** Ends every connection at once, both ways. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      reset(near);
      reset(far);
    }
  }

  /** Ends all connections, and refuses new ones until it is mended. */
  close(): void {
    this.#refuses = true;
    this.cut();
  }

  /** Ends the direction towards the client, which may continue to send. */
  halfClose(): void {
    for (const { near, far } of this.#pairs) {
      far.pause();
      near.end();
    }
  }

  /** Lets the request through and cuts the connection instead of handing on the n-th reply from now. */
  loseReply(nth: number): void {
    this.#losesAt = nth;
  }

  get lost(): boolean {
    return this.#losesAt === 0;
  }

  #accept(near: Socket): void {
    if (this.#refuses) return reset(near.on('error', () => {}));
    const far = connect({ port: this.#to, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair = { near, far };
    this.#pairs.add(pair);
    this.#pump(near, far, (bytes) => {
      this.onThere(bytes);
      return true;
    });
    this.#pump(far, near, (bytes) => this.#returns(pair, bytes));
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    this.#tap(pair);
  }

  #pump(from: Socket, to: Socket, passes: (bytes: Buffer) => boolean): void {
    // Delayed bytes go before bytes that are not delayed any more.
    const waiting: (() => void)[] = [];
    const hand = (run: () => void): void => {
      if (this.delayMs === 0 && waiting.length === 0) return run();
      waiting.push(run);
      setTimeout(() => waiting.shift()!(), this.delayMs);
    };
    from.on('data', (bytes: Buffer) => {
      if (!passes(bytes)) return;
      hand(() => {
        if (to.destroyed || !to.writable || to.write(bytes)) return;
        from.pause();
        to.once('drain', () => this.#pairs.forEach((pair) => this.#tap(pair)));
      });
    });
    from.on('end', () => hand(() => to.end()));
  }

  #returns({ near, far }: Pair, bytes: Buffer): boolean {
    this.#cameBack += bytes.length;
    this.onBack(this.#cameBack);
    if (this.#losesAt === 0 || !this.isReply(bytes) || --this.#losesAt > 0) return !near.destroyed;
    reset(near);
    reset(far);
    return false;
  }

  /** Opens and closes each direction as it is wanted. */
  #tap({ near, far }: Pair): void {
    for (const [socket, direction] of [
      [near, 'there'],
      [far, 'back'],
    ] as const) {
      if (this.#stalled.includes(direction)) socket.pause();
      else socket.resume();
    }
  }
}

/** Replies of steps to Redis: no error, no `+OK`, no push, and no greeting. */
export const isRedisStep = (bytes: Buffer): boolean => !/^[-+>%]/.test(bytes.toString('latin1', 0, 1));

/** A proxy to a Redis; the server is given its address instead. */
export async function wayToRedis(t: Owner, port: number): Promise<{ way: Way; url: string }> {
  const way = await Way.open(t, port);
  way.isReply = isRedisStep;
  return { way, url: `redis://127.0.0.1:${way.port}` };
}
