/** Many streamed answers at a time, each on a connection of its own. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Instance } from '../harness/contender.ts';
import type { Shape } from '../text.ts';
import { Connection } from './connection.ts';
import { AnswerStream } from './stream.ts';

/** Answers under way. */
export class Streams {
  readonly answers: AnswerStream[] = [];
  /** Nanoseconds between arrivals of one stream, beyond the time between its tokens. */
  readonly lateness: RecordableHistogram = createHistogram();
  /** Resolves when every answer has come whole and checked; rejects with the first that did not. */
  readonly done: Promise<void>;
  #begun = 0;
  #onBegun: () => void = () => {};
  readonly #connections: Connection[] = [];
  /** What begins each of those that have not begun yet. */
  readonly #waiting: (() => void)[] = [];

  /** Begins all at once, or `abreast` at a time, each when an earlier one has begun. */
  constructor(instance: Instance, requests: readonly string[], shape: Shape, abreast = Infinity) {
    const intervalMs = shape.rate === 0 ? 0 : 1000 / shape.rate;
    const late = (gapMs: number): void => this.lateness.record(Math.max(1, Math.round((gapMs - intervalMs) * 1e6)));
    const all = requests.map((request, index) => {
      const answer = new AnswerStream(instance.format, shape.tokens, late);
      this.answers.push(answer);
      const port = instance.ports[index % instance.ports.length]!;
      return new Promise<void>((resolve, reject) => {
        this.#waiting.push(() => void this.#run(port, request, answer).then(resolve, reject));
      });
    });
    for (let index = 0; index < Math.min(abreast, requests.length); index++) this.#waiting.shift()!();
    this.done = Promise.all(all).then(() => this.#close(), (error) => {
      this.#close();
      throw error;
    });
    // It is awaited later, by whoever measures meanwhile.
    this.done.catch(() => {});
  }

  /** Resolves once every answer has begun, or when it is clear that one will not. */
  begun(): Promise<void> {
    const begun = new Promise<void>((resolve) => {
      this.#onBegun = () => this.#begun >= this.answers.length && resolve();
      this.#onBegun();
    });
    return Promise.race([begun, this.done]);
  }

  /** Tokens that have come so far. */
  get tokens(): number {
    return this.answers.reduce((sum, answer) => sum + answer.tokens, 0);
  }

  get deltas(): number {
    return this.answers.reduce((sum, answer) => sum + answer.deltas, 0);
  }

  /** Connects only now: where streams are opened some at a time, a slow server has no room in its queue for all connections at once. */
  #run(port: number, request: string, answer: AnswerStream): Promise<void> {
    const connection = new Connection(port);
    this.#connections.push(connection);
    return new Promise((resolve, reject) => {
      let status = 0;
      connection.send(request, {
        head: (code) => (status = code),
        piece: (piece, now) => {
          if (status !== 200) throw new Error(`Answered ${status}: ${piece}`);
          const before = answer.firstAt;
          answer.take(piece, now);
          if (before === 0 && answer.firstAt !== 0) {
            this.#begun++;
            this.#waiting.shift()?.();
            this.#onBegun();
          }
        },
        ended: () => {
          try {
            answer.end();
            resolve();
          } catch (error) {
            reject(error);
          }
        },
        failed: reject,
      });
    });
  }

  #close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
