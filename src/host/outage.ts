/** Logs an outage of the store once when it begins and once when it ends, however many calls fail in between. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { StoreUnavailable } from '../store/store.ts';

export class Outage {
  /** The number of outages so far. */
  count = 0;
  readonly #clock: Clock;
  readonly #log: Log;
  #sinceMs: number | null = null;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Seconds that the current outage has lasted; 0 without an outage. */
  get seconds(): number {
    return this.#sinceMs === null ? 0 : (this.#clock.monotonic() - this.#sinceMs) / 1000;
  }

  get lasts(): boolean {
    return this.#sinceMs !== null;
  }

  /** Reports a failure of background work. An outage of the store is logged once, any other error each time. */
  noteFailure(error: unknown): void {
    if (!(error instanceof StoreUnavailable))
      return this.#log.error({ err: error }, 'Background work on the store failed. It is repeated.');
    if (this.#sinceMs !== null) return;
    this.count++;
    this.#sinceMs = this.#clock.monotonic();
    this.#log.error({ err: error }, 'The store does not answer. Requests that need it get 503 until it is back.');
  }

  noteAnswer(): void {
    if (this.#sinceMs === null) return;
    this.#log.warn({ away_seconds: Math.round(this.seconds * 10) / 10 }, 'The store answers again.');
    this.#sinceMs = null;
  }
}
