/** Many streamed answers at a time, each on a separate connection. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Instance } from '../harness/contender.ts';
import { beginAbreast, type Mark, type Streams } from '../load.ts';
import type { Shape } from '../text.ts';
import { Connection } from './connection.ts';
import { AnswerStream } from './stream.ts';

export class NodeStreams implements Streams {
  readonly done: Promise<void>;
  readonly #answers: AnswerStream[] = [];
  /** Nanoseconds between arrivals of one stream, beyond the time between its tokens. */
  readonly #lateness: RecordableHistogram = createHistogram();
  #begun = 0;
  #onBegun: () => void = () => {};
  readonly #connections: Connection[] = [];
  /** Starts of the streams that have not begun yet. */
  readonly #waiting: (() => void)[] = [];

  constructor(instance: Instance, requests: readonly string[], shape: Shape, abreast = beginAbreast) {
    const intervalMs = shape.rate === 0 ? 0 : 1000 / shape.rate;
    const late = (gapMs: number): void => this.#lateness.record(Math.max(1, Math.round((gapMs - intervalMs) * 1e6)));
    const all = requests.map((request, index) => {
      const answer = new AnswerStream(instance.format, shape.tokens, late);
      this.#answers.push(answer);
      const port = instance.ports[index % instance.ports.length]!;
      return new Promise<void>((resolve, reject) => {
        this.#waiting.push(() => void this.#run(port, request, answer).then(resolve, reject));
      });
    });
    for (let index = 0; index < Math.min(abreast, requests.length); index++) this.#waiting.shift()!();
    this.done = Promise.all(all).then(
      () => this.#close(),
      (error) => {
        this.#close();
        throw error;
      },
    );
    // The caller measures meanwhile and awaits it later.
    this.done.catch(() => {});
  }

  begun(): Promise<void> {
    const begun = new Promise<void>((resolve) => {
      this.#onBegun = () => this.#begun >= this.#answers.length && resolve();
      this.#onBegun();
    });
    return Promise.race([begun, this.done]);
  }

  async mark(): Promise<Mark> {
    const sum = (of: (answer: AnswerStream) => number): number =>
      this.#answers.reduce((total, answer) => total + of(answer), 0);
    const late = (percent: number): number => this.#lateness.percentile(percent) / 1e6;
    const mark = {
      tokens: sum(({ tokens }) => tokens),
      deltas: sum(({ deltas }) => deltas),
      lateP50: late(50),
      lateP99: late(99),
    };
    this.#lateness.reset();
    return mark;
  }

  /**
   * Connects only now: where streams are opened some at a time, a slow server has no room in its queue for all
   * connections at once.
   */
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
