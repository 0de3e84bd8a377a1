/**
 * How often turns hand over what their models say. While a process has little to do, at once. When the pieces of all its
 * turns come faster than `pacedPiecesPerSecond`, each turn's next piece waits for a beat that all share: what came until
 * then is stored once and sent as one event. Above `crowdedPiecesPerSecond` the beat is slower and providers are read at it, so that
 * a core that is nearly full has fewer and larger pieces to carry. What a turn says first never waits, and how it ends only there.
 */
import { atTurnEnd, type Clock } from '../clock.ts';
import { limits } from '../limits.ts';

const windowMs = 100;
/** Pieces between two looks at the clock, which cost more than a piece does otherwise. */
const piecesPerLook = 16;

export class Pace {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #turnEnd: Promise<void> | null = null;
  #pieces = 0;
  #countedFrom: number;
  #perSecond = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedFrom = clock.monotonic();
  }

  /** A piece has come. */
  note(): void {
    if (++this.#pieces % piecesPerLook !== 0) return;
    this.#look();
    this.#goOn();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#countedFrom;
    if (elapsed < windowMs) return;
    this.#perSecond = (this.#pieces * 1000) / elapsed;
    this.#pieces = 0;
    this.#countedFrom = now;
  }

  /** Until it finds the process calm: where nothing comes any more nobody else would look. */
  #goOn(): void {
    if (this.busy && this.#waiting.length === 0) this.next(() => {});
  }

  get busy(): boolean {
    return this.#perSecond > limits.pacedPiecesPerSecond;
  }

  get crowded(): boolean {
    return this.#perSecond > limits.crowdedPiecesPerSecond;
  }

  /** Calls back at the next beat. */
  next(callback: () => void): void {
    this.#waiting.push(callback);
    if (this.#waiting.length === 1) this.#clock.after(this.crowded ? limits.crowdedPaceMs : limits.paceMs, () => this.#beat());
  }

  /** Resolves once whatever is ready in this turn of the event loop has been read: one promise for all who ask in it. */
  turnEnd(): Promise<void> {
    return (this.#turnEnd ??= new Promise<void>(atTurnEnd).then(() => void (this.#turnEnd = null)));
  }

  #beat(): void {
    this.#look();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
    this.#goOn();
  }
}
