/**
 * How often turns store and send what their models say. While a process has little to do, at once. When the pieces of all its
 * turns come faster than `pacedPiecesPerSecond`, each turn's next piece waits for a beat that all turns share: what came until
 * then is stored once and sent as one event. Above `crowdedPiecesPerSecond` the beat is slower and providers are read only at the
 * beat, so that a core that is nearly full handles fewer and larger pieces. A turn's first output never waits, and its end waits
 * only in the second case.
 */
import { atTurnEnd, type Clock } from '../clock.ts';
import { limits } from '../limits.ts';

const windowMs = 100;
/** Pieces between two readings of the clock: one reading costs more than the rest of the work on a piece. */
const piecesPerLook = 16;
/** A crowd goes on at a beat in as many parts, each of at least so many turns: each part is a write of its own. */
const [partsMost, partLeast] = [4, 16];

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

  /** Counts a piece. */
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

  /** Keeps the beat running until the rate is low again: without a beat, a process that gets no more pieces would never measure its rate anew. */
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

  /** Resolves once everything ready in this turn of the event loop has been read. All callers in the same turn share one promise. */
  turnEnd(): Promise<void> {
    return (this.#turnEnd ??= new Promise<void>(atTurnEnd).then(() => void (this.#turnEnd = null)));
  }

  #beat(): void {
    this.#look();
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#callSome(waiting, 0);
  }

  /** In a crowd a part at a time, each in a turn of the event loop: between them it looks at what is new, which would else wait for all. */
  #callSome(waiting: readonly (() => void)[], from: number): void {
    const part = this.crowded ? Math.max(partLeast, Math.ceil(waiting.length / partsMost)) : waiting.length;
    const to = Math.min(from + part, waiting.length);
    for (let at = from; at < to; at++) waiting[at]!();
    if (to < waiting.length) atTurnEnd(() => this.#callSome(waiting, to));
    else this.#goOn();
  }
}
