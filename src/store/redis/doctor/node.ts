/** One Redis server, examined by itself: its answers, and how long they take. */
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { connectOnce } from '../connection/client.ts';
import { textOfReply, listOfReply } from '../reply.ts';
import type { RedisReply } from '../reply.ts';

/** Round trips that are measured. */
const doctorRoundTrips = 5;

/** A server that accepts connections and does not answer for as long as the store would wait. */
export class NoAnswer extends Error {}

export interface Timing {
  /** The shortest of several round trips, in milliseconds. */
  readonly roundTripMs: number;
  /** Milliseconds by which the server's clock is ahead of ours, with an error of up to half of that round trip. */
  readonly aheadMs: number;
}

export interface NodeName {
  /** `host:port` */
  readonly address: string;
  /** The user that the given address authenticates as. */
  readonly user: string;
}

/** A server's report about itself. */
export type ServerFacts = Pick<Node, 'fact'>;

export class Node {
  readonly address: string;
  readonly #clock: Clock;
  readonly #line: ReturnType<typeof connectOnce>;
  /** The user that we are authenticated as. */
  readonly user: string;
  #facts: ReadonlyMap<string, string> = new Map();

  private constructor(url: string, { address, user }: NodeName, clock: Clock) {
    this.address = address;
    this.user = user;
    this.#clock = clock;
    this.#line = connectOnce(url);
  }

  /** Connects and authenticates; rejects with the error. */
  static async open(url: string, name: NodeName, clock: Clock): Promise<Node> {
    const node = new Node(url, name, clock);
    try {
      await node.#within(node.#line.open());
    } catch (error) {
      node.close();
      throw error;
    }
    return node;
  }

  close(): void {
    this.#line.close();
  }

  ask(...words: string[]): Promise<RedisReply> {
    return this.#within(this.#line.send(words));
  }

  /** Reads the server's report about itself, which `fact` then returns. */
  async learn(): Promise<void> {
    const lines = textOfReply(await this.ask('INFO')).split('\r\n');
    this.#facts = new Map(
      lines.flatMap((line) => {
        const at = line.indexOf(':');
        return at < 1 || line.startsWith('#') ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
      }),
    );
  }

  /** Whether that report was read. */
  get answered(): boolean {
    return this.#facts.size > 0;
  }

  /** A line of its INFO; empty if it has none. */
  fact(name: string): string {
    return this.#facts.get(name) ?? '';
  }

  /** The node's replicas, as listed in its INFO. */
  replicas(): ReadonlyMap<string, string>[] {
    const listed = [...this.#facts].filter(([name]) => /^slave\d+$/.test(name));
    return listed.map(([, text]) => new Map(text.split(',').map((pair) => pair.split('=', 2) as [string, string])));
  }

  async timing(): Promise<Timing> {
    const timings: Timing[] = [];
    for (let count = 0; count < doctorRoundTrips; count++) {
      const [asked, askedAt] = [this.#clock.monotonic(), this.#clock.now()];
      const [seconds, microseconds] = listOfReply(await this.ask('TIME'));
      const roundTripMs = this.#clock.monotonic() - asked;
      const theirs = Number(textOfReply(seconds)) * 1000 + Number(textOfReply(microseconds)) / 1000;
      timings.push({ roundTripMs, aheadMs: theirs - (askedAt + roundTripMs / 2) });
    }
    return timings.reduce((best, each) => (each.roundTripMs < best.roundTripMs ? each : best));
  }

  #within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = this.#clock.after(limits.redisCallMs, () => reject(new NoAnswer()));
      answer.then(resolve, reject).finally(() => deadline.cancel());
    });
  }
}
