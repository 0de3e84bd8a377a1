/**
 * The pace of one socket's messages: a burst at once, then a rate a second. The budgets of keys, which are shared and
 * stored, have `machines/budget.ts`.
 */
import type { Clock } from './clock.ts';

export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #capacity: number;
  readonly #perSecond: number;
  #level: number;
  #at: number;

  constructor(clock: Pick<Clock, 'monotonic'>, capacity: number, perSecond: number) {
    this.#clock = clock;
    this.#capacity = this.#level = capacity;
    this.#perSecond = perSecond;
    this.#at = clock.monotonic();
  }

  /** Takes the amount; false if the bucket does not have it. */
  take(amount: number): boolean {
    const now = this.#clock.monotonic();
    this.#level = Math.min(this.#capacity, this.#level + ((now - this.#at) * this.#perSecond) / 1000) - amount;
    this.#at = now;
    return this.#level >= 0;
  }
}
