import { EventEmitter } from 'node:events';
import type { Clock } from '../../../src/base/clock.ts';

/** A clock that stands still until `fire`; `set` is emitted for each timer that is set. */
export class StillClock extends EventEmitter implements Clock {
  #timers = new Set<() => void>();
  now = (): number => 0;
  monotonic = (): number => 0;
  after(delayMs: number, callback: () => void): { cancel(): void } {
    this.#timers.add(callback);
    this.emit('set', delayMs);
    return { cancel: () => this.#timers.delete(callback) };
  }
  /** Fires every timer that is set now. */
  fire(): void {
    const due = [...this.#timers];
    this.#timers.clear();
    for (const callback of due) callback();
  }
  stop = (): void => this.#timers.clear();
}
