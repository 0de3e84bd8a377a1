/**
 * How often turns hand over what their models say. While a process has little to do, at once. When the pieces of all its
 * turns come faster than `pacedPiecesPerSecond`, each turn's next piece waits for a beat that all share: what came until
 * then is stored once and sent as one event. Above `crowdedPiecesPerSecond` the beat is slower, so that a core that is nearly
 * full has fewer and larger events to carry. What a turn says first, and how it ends, never waits.
 */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

const windowMs = 100;
/** Pieces between two looks at the clock, which cost more than a piece does otherwise. */
const piecesPerLook = 16;

export class Pace {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #pieces = 0;
  #countedFrom: number;
  #busy = false;
  #beatMs: number = limits.paceMs;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedFrom = clock.monotonic();
  }

  /** A piece has come. */
  note(): void {
    if (++this.#pieces % piecesPerLook === 0) this.#look();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#countedFrom;
    if (elapsed < windowMs) return;
    const perSecond = (this.#pieces * 1000) / elapsed;
    this.#busy = perSecond > limits.pacedPiecesPerSecond;
    this.#beatMs = perSecond > limits.crowdedPiecesPerSecond ? limits.crowdedPaceMs : limits.paceMs;
    this.#pieces = 0;
    this.#countedFrom = now;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Calls back at the next beat. */
  next(callback: () => void): void {
    this.#waiting.push(callback);
    if (this.#waiting.length === 1) this.#clock.after(this.#beatMs, () => this.#beat());
  }

  #beat(): void {
    this.#look();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
