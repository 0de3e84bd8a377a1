/**
 * A bucket for each network address, with the budgets' arithmetic (contract 5). The buckets are in this process's
 * memory: one store request for each refusal would be the very load that the throttle must prevent.
 */
import ipaddr from 'ipaddr.js';
import {
  full,
  refilled,
  retryAfterSeconds,
  take,
  unitsPerRequest,
  type Bucket,
  type Terms,
} from '../../machines/budget.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';

/** Addresses that the throttle remembers. */
export const throttledAddressesMax = 10_000;

export class AddressThrottle {
  readonly #clock: Clock;
  readonly #ceiling: number;
  readonly #terms: Terms;
  /** Entries by network, the latest at the end. */
  readonly #buckets = new Map<string, Bucket>();

  /** `ceiling`: how many requests a minute pass from one address; `debt`: whether a refusal costs one as well. */
  constructor(clock: Clock, ceiling: number, { debt = true }: { readonly debt?: boolean } = {}) {
    this.#clock = clock;
    this.#ceiling = ceiling;
    this.#terms = { periodMs: unitsPerRequest, cost: 1, debt };
  }

  /** Takes one from the address's bucket: returns null if it held one, otherwise the whole seconds until it will. */
  take(address: string): number | null {
    const network = networkOf(address);
    const at = Math.floor(this.#clock.monotonic());
    const { passed, bucket } = take(
      this.#buckets.get(network) ?? full(this.#ceiling, at),
      this.#ceiling,
      at,
      this.#terms,
    );
    this.#keep(network, bucket);
    return passed ? null : retryAfterSeconds(bucket, this.#ceiling);
  }

  /** Puts back one that was taken. */
  giveBack(address: string): void {
    const network = networkOf(address);
    const bucket = this.#buckets.get(network);
    if (bucket === undefined) return;
    const at = Math.floor(this.#clock.monotonic());
    this.#keep(network, refilled({ ...bucket, level: bucket.level + unitsPerRequest }, this.#ceiling, at));
  }

  #keep(network: string, bucket: Bucket): void {
    this.#buckets.delete(network);
    this.#buckets.set(network, bucket);
    evictOldest(this.#buckets, throttledAddressesMax);
  }
}

/**
 * Failed sign-ins: a bucket for each address, and one for all (contract 9). Only a token that is not valid takes from
 * them, so that nobody's failures refuse a valid one.
 */
export class SignInThrottle {
  readonly #each: AddressThrottle;
  readonly #all: AddressThrottle;

  constructor(clock: Clock) {
    this.#each = new AddressThrottle(clock, limits.failedSignInsPerMinute, { debt: false });
    this.#all = new AddressThrottle(clock, limits.failedSignInsPerMinuteOfAll, { debt: false });
  }

  /** Counts a failure from this address: returns null, or the whole seconds until the next one is within the limits. */
  take(address: string): number | null {
    const seconds = this.#each.take(address);
    if (seconds !== null) return seconds;
    const ofAll = this.#all.take(everybody);
    if (ofAll !== null) this.#each.giveBack(address);
    return ofAll;
  }

  /**
   * Counts an attempt whose check costs something before it is checked: returns null, or the whole seconds until the
   * next one is within the limit of the address.
   */
  reserve(address: string): number | null {
    return this.#each.take(address);
  }

  /** Forgets a reserved attempt that did not fail. */
  release(address: string): void {
    this.#each.giveBack(address);
  }
}

/** The key in place of an address. */
const everybody = 'everybody';

/** The network of one client: an IPv4 address, or 56 bits of an IPv6 address (contract 4). */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 7).join(':');
}
