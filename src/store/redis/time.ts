/** Reads Redis's clock when the store opens and regularly after that, so that all processes use the same dates. */
import type { Clock, Timer } from '../../base/clock.ts';
import type { StoreClock } from '../clock.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';

/** Milliseconds between two readings of Redis's clock. */
export const redisTimeMs = 4_000;

/** The first reading may have to connect and to load the script; at least one of these is quick. */
const looksAtOpening = 3;

/** The script gives whole milliseconds, rounded down. */
const roundedMs = 0.5;

export class RedisTime {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #storeClock: StoreClock;
  #next: Timer | null = null;
  #closed = false;

  constructor(link: RedisLink, roots: Roots, clock: Clock, storeClock: StoreClock) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#storeClock = storeClock;
  }

  /** Rejects if Redis cannot be read. */
  async open(): Promise<void> {
    for (let looks = 0; looks < looksAtOpening; looks++) await this.#look();
    this.#lookAgain();
  }

  close(): void {
    this.#closed = true;
    this.#next?.cancel();
  }

  #lookAgain(): void {
    if (this.#closed) return;
    // The last estimate is used while Redis is away.
    this.#next = this.#clock.after(
      redisTimeMs,
      () =>
        void this.#look()
          .catch(() => {})
          .then(() => this.#lookAgain()),
    );
  }

  async #look(): Promise<void> {
    const askedAt = this.#clock.monotonic();
    const time = await this.#link.run('read-time', this.#roots.registry, {});
    this.#storeClock.noteTime(time + roundedMs, askedAt, this.#clock.monotonic());
  }
}
