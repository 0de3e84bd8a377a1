/**
 * The wall clock of a store that several processes share, as one process estimates it. Deadlines and dates that all
 * processes must agree on use it. Between two readings of the store's own clock the process's monotonic clock counts
 * on, because nothing sets that one.
 */
import type { Clock, Timer } from '../base/clock.ts';

interface Reckoning {
  /** The store's time at a moment of the monotonic clock, both in milliseconds. */
  readonly storeMs: number;
  readonly atMs: number;
  /** The largest possible error of that estimate, in milliseconds. */
  readonly offMs: number;
}

/**
 * Milliseconds that a store's clock may be corrected by, or differ from its replica's clock, without having been set.
 */
export const setMsMin = 2000;

/** Largest drift of two clocks in a millisecond: each is slewed by at most 1/2000. */
const driftMax = 1 / 1000;

export class StoreClock implements Clock {
  readonly #own: Clock;
  #reckoning: Reckoning | null = null;
  /** When the store's clock was last found to be set ahead, in monotonic milliseconds. */
  #aheadAtMs = -Infinity;

  /** `own`: this process's clock, whose wall-clock time is used until the store's time is known. */
  constructor(own: Clock) {
    this.#own = own;
  }

  now(): number {
    return this.#reckoning === null
      ? this.#own.now()
      : Math.floor(this.#reckoned(this.#reckoning, this.#own.monotonic()));
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#own.after(delayMs, callback);
  }

  stop(): void {
    this.#own.stop();
  }

  /**
   * The store's clock showed `storeMs` at some moment between two moments of the monotonic clock. The present estimate
   * stays if it is more exact and does not contradict the reading: a reply that took long is inexact. If they
   * contradict each other, the store's clock was set, and only the newest reply is right.
   */
  noteTime(storeMs: number, askedAtMs: number, answeredAtMs: number): void {
    const heard = { storeMs, atMs: (askedAtMs + answeredAtMs) / 2, offMs: (answeredAtMs - askedAtMs) / 2 };
    const reckoning = this.#reckoning;
    if (reckoning !== null) {
      const offMs = reckoning.offMs + (heard.atMs - reckoning.atMs) * driftMax;
      const apartMs = Math.abs(this.#reckoned(reckoning, heard.atMs) - storeMs);
      if (offMs <= heard.offMs && apartMs <= offMs + heard.offMs) return;
    }
    if (reckoning !== null && storeMs - this.#reckoned(reckoning, heard.atMs) > setMsMin)
      this.#aheadAtMs = answeredAtMs;
    this.#reckoning = heard;
  }

  /** Whether the store's clock was not set ahead within the last `ms` milliseconds. */
  isEven(ms: number): boolean {
    return this.monotonic() - this.#aheadAtMs >= ms;
  }

  #reckoned({ storeMs, atMs }: Reckoning, monotonicMs: number): number {
    return storeMs + (monotonicMs - atMs);
  }
}
