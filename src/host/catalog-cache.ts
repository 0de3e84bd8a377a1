/**
 * A cache of records of one kind that have no actor. A turn uses a record that is at most `catalogFreshMs` old, so that
 * it need not read the store.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import type { Catalog, CatalogRecords } from '../store/store.ts';

interface CachedRead<R> {
  /** Milliseconds of the monotonic clock before the read. */
  readonly startedAt: number;
  readonly record: Promise<R | null>;
}

export class CatalogCache<K extends keyof CatalogRecords> {
  readonly #kind: K;
  readonly #catalog: Pick<Catalog, 'read'>;
  readonly #clock: Clock;
  readonly #recordsMax: number;
  /** The reads of the last `catalogFreshMs`, by workspace and id, oldest first. */
  readonly #reads = new Map<string, CachedRead<CatalogRecords[K]>>();

  constructor(kind: K, catalog: Pick<Catalog, 'read'>, clock: Clock, recordsMax: number) {
    this.#kind = kind;
    this.#catalog = catalog;
    this.#clock = clock;
    this.#recordsMax = recordsMax;
  }

  /** The workspace's record as the store had it within the last `catalogFreshMs`; null if it is unknown. */
  of(workspaceId: string, id: string): Promise<CatalogRecords[K] | null> {
    const name = cacheKey(workspaceId, id);
    const now = this.#clock.monotonic();
    const cached = this.#reads.get(name);
    if (cached !== undefined && now - cached.startedAt < limits.catalogFreshMs) return cached.record;
    const record = this.#catalog.read(this.#kind, workspaceId, id).then((versioned) => versioned?.record ?? null);
    const read = { startedAt: now, record };
    this.#reads.delete(name);
    this.#reads.set(name, read);
    evictOldest(this.#reads, this.#recordsMax);
    // After a failed read the next turn reads again.
    record.catch(() => this.#reads.get(name) === read && this.#reads.delete(name));
    return record;
  }

  /** Drops cached reads, so that the next turn reads the store again: one record, all of a workspace, or all. */
  forget(workspaceId?: string, id?: string): void {
    if (workspaceId === undefined) this.#reads.clear();
    else if (id !== undefined) this.#reads.delete(cacheKey(workspaceId, id));
    else
      for (const name of [...this.#reads.keys()])
        if (name.startsWith(cacheKey(workspaceId, ''))) this.#reads.delete(name);
  }
}

const cacheKey = (workspaceId: string, id: string): string => `${workspaceId}/${id}`;
