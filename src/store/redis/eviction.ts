/** A Redis that evicts removes keys when its memory is full: whole conversations, or parts of them, without notice. */
import type { Clock } from '../../base/clock.ts';
import { StoreUnavailable } from '../store.ts';
import type { RedisLink } from './link.ts';
import { evictionPolicyOf, evicts } from './server-config.ts';

/** Milliseconds for which a check waits for the policy: less than a probe waits. */
export const redisPolicyMs = 100;

export class Eviction {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  /** The policy of a primary that evicts, as far as is known; null if none does. */
  #policy: string | null = null;
  /** The look that is under way. */
  #asked: Promise<void> | null = null;
  #isKnown = false;

  constructor(link: RedisLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  /**
   * Asks each primary anew: the policy may be set while Redis runs, and a replica that takes over has its own. Rejects
   * if one evicts. After the first time it does not wait for a primary that is slow: what it answers counts the next
   * time.
   */
  async refuse(): Promise<void> {
    this.#asked ??= this.#ask().finally(() => (this.#asked = null));
    await (this.#isKnown ? this.#soon(this.#asked) : this.#asked);
    if (this.#policy !== null)
      throw new StoreUnavailable(
        `Redis evicts keys (maxmemory-policy ${this.#policy}) and would lose acknowledged writes: set maxmemory-policy noeviction.`,
      );
  }

  #soon(asked: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const deadline = this.#clock.after(redisPolicyMs, resolve);
      void asked.then(() => {
        deadline.cancel();
        resolve();
      });
    });
  }

  async #ask(): Promise<void> {
    const policies = await Promise.all(this.#link.primaries().map((ask) => evictionPolicyOf(ask).catch(() => null)));
    const evicting = policies.find((policy) => policy !== null && evicts(policy));
    // If a primary does not answer, its last known policy stands.
    if (evicting !== undefined || !policies.includes(null)) this.#policy = evicting ?? null;
    this.#isKnown = true;
  }
}
