/** Expires sessions within a minute of their deadline, though nobody uses them, where a webhook waits for it (contract 17). */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { SessionPlace, Store } from '../store/store.ts';

/** Sessions that are expired at the same time. */
const atOnce = 16;

export interface DeadlinesOptions {
  readonly store: Pick<Store, 'webhooks'>;
  readonly clock: Clock;
  /** Has the session's machine look at its deadline. */
  expire(place: SessionPlace): Promise<void>;
  /** Reports a failure; the next search finds the session again. */
  failed(error: unknown): void;
}

export class Deadlines {
  readonly #options: DeadlinesOptions;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /** Searches now and then, until `close`. */
  start(): void {
    if (!this.#closed) this.#timer = this.#options.clock.after(limits.overdueMs, () => void this.#search());
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  async #search(): Promise<void> {
    const { store, clock, expire, failed } = this.#options;
    try {
      const overdue = await store.webhooks.overdueSessions(clock.now(), limits.overdueMax);
      for (let first = 0; first < overdue.length && !this.#closed; first += atOnce)
        await Promise.all(overdue.slice(first, first + atOnce).map((place) => expire(place).catch(failed)));
    } catch (error) {
      failed(error);
    }
    this.start();
  }
}
