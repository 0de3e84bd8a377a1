/**
 * One queue of all that is going to happen. Time jumps from one event to the next, and what is due at the same
 * millisecond takes turns by lot. After each event the promises that it woke run until none is left, so nothing but
 * the queue ever decides what comes first.
 */
import type { Timer } from '../../src/base/clock.ts';
import type { Random } from './random.ts';

interface Due {
  readonly at: number;
  readonly lot: number;
  callback: (() => void) | null;
}

/**
 * Resolves when no promise has anything left to do and a turn of the event loop has passed, since some work waits for
 * the end of one.
 */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const earlier = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.lot < b.lot);

export class Scheduler {
  readonly random: Random;
  readonly #heap: Due[] = [];
  #now = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** Milliseconds since the run began. */
  get now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): Timer {
    const due: Due = { at: this.#now + Math.max(0, Math.ceil(delayMs)), lot: this.random.next(), callback };
    this.#push(due);
    return { cancel: () => void (due.callback = null) };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.after(delayMs, resolve));
  }

  /** Lets things happen until `done`, at most up to `deadlineMs`: whether it came to be. */
  async run(done: () => boolean, deadlineMs: number): Promise<boolean> {
    await settled();
    while (!done()) {
      const next = this.#pop();
      if (next === undefined || next.at > deadlineMs) return false;
      this.#now = next.at;
      next.callback?.();
      await settled();
    }
    return true;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!earlier(due, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child + 1 < heap.length && earlier(heap[child + 1]!, heap[child]!)) child++;
      if (child >= heap.length || !earlier(heap[child]!, last!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last!;
    return first;
  }
}
