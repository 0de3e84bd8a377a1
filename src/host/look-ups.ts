/**
 * Look-ups in the store by names that clients send: a key's public id, a slug. Concurrent look-ups of one name share
 * one read, and a name that the store does not have is not looked up again for `unknownMs`, so that a client that
 * repeats it does not cause a read each time.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';

/** Absent keys that are remembered, and absent slugs. */
export const unknownMax = 10_000;

export class LookUps<R> {
  readonly #clock: Clock;
  /** The time before a read that did not find the name, in monotonic milliseconds; the latest at the end. */
  readonly #unknown = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<R | null>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the record that `read` finds, or null: the store does not have the name, or did not have it less than
   * `unknownMs` ago.
   */
  find(name: string, read: () => Promise<R | null>): Promise<R | null> | null {
    const now = this.#clock.monotonic();
    const askedAt = this.#unknown.get(name);
    if (askedAt !== undefined && now < askedAt + limits.unknownMs) return null;
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    const lookUp: Promise<R | null> = read().then(
      (record) => {
        // A name that was forgotten meanwhile may have been stored since the read.
        if (this.#over(name, lookUp) && record === null) this.#miss(name, now);
        return record;
      },
      (error) => {
        this.#over(name, lookUp);
        throw error;
      },
    );
    this.#underWay.set(name, lookUp);
    return lookUp;
  }

  /** Forgets the name, because the store may have it now. */
  forget(name: string): void {
    this.#unknown.delete(name);
    this.#underWay.delete(name);
  }

  forgetAll(): void {
    this.#unknown.clear();
    this.#underWay.clear();
  }

  #over(name: string, lookUp: Promise<R | null>): boolean {
    return this.#underWay.get(name) === lookUp && this.#underWay.delete(name);
  }

  #miss(name: string, askedAt: number): void {
    this.#unknown.delete(name);
    this.#unknown.set(name, askedAt);
    evictOldest(this.#unknown, unknownMax);
  }
}
