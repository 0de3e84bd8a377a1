/** A query that many callers make: one runs at a time, and calls that come meanwhile or soon after share its answer. */
import type { Clock } from './clock.ts';

export interface CoalescingBounds {
  /** Milliseconds for which an answer is reused, from its arrival. */
  readonly keptMs: number;
  /** Number of queries that may run one after another without that wait; each `keptMs` gives one of them back. */
  readonly freshMax: number;
}

export class CoalescedQuery<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  readonly #bounds: CoalescingBounds;
  #answer: Promise<T> | null = null;
  #inFlight = false;
  /** Whether the answer of the query in flight is not to be reused. */
  #isStale = false;
  /** When all of `freshMax` are available again, in monotonic milliseconds. */
  #freshAt = -Infinity;

  constructor(clock: Clock, bounds: CoalescingBounds, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#ask = ask;
  }

  /** The answer; rejects with the query's error. */
  get(): Promise<T> {
    if (this.#answer === null || (!this.#inFlight && this.#mayAsk())) {
      this.#inFlight = true;
      this.#answer = this.#ask().finally(() => {
        this.#inFlight = false;
        this.#freshAt = Math.max(this.#freshAt, this.#clock.monotonic()) + this.#bounds.keptMs;
        if (this.#isStale) this.forget();
      });
    }
    return this.#answer;
  }

  /** Forgets the present answer, and the answer of the query in flight once it arrives. */
  forget(): void {
    this.#isStale = this.#inFlight;
    if (this.#inFlight) return;
    this.#answer = null;
    this.#freshAt = Math.min(this.#freshAt, this.#clock.monotonic());
  }

  #mayAsk(): boolean {
    const { keptMs, freshMax } = this.#bounds;
    return this.#clock.monotonic() >= this.#freshAt - (freshMax - 1) * keptMs;
  }
}
