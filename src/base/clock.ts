/** Time, passed in. Nothing else in the source reads a clock or starts a timer. */

export interface Timer {
  /** Cancels the timer; has no effect once it has fired. */
  cancel(): void;
}

export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start that never go back; for durations only. */
  monotonic(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now or up to one wheel tick later. */
  after(delayMs: number, callback: () => void): Timer;
  /** Cancels every timer, so that a process can end. */
  stop(): void;
}

/** The machine's own time, for durations beside a library that has its own clock. */
export const machineTime: Pick<Clock, 'monotonic'> = { monotonic: () => performance.now() };

/**
 * Returns a clock that begins at the wall clock's time and then follows the monotonic clock: setting the wall clock
 * does not move it.
 */
export function steadyTime(clock: Pick<Clock, 'now' | 'monotonic'>): () => number {
  const epochMs = clock.now() - clock.monotonic();
  return () => Math.round(epochMs + clock.monotonic());
}

/** Calls back once everything ready in this turn of the event loop has run. */
export const atTurnEnd = (callback: () => void): void => void setImmediate(callback);

/** Whole Unix seconds of a time in milliseconds. */
export const secondsOf = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const tickMs = 2.5;
const slotCount = 4096;

/**
 * One timer in its slot. A cancelled timer is removed at once, as nearly all are cancelled: otherwise it would stay in
 * memory for a turn of the wheel.
 */
class Entry implements Timer {
  readonly due: number;
  /** The order of setting: if two timers are due in the same tick, the one set first fires first. */
  readonly order: number;
  callback: () => void;
  readonly #left: () => void;
  #slot: Entry[] | null;
  #place: number;

  constructor(due: number, order: number, callback: () => void, slot: Entry[], left: () => void) {
    this.due = due;
    this.order = order;
    this.callback = callback;
    this.#left = left;
    this.#slot = slot;
    this.#place = slot.push(this) - 1;
  }

  cancel(): void {
    if (this.#slot === null) return;
    const last = this.#slot.pop()!;
    if (last !== this) {
      this.#slot[this.#place] = last;
      last.#place = this.#place;
    }
    this.#slot = null;
    this.callback = nothing;
    this.#left();
  }
}

const nothing = (): void => {};

/**
 * One hashed timing wheel for every deadline of the process. Adding and cancelling cost the same however many
 * timers there are, and an idle wheel sets no timer at all.
 */
export class WheelClock implements Clock {
  #slots: Entry[][] = Array.from({ length: slotCount }, () => []);
  #live = 0;
  #order = 0;
  readonly #left = (): void => void this.#live--;
  #handle: NodeJS.Timeout | null = null;
  #armedFor = Infinity;
  #lastTick = this.#tickNow();

  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  after(delayMs: number, callback: () => void): Timer {
    const due = Math.max(Math.ceil((performance.now() + delayMs) / tickMs), this.#lastTick + 1);
    this.#live++;
    if (due < this.#armedFor) this.#arm(due);
    return new Entry(due, this.#order++, callback, this.#slots[due % slotCount]!, this.#left);
  }

  stop(): void {
    clearTimeout(this.#handle ?? undefined);
    this.#handle = null;
    this.#armedFor = Infinity;
    for (const slot of this.#slots) while (slot.length > 0) slot.at(-1)!.cancel();
  }

  #tickNow(): number {
    return Math.floor(performance.now() / tickMs);
  }

  #arm(tick: number): void {
    clearTimeout(this.#handle ?? undefined);
    this.#armedFor = tick;
    this.#handle = setTimeout(() => this.#advance(), Math.max(0, tick * tickMs - performance.now()) + 1);
  }

  #advance(): void {
    const reached = this.#tickNow();
    const due: Entry[] = [];
    const first = this.#lastTick + 1;
    const steps = Math.min(reached - this.#lastTick, slotCount);
    for (let step = 0; step < steps; step++) {
      const index = (first + step) % slotCount;
      for (const entry of this.#slots[index]!) if (entry.due <= reached) due.push(entry);
    }
    this.#lastTick = Math.max(reached, this.#lastTick);
    this.#handle = null;
    this.#armedFor = Infinity;
    due.sort((a, b) => a.due - b.due || a.order - b.order);
    for (const entry of due) {
      // An earlier callback may have cancelled this timer.
      const { callback } = entry;
      entry.cancel();
      callback();
    }
    if (this.#live > 0) this.#armNext();
  }

  /** Arms for the next occupied slot within one turn of the wheel, or for a full turn if all timers are further out. */
  #armNext(): void {
    let tick = this.#lastTick + 1;
    const end = this.#lastTick + slotCount;
    while (tick < end && this.#slots[tick % slotCount]!.length === 0) tick++;
    if (tick < this.#armedFor) this.#arm(tick);
  }
}
