/** Detects changes of the wall clock: it then differs from the monotonic clock. */
import type { Clock } from './clock.ts';

/** Milliseconds by which two readings of a clock that was not set may differ. */
const noiseMs = 10;

export class ClockChanges {
  readonly #clock: Clock;
  /** Milliseconds by which the wall clock leads the monotonic clock. */
  #leadMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#leadMs = clock.now() - clock.monotonic();
  }

  /**
   * Returns the milliseconds by which the wall clock was set since the last call: below zero if it was set back, 0 if
   * it was not set. A machine that was suspended looks as if its clock had been set ahead, because no time passes on
   * its monotonic clock meanwhile.
   */
  readSetMs(): number {
    const readAt = this.#clock.monotonic();
    const leadMs = this.#clock.now() - readAt;
    // The system may have run another process between the two readings.
    if (this.#clock.monotonic() - readAt > noiseMs) return 0;
    const setMs = Math.round(leadMs - this.#leadMs);
    if (Math.abs(setMs) <= noiseMs) return 0;
    this.#leadMs = leadMs;
    return setMs;
  }
}
