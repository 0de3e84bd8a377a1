/**
 * The workspaces that a sweep must visit. A workspace is entered before anything is written to it that a sweep must
 * find: a process that dies in between leaves an entry without holdings, which the next sweep takes out again.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

/** How long a process counts on an entry, and how old an entry must be to be taken out: far longer, so that nobody still counts on it. */
const countsOnMs = 60_000;
const staleMs = 10 * countsOnMs;

export class Registry {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #clock: Clock;
  /** Until when each entry is counted on, by the monotonic clock; the oldest first. */
  readonly #entered = new Map<string, number>();

  constructor(link: Link, roots: Roots, clock: Clock) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
  }

  async register(workspaceId: string): Promise<void> {
    const now = this.#clock.monotonic();
    if ((this.#entered.get(workspaceId) ?? 0) > now) return;
    await this.#link.run('register', this.#roots.registry, workspaceId);
    this.#entered.delete(workspaceId);
    this.#entered.set(workspaceId, now + countsOnMs);
    if (this.#entered.size > limits.redisRegistryMax) this.#entered.delete(this.#entered.keys().next().value!);
  }

  async unregister(workspaceId: string): Promise<void> {
    await this.#link.run('unregister', this.#roots.registry, workspaceId, staleMs);
  }

  async all(): Promise<string[]> {
    const found = (await this.#link.send(this.#roots.registry, 'ZRANGE', `${this.#roots.registry}:active`, 0, -1)) as Reply[];
    return found.map(textOf);
  }
}
