/**
 * A client's reports of what was played: they may come at any pace, and beyond that of text messages the newest waits
 * for its time (contract 18).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

export interface PlayedReportsOptions {
  readonly clock: Clock;
  /** Whether the message is one of the call: the reports that wait are bounded by its messages. */
  knows(messageId: string): boolean;
  take(messageId: string, samples: number): void;
}

export class PlayedReports {
  readonly #options: PlayedReportsOptions;
  readonly #pace: TokenBucket;
  /** The highest report of each message that waits. */
  readonly #waiting = new Map<string, number>();
  #timer: Timer | null = null;

  constructor(options: PlayedReportsOptions) {
    this.#options = options;
    this.#pace = new TokenBucket(options.clock, limits.socketTextsMax, limits.socketTextsPerSecond);
  }

  /**
   * Passes on a report, at once if the pace allows it. Of those that wait the highest counts: the position never goes
   * back.
   */
  add(messageId: string, samples: number): void {
    const { clock, knows, take } = this.#options;
    if (this.#timer === null && this.#pace.take(1)) return take(messageId, samples);
    this.#timer ??= clock.after(1000 / limits.socketTextsPerSecond, () => this.flush());
    if (knows(messageId)) this.#waiting.set(messageId, Math.max(samples, this.#waiting.get(messageId) ?? 0));
  }

  /** Passes on the reports that wait: before another message of the client, and before the end. */
  flush(): void {
    const waiting = [...this.#waiting];
    this.close();
    for (const [messageId, samples] of waiting) this.#options.take(messageId, samples);
  }

  /** Drops the reports that wait. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#waiting.clear();
  }
}
