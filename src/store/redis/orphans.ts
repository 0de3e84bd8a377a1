/**
 * Turns whose lease has run out, found by any number of processes. A lease lasts at most `leaseMs`. So where no lease
 * was found, none can run out for `leaseMs`, and where some were found, none before the first of them. Therefore each
 * workspace is queried once in such a time, and a workspace that begins no turns is not queried.
 */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { TurnPlace } from '../store.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Registered, Registry } from './registry.ts';
import { textOfReply } from './reply.ts';
import type { RedisReply } from './reply.ts';

const askedAtOnce = 64;

/** A workspace on the list, with the monotonic time from which one of its leases may have run out. */
interface Watched extends Registered {
  readonly dueAt: number;
  /**
   * Whether this process has queried it before, so that `dueAt` covers all of its leases, not only those given since.
   */
  readonly looked: boolean;
}

export class RedisOrphans {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #turning: Registry;
  readonly #watched = new Map<string, Watched>();
  #listDueAt = -Infinity;

  constructor(link: RedisLink, roots: Roots, clock: Clock, turning: Registry) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#turning = turning;
  }

  /** Notes that a lease of `leaseMs` was given in the workspace. */
  noteLease(workspaceId: string, leaseMs: number): void {
    if (leaseMs >= limits.leaseMs) return;
    const { dueAt, looked } = this.#watched.get(workspaceId) ?? { dueAt: Infinity, looked: false };
    this.#watched.set(workspaceId, {
      workspaceId,
      stale: false,
      dueAt: Math.min(dueAt, this.#clock.monotonic() + leaseMs),
      looked,
    });
  }

  /**
   * Queries the workspaces that are due, many at once, each on its own shard. If a shard is away, the others are
   * queried all the same.
   */
  async find(limit: number): Promise<TurnPlace[]> {
    const now = this.#clock.monotonic();
    if (now >= this.#listDueAt) await this.#list(now);
    const due = [...this.#watched.values()].filter(({ dueAt }) => dueAt <= now);
    const orphans: TurnPlace[] = [];
    let failure: unknown = null;
    for (let at = 0; at < due.length && orphans.length < limit; at += askedAtOnce) {
      for (const answer of await Promise.allSettled(
        due.slice(at, at + askedAtOnce).map((each) => this.#look(each, limit)),
      )) {
        if (answer.status === 'fulfilled') orphans.push(...answer.value);
        else failure = answer.reason;
      }
    }
    if (failure !== null && orphans.length === 0) throw failure;
    return orphans.slice(0, limit);
  }

  async #list(now: number): Promise<void> {
    const listed = await this.#turning.all();
    const before = new Map(this.#watched);
    this.#watched.clear();
    for (const each of listed) {
      const watch = before.get(each.workspaceId);
      this.#watched.set(each.workspaceId, {
        ...each,
        ...(watch?.looked ? { dueAt: watch.dueAt, looked: true } : { dueAt: now, looked: false }),
      });
    }
    this.#listDueAt = now + limits.leaseMs;
  }

  async #look({ workspaceId, stale }: Watched, limit: number): Promise<TurnPlace[]> {
    const askedAt = this.#clock.monotonic();
    const [untilMs, lapsed] = (await this.#link.run('find-orphans', this.#roots.workspace(workspaceId), { limit })) as [
      number,
      RedisReply[],
    ];
    if (stale && untilMs === -1) await this.#turning.unregister(workspaceId);
    const restMs = untilMs === -1 ? limits.leaseMs : Math.min(untilMs, limits.leaseMs);
    this.#watched.set(workspaceId, { workspaceId, stale, dueAt: askedAt + restMs, looked: true });
    return lapsed.map((member) => {
      const [sessionId, turnId] = textOfReply(member).split('/') as [string, string];
      return { workspaceId, sessionId, turnId };
    });
  }
}
