/** Retention (contract 6), by any number of processes: each session is removed in one step that checks it again. */
import { limits } from '../../base/limits.ts';
import { correctionMsMax } from '../time-course.ts';
import type { RedisCatalog } from './catalog.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Registered, Registry } from './registry.ts';
import { textOfReply } from './reply.ts';

const daySeconds = 86_400;

/** Milliseconds that the clocks of shards may be apart. */
const skewMsMax = 60_000;

/** After this many workspaces in a row whose shard does not answer, Redis as a whole is taken to be away. */
const unansweredMax = 8;

export class RedisSweep {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #catalog: RedisCatalog;

  constructor(link: RedisLink, roots: Roots, registry: Registry, catalog: RedisCatalog) {
    this.#link = link;
    this.#roots = roots;
    this.#registry = registry;
    this.#catalog = catalog;
  }

  /** Resolves with whether Redis's time may be trusted for removals. */
  async noteTime(): Promise<boolean> {
    const fields = { correction: correctionMsMax, gap: limits.timeGapMsMax, trust: limits.timeTrustMs };
    return (await this.#link.run('note-time', this.#roots.registry, fields)) === 1;
  }

  /** Continues interrupted removals of workspaces. */
  async resumeRemovals(): Promise<void> {
    await this.#catalog.resumeRemovals();
  }

  /**
   * Deletes at most `limit` sessions, and expired memories; resolves with the number of sessions. If a shard is away,
   * the others are swept all the same. A shard's clock is trusted only up to the caller's clock.
   */
  async sessions(nowMs: number, limit: number): Promise<number> {
    const latest = nowMs + skewMsMax;
    let deleted = 0;
    let failure: unknown = null;
    let unanswered = 0;
    for (const { workspaceId, stale } of await this.#registry.all()) {
      try {
        while (
          (await this.#link.run('sweep-memories', this.#roots.workspace(workspaceId), {
            limit: limits.removalRowsMax,
            latest,
          })) === limits.removalRowsMax
        );
        deleted += await this.#workspace({ workspaceId, stale }, latest, limit - deleted);
        unanswered = 0;
      } catch (error) {
        failure = error;
        if (++unanswered === unansweredMax) break;
      }
    }
    if (failure !== null && deleted === 0) throw failure;
    return deleted;
  }

  async #workspace({ workspaceId, stale }: Registered, latest: number, limit: number): Promise<number> {
    const root = this.#roots.workspace(workspaceId);
    const retention = await this.#retentionSeconds(workspaceId);
    let deleted = 0;
    for (let remaining = 0; ;) {
      const count = Math.min(limits.scanRowsMax, limit - deleted);
      const [holds, aged] = await this.#link.run('find-aged-sessions', root, {
        retention,
        latest,
        offset: remaining,
        count,
      });
      if (stale && holds === 0) await this.#registry.unregister(workspaceId);
      if (aged.length === 0) return deleted;
      const gone = await Promise.all(
        aged.map((session) =>
          this.#link.run('sweep-session', root, { session: textOfReply(session), retention, latest }),
        ),
      );
      const went = gone.filter((each) => each === 1).length;
      deleted += went;
      remaining += aged.length - went;
    }
  }

  /**
   * A workspace has no record if it was removed while a session was being created: its sessions get the default
   * retention.
   */
  async #retentionSeconds(workspaceId: string): Promise<number> {
    const stored = await this.#catalog.read('workspace', workspaceId, workspaceId);
    return (stored?.record.retentionDays ?? limits.retentionDaysDefault) * daySeconds;
  }
}
