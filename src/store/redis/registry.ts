/**
 * Lists of the workspaces that must be visited. A workspace is registered before a row is written to it that a visit
 * must find: a process that dies in between leaves an entry without holdings, which a later visit removes.
 */
import type { Clock } from '../../base/clock.ts';
import { evictOldest } from '../../base/evict-oldest.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { textOfReply } from './reply.ts';

/** Workspaces that a process remembers to have entered for the sweep. */
const redisRegistryMax = 10_000;

/** Workspaces that one question names. */
const askedAtOnce = 1_000;

/**
 * Time for which a process relies on an entry, and age at which an entry is removed: longer, so that no process still
 * relies on it.
 */
const countsOnMs = 60_000;
const staleMs = 2 * countsOnMs;

/**
 * `active`: workspaces with sessions, leases or memories, for the sweep. `turning`: workspaces that began turns lately,
 * for their leases. `erasing`: workspaces with erasures. `calling`: workspaces with webhooks. `attended`: workspaces with
 * sessions at the desk.
 */
type List = 'active' | 'turning' | 'erasing' | 'calling' | 'attended';

export interface Registered {
  readonly workspaceId: string;
  /** No process relies on the entry any more. */
  readonly stale: boolean;
}

export class Registry {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #list: List;
  /** End of this process's reliance on each entry, in monotonic milliseconds; the oldest first. */
  readonly #entered = new Map<string, number>();

  constructor(link: RedisLink, roots: Roots, clock: Clock, list: List) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#list = list;
  }

  /** Whether this process may rely on the entry. */
  has(workspaceId: string): boolean {
    return (this.#entered.get(workspaceId) ?? 0) > this.#clock.monotonic();
  }

  async register(workspaceId: string): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.has(workspaceId)) return;
    await this.#link.runDurable('register', this.#roots.registry, { list: this.#list, workspace: workspaceId });
    this.#entered.delete(workspaceId);
    this.#entered.set(workspaceId, now + countsOnMs);
    evictOldest(this.#entered, redisRegistryMax);
  }

  /** Removes the entry if it is still stale. */
  async unregister(workspaceId: string): Promise<void> {
    await this.#link.run('unregister', this.#roots.registry, {
      list: this.#list,
      workspace: workspaceId,
      stale: staleMs,
    });
  }

  /** The workspaces among some that are on the list. */
  async among(workspaceIds: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (let first = 0; first < workspaceIds.length; first += askedAtOnce) {
      const workspaces = workspaceIds.slice(first, first + askedAtOnce);
      const answer = await this.#link.run('find-registered', this.#roots.registry, { list: this.#list, workspaces });
      found.push(...answer.map(textOfReply));
    }
    return found;
  }

  async all(): Promise<Registered[]> {
    const [fresh, stale] = await this.#link.run('list-registered', this.#roots.registry, {
      list: this.#list,
      stale: staleMs,
    });
    return [
      ...fresh.map((each) => ({ workspaceId: textOfReply(each), stale: false })),
      ...stale.map((each) => ({ workspaceId: textOfReply(each), stale: true })),
    ];
  }
}
