/**
 * How often turns hand over what their models say. While a process has little to do, at once. When the pieces of all its
 * turns come faster than `pacedPiecesPerSecond`, each turn's next piece waits for a beat that all share: what came until
 * then is stored once and sent as one event. What a turn says first, and how it ends, never waits.
 */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

const windowMs = 100;

export class Pace {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #pieces = 0;
  #countedFrom: number;
  #busy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedFrom = clock.monotonic();
  }

  /** A piece has come. */
  note(): void {
    this.#pieces++;
    const now = this.#clock.monotonic();
    const elapsed = now - this.#countedFrom;
    if (elapsed < windowMs) return;
    this.#busy = (this.#pieces * 1000) / elapsed > limits.pacedPiecesPerSecond;
    this.#pieces = 0;
    this.#countedFrom = now;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Calls back at the next beat. */
  next(callback: () => void): void {
    this.#waiting.push(callback);
    if (this.#waiting.length === 1) this.#clock.after(limits.paceMs, () => this.#beat());
  }

  #beat(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
