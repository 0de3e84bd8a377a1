/**
 * A client's reports of played samples. They may come at any pace: above the pace of text messages the highest report
 * of each message waits (contract 18).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { TokenBucket } from '../../base/token-bucket.ts';

export interface PlayedReportsOptions {
  readonly clock: Clock;
  /** Whether the message is one of the call's, which bounds the reports that wait. */
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

  /** Reports at once if the pace allows it. The highest waiting report counts: a position never moves back. */
  add(messageId: string, samples: number): void {
    const { clock, knows, take } = this.#options;
    if (this.#timer === null && this.#pace.take(1)) return take(messageId, samples);
    this.#timer ??= clock.after(1000 / limits.socketTextsPerSecond, () => this.flush());
    if (knows(messageId)) this.#waiting.set(messageId, Math.max(samples, this.#waiting.get(messageId) ?? 0));
  }

  /** Takes the waiting reports: before another message of the client, and before the end. */
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
