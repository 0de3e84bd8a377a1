/** The one source of chance of a run: everything that could have gone otherwise is drawn from its seed. */
import type { Clock } from '../../src/base/clock.ts';
import type { Ids } from '../../src/base/ids.ts';

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** From 0 up to but not 1: mulberry32, whose 32 bits of state are more than a run draws. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!;
  }

  /** Mostly short, now and then long: how networks and disks take their time. */
  delay(typicalMs: number, longestMs: number): number {
    return Math.floor(Math.min(longestMs, -Math.log(1 - this.next()) * typicalMs));
  }
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Ids as `randomIds` makes them, drawn from the seed. */
export function seededIds(random: Random, clock: Pick<Clock, 'now'>): Ids {
  const letters = (length: number): string => Array.from({ length }, () => random.pick([...alphabet])).join('');
  let last = 0;
  return {
    make(prefix) {
      last = Math.max(clock.now() * 32, last + 1);
      return `${prefix}_${last.toString(32).padStart(10, '0')}${letters(16)}`;
    },
    secret: () => letters(32),
    bytes: (length) => Uint8Array.from({ length }, () => random.between(0, 255)),
  };
}
