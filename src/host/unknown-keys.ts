/** Keys that the store does not have. They are remembered for `unknownKeyMs`, so that a wrong key that is sent again and again costs no read each time. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

export class UnknownKeys {
  readonly #clock: Clock;
  /** When the store was queried for the id, in monotonic milliseconds; the latest query last. */
  readonly #askedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(id: string): boolean {
    const askedAt = this.#askedAt.get(id);
    return askedAt !== undefined && this.#clock.monotonic() < askedAt + limits.unknownKeyMs;
  }

  /** `askedAt` is the monotonic time before the query, so that a key stored since is not missed for longer than `unknownKeyMs`. */
  add(id: string, askedAt: number): void {
    this.#askedAt.delete(id);
    this.#askedAt.set(id, askedAt);
    if (this.#askedAt.size <= limits.unknownKeysMax) return;
    const [oldest] = this.#askedAt.keys();
    this.#askedAt.delete(oldest!);
  }

  /** Forgets the id, because the store may have the key now. */
  forget(id: string): void {
    this.#askedAt.delete(id);
  }

  forgetAll(): void {
    this.#askedAt.clear();
  }
}
