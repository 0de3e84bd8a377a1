/**
 * A bucket for each network address, with the budgets' arithmetic (contract 5). The buckets are in this process's memory: one
 * store request for each refusal would be the very load that the throttle must prevent.
 */
import ipaddr from 'ipaddr.js';
import { full, retryAfterSeconds, take, type Bucket } from '../machines/budget.ts';
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';

export class AddressThrottle {
  readonly #clock: Clock;
  readonly #ceiling: number;
  /** By network, the latest at the end. */
  readonly #buckets = new Map<string, Bucket>();

  /** `ceiling`: how many requests a minute pass from one address. */
  constructor(clock: Clock, ceiling: number) {
    this.#clock = clock;
    this.#ceiling = ceiling;
  }

  /** Takes one from the address's bucket: returns null if it held one, otherwise the whole seconds until it will. */
  take(address: string): number | null {
    const network = networkOf(address);
    const at = Math.floor(this.#clock.monotonic());
    const { passed, bucket } = take(this.#buckets.get(network) ?? full(this.#ceiling, at), this.#ceiling, at);
    this.#buckets.delete(network);
    this.#buckets.set(network, bucket);
    if (this.#buckets.size > limits.throttledAddressesMax) {
      const [oldest] = this.#buckets.keys();
      this.#buckets.delete(oldest!);
    }
    return passed ? null : retryAfterSeconds(bucket, this.#ceiling);
  }
}

/** The network of one client: an IPv4 address, or 56 bits of an IPv6 address (contract 4). */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 7).join(':');
}
