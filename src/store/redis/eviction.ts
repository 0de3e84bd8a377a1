/** A Redis that evicts takes keys away when its memory is full: whole conversations, or parts of them, and nobody is told. */
import { StoreUnavailable } from '../store.ts';
import type { RedisLink } from './link.ts';
import { evictionPolicyOf, evicts } from './setting.ts';

export class Eviction {
  readonly #link: RedisLink;
  /** The policy of a primary that evicts, as far as is known; null if none does. */
  #policy: string | null = null;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  /** Asks each primary anew: the policy may be set while Redis runs, and a replica that takes over has its own. Rejects if one evicts. */
  async refuse(): Promise<void> {
    const policies = await Promise.all(this.#link.primaries().map((ask) => evictionPolicyOf(ask).catch(() => null)));
    const evicting = policies.find((policy) => policy !== null && evicts(policy));
    // If a primary does not answer, its last known policy stands.
    if (evicting !== undefined || !policies.includes(null)) this.#policy = evicting ?? null;
    if (this.#policy !== null) throw new StoreUnavailable(`Redis evicts keys (maxmemory-policy ${this.#policy}) and would lose acknowledged writes: set maxmemory-policy noeviction.`);
  }
}
