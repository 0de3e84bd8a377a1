/**
 * Lists of the workspaces that must be looked at. A workspace is entered before anything is written to it that must be
 * found: a process that dies in between leaves an entry without holdings, which a later look takes out again.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

/** How long a process counts on an entry, and how old an entry must be to be taken out: longer, so that nobody still counts on it. */
const countsOnMs = 60_000;
const staleMs = 2 * countsOnMs;

/** `active`: with sessions, leases or memories, for the sweep. `turning`: with turns begun of late, for their leases. */
type List = 'active' | 'turning';

export interface Registered {
  readonly workspaceId: string;
  /** Nobody counts on the entry any more. */
  readonly stale: boolean;
}

export class Registry {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #list: List;
  /** Until when each entry is counted on, by the monotonic clock; the oldest first. */
  readonly #entered = new Map<string, number>();

  constructor(link: Link, roots: Roots, clock: Clock, list: List) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#list = list;
  }

  async register(workspaceId: string): Promise<void> {
    const now = this.#clock.monotonic();
    if ((this.#entered.get(workspaceId) ?? 0) > now) return;
    await this.#link.run('register', this.#roots.registry, this.#list, workspaceId);
    this.#entered.delete(workspaceId);
    this.#entered.set(workspaceId, now + countsOnMs);
    if (this.#entered.size > limits.redisRegistryMax) this.#entered.delete(this.#entered.keys().next().value!);
  }

  /** Takes out an entry that is stale still. */
  async unregister(workspaceId: string): Promise<void> {
    await this.#link.run('unregister', this.#roots.registry, this.#list, workspaceId, staleMs);
  }

  async all(): Promise<Registered[]> {
    const [fresh, stale] = (await this.#link.run('registered', this.#roots.registry, this.#list, staleMs)) as [Reply[], Reply[]];
    return [
      ...fresh.map((each) => ({ workspaceId: textOf(each), stale: false })),
      ...stale.map((each) => ({ workspaceId: textOf(each), stale: true })),
    ];
  }
}
