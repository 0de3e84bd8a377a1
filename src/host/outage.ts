/** A store that is away is told of once when it goes and once when it is back, however often it is asked in between. */
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { StoreUnavailable } from '../store.ts';

export class Outage {
  /** How often the store has gone away. */
  count = 0;
  readonly #clock: Clock;
  readonly #log: Log;
  #sinceMs: number | null = null;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** For how long it has been away; 0 while it is not. */
  get seconds(): number {
    return this.#sinceMs === null ? 0 : (this.#clock.monotonic() - this.#sinceMs) / 1000;
  }

  get lasts(): boolean {
    return this.#sinceMs !== null;
  }

  /** Work that nobody waits for has failed. Any other fault than the store's absence is told each time. */
  failed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) return this.#log.error({ err: error }, 'sweep failed');
    if (this.#sinceMs !== null) return;
    this.count++;
    this.#sinceMs = this.#clock.monotonic();
    this.#log.error({ err: error }, 'the store is away');
  }

  answered(): void {
    if (this.#sinceMs === null) return;
    this.#log.warn({ away_seconds: Math.round(this.seconds * 10) / 10 }, 'the store is back');
    this.#sinceMs = null;
  }
}
