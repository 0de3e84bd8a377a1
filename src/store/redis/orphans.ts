/**
 * Turns whose lease has run out, by any process and as many as like. A lease lasts `leaseMs` from when it was given: where
 * none was found none can lapse sooner than that, and where some were found none before the first of them. So a workspace
 * is looked at once in each such time, and one that begins no turns not at all.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import type { TurnPlace } from '../../store.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import type { Registered, Registry } from './registry.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

const askedAtOnce = 64;

/** A workspace on the list, with the monotonic time from which a lease in it may have run out. */
interface Watched extends Registered {
  readonly dueAt: number;
}

export class RedisOrphans {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #turning: Registry;
  readonly #watched = new Map<string, Watched>();
  #listDueAt = -Infinity;

  constructor(link: Link, roots: Roots, clock: Clock, turning: Registry) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#turning = turning;
  }

  /** This process has given a lease that lasts so long. */
  leased(workspaceId: string, leaseMs: number): void {
    if (leaseMs >= limits.leaseMs) return;
    const dueAt = Math.min(this.#watched.get(workspaceId)?.dueAt ?? Infinity, this.#clock.monotonic() + leaseMs);
    this.#watched.set(workspaceId, { workspaceId, stale: false, dueAt });
  }

  /** Asks workspace after workspace, many at once and each on its own shard. Where a shard is away the others are asked all the same. */
  async find(limit: number): Promise<TurnPlace[]> {
    const now = this.#clock.monotonic();
    if (now >= this.#listDueAt) await this.#list(now);
    const due = [...this.#watched.values()].filter(({ dueAt }) => dueAt <= now);
    const found: TurnPlace[] = [];
    let failure: unknown = null;
    for (let at = 0; at < due.length && found.length < limit; at += askedAtOnce) {
      for (const answer of await Promise.allSettled(due.slice(at, at + askedAtOnce).map((each) => this.#look(each, limit)))) {
        if (answer.status === 'fulfilled') found.push(...answer.value);
        else failure = answer.reason;
      }
    }
    if (failure !== null && found.length === 0) throw failure;
    return found.slice(0, limit);
  }

  async #list(now: number): Promise<void> {
    const listed = await this.#turning.all();
    const before = new Map(this.#watched);
    this.#watched.clear();
    for (const each of listed) this.#watched.set(each.workspaceId, { ...each, dueAt: before.get(each.workspaceId)?.dueAt ?? now });
    this.#listDueAt = now + limits.leaseMs;
  }

  async #look({ workspaceId, stale }: Watched, limit: number): Promise<TurnPlace[]> {
    const askedAt = this.#clock.monotonic();
    const [untilMs, lapsed] = (await this.#link.run('orphans', this.#roots.workspace(workspaceId), limit)) as [number, Reply[]];
    if (stale && untilMs === -1) await this.#turning.unregister(workspaceId);
    const restMs = untilMs === -1 ? limits.leaseMs : Math.min(untilMs, limits.leaseMs);
    this.#watched.set(workspaceId, { workspaceId, stale, dueAt: askedAt + restMs });
    return lapsed.map((member) => {
      const [sessionId, turnId] = textOf(member).split('/') as [string, string];
      return { workspaceId, sessionId, turnId };
    });
  }
}
