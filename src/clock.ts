/** Time, passed in. Nothing else in the source reads a clock or starts a timer. */

export interface Timer {
  /** Forgets the timer; harmless once it has fired. */
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

/** Whole Unix seconds of a time in milliseconds. */
export const secondsOf = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const tickMs = 20;
const slotCount = 1024;

interface Entry extends Timer {
  due: number;
  callback: (() => void) | null;
}

/**
 * One hashed timing wheel for every deadline of the process. Adding and cancelling cost the same however many
 * timers there are, and an idle wheel sets no timer at all.
 */
export class WheelClock implements Clock {
  #slots: Entry[][] = Array.from({ length: slotCount }, () => []);
  #live = 0;
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
    const entry: Entry = {
      due,
      callback,
      cancel: () => {
        if (entry.callback === null) return;
        entry.callback = null;
        this.#live--;
      },
    };
    this.#slots[due % slotCount]!.push(entry);
    this.#live++;
    if (due < this.#armedFor) this.#arm(due);
    return entry;
  }

  stop(): void {
    clearTimeout(this.#handle ?? undefined);
    this.#handle = null;
    this.#armedFor = Infinity;
    this.#live = 0;
    for (const slot of this.#slots) {
      for (const entry of slot) entry.callback = null;
      slot.length = 0;
    }
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
      const slot = this.#slots[index]!;
      if (slot.length === 0) continue;
      const later: Entry[] = [];
      for (const entry of slot) {
        if (entry.callback === null) continue;
        (entry.due <= reached ? due : later).push(entry);
      }
      this.#slots[index] = later;
    }
    this.#lastTick = Math.max(reached, this.#lastTick);
    this.#handle = null;
    this.#armedFor = Infinity;
    due.sort((a, b) => a.due - b.due);
    for (const entry of due) {
      const callback = entry.callback;
      entry.cancel();
      callback?.();
    }
    if (this.#live > 0) this.#armNext();
  }

  /** The next occupied slot within one turn of the wheel, or a full turn when all that is left lies further out. */
  #armNext(): void {
    let tick = this.#lastTick + 1;
    const end = this.#lastTick + slotCount;
    while (tick < end && this.#slots[tick % slotCount]!.length === 0) tick++;
    if (tick < this.#armedFor) this.#arm(tick);
  }
}
