/**
 * The pace at which turns store and send their models' output. A process with little to do sends it at once. When the
 * pieces of all its turns come faster than `pacedPiecesPerSecond`, each turn's next piece waits for a beat that all
 * turns share: the output until then is stored once and sent as one event. Above `crowdedPiecesPerSecond` beats are
 * slower, each belongs to one of sixteen groups of the turns, and providers are read only at the beat, so that a core
 * that is nearly full handles fewer and larger pieces. A turn's first output never waits, and its end waits only in the
 * second case. The wait grows with the load of the event loop: fewer and larger pieces save work, which has no use on
 * an idle core.
 */
import { atTurnEnd, type Clock } from '../base/clock.ts';

/** Pieces a second of all turns in the process, above which pieces are handed over at a beat. */
export const pacedPiecesPerSecond = 5_000;
/** Pieces a second above which a beat takes longer, and providers are read at it. */
export const crowdedPiecesPerSecond = 20_000;
/** Milliseconds between two beats, and up to a tick of the clock's wheel more. */
export const paceMs = 20;
/** Milliseconds between two beats of one group of the turns. */
export const crowdedPaceMs = 40;
/** Milliseconds between two beats while the event loop has little to do. */
export const paceLeastMs = 5;
/** Share of the time up to which the event loop has little to do. */
export const paceRestShare = 0.5;
/** Share of the time from which nothing is worth more than less work. */
export const paceFullShare = 0.8;
const windowMs = 100;
/** Pieces between two readings of the clock: one reading costs more than the rest of the work on a piece. */
const piecesPerLook = 16;
/**
 * The number of groups of a crowd, whose beats are spread evenly: a request that arrives during a beat waits for the
 * turns of one group, and so do the turns that begin together because others ended at one beat. More groups would make
 * the interval between two beats shorter than the clock's tick.
 */
const groupCount = 16;
/** The number of turns by which a group may exceed its share. */
const slack = 2;

/** The load of the event loop. */
export interface LoopLoad {
  /** Returns the share of the time since the last call in which the event loop was busy: from 0 to 1. */
  share(): number;
}

const alwaysBusy: LoopLoad = { share: () => 1 };

/**
 * The longest wait for a beat at a load, in milliseconds: from `paceLeastMs` up to `paceRestShare` of the time to
 * `crowdedPaceMs` from `paceFullShare` on.
 */
function waitAt(share: number): number {
  const part = Math.min(1, Math.max(0, (share - paceRestShare) / (paceFullShare - paceRestShare)));
  return paceLeastMs + part * (crowdedPaceMs - paceLeastMs);
}

export class Pace {
  readonly #clock: Clock;
  /** The callbacks of each group at its next beat; while there is no crowd all beat together. */
  readonly #groups: (() => void)[][] = Array.from({ length: groupCount }, () => []);
  /** The group whose beat is next. */
  #due = 0;
  #waiting = 0;
  /** The time of the next beat, in milliseconds of the monotonic clock, and whether a timer is set for it. */
  #beatAt = 0;
  #timed = false;
  #turnEnd: Promise<void> | null = null;
  #pieces = 0;
  #countedFrom: number;
  #perSecond = 0;
  readonly #load: LoopLoad;
  /** The longest wait for a beat, in milliseconds. */
  #waitMs: number = crowdedPaceMs;

  constructor(clock: Clock, load: LoopLoad = alwaysBusy) {
    this.#clock = clock;
    this.#load = load;
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
    // Moves half of the way each time: a shorter wait makes the loop busier, which makes the wait longer.
    this.#waitMs = (this.#waitMs + waitAt(this.#load.share())) / 2;
  }

  /**
   * Keeps the beat running until the rate is low again: without a beat, a process that gets no more pieces would never
   * measure its rate anew.
   */
  #goOn(): void {
    if (this.busy && this.#waiting === 0) this.next(() => {});
  }

  get busy(): boolean {
    return this.#perSecond > pacedPiecesPerSecond;
  }

  get crowded(): boolean {
    return this.#perSecond > crowdedPiecesPerSecond;
  }

  /**
   * Calls back at the next beat. In a crowd it is the beat of a group: the group that waits longest for its beat,
   * unless it is larger than the others.
   */
  next(callback: () => void): void {
    this.#group().push(callback);
    this.#waiting++;
    if (!this.#timed) this.#wait();
  }

  #group(): (() => void)[] {
    const most = this.crowded ? this.#waiting / groupCount + slack : Infinity;
    let group!: (() => void)[];
    for (let before = 1; before <= groupCount; before++) {
      group = this.#groups[(this.#due + groupCount - before) % groupCount]!;
      if (group.length < most) break;
    }
    return group;
  }

  /** Beats follow each other at their interval, even after a late one. */
  #wait(): void {
    const intervalMs = this.crowded ? crowdedPaceMs / groupCount : Math.min(paceMs, this.#waitMs);
    const now = this.#clock.monotonic();
    this.#beatAt = this.#beatAt + intervalMs > now ? this.#beatAt + intervalMs : now + intervalMs;
    this.#timed = true;
    this.#clock.after(this.#beatAt - now, () => this.#beat());
  }

  /**
   * Resolves once everything ready in this iteration of the event loop has been read. All callers in the same iteration
   * share one promise.
   */
  turnEnd(): Promise<void> {
    return (this.#turnEnd ??= new Promise<void>(atTurnEnd).then(() => void (this.#turnEnd = null)));
  }

  #beat(): void {
    this.#look();
    this.#timed = false;
    const groups = this.crowded ? Math.round(crowdedPaceMs / this.#waitMs) : groupCount;
    for (let count = groups; count > 0; count--) this.#callNext();
    if (this.#waiting === 0) this.#goOn();
    else if (!this.#timed) this.#wait();
  }

  #callNext(): void {
    const callbacks = this.#groups[this.#due]!;
    this.#groups[this.#due] = [];
    this.#due = (this.#due + 1) % groupCount;
    this.#waiting -= callbacks.length;
    for (const callback of callbacks) callback();
  }
}
