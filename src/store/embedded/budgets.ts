/**
 * The keys' budgets, answered from memory. Their rows are written behind: with the next batch that is written anyway,
 * at the latest with a sweep or the close. So a request that only reads costs no commit, and a process that dies loses
 * at most what two minutes refill. Only buckets that are not full are held in memory.
 */
import * as bucketOf from '../../../machines/budget.ts';
import type { Clock } from '../../base/clock.ts';
import { ClockChanges } from '../../base/clock-changes.ts';
import { limits } from '../../base/limits.ts';
import type { BudgetName, KeyLimits, KeyStanding, Taken } from '../store.ts';
import { budgetNames, keyStanding, takenOf, usedAtOf, withRest } from '../budgets.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';

type Bucket = bucketOf.Bucket;

interface Held {
  readonly bucket: Bucket;
  readonly ceiling: number;
}

interface Looked {
  readonly budget: BudgetName;
  readonly ceiling: number;
  readonly key: string;
  /** The bucket now, before this request. */
  readonly before: Bucket;
  readonly taken: bucketOf.Take;
}

/** Number of buckets that each request checks for dropping: more than it can add, so that the memory shrinks. */
const droppedPerTake = 4;

/** Number of buckets that may wait for a batch; one more causes a batch. */
const unwrittenMax = 1024;

export class EmbeddedBudgets {
  readonly #batcher: WriteBatcher;
  /** Least recently touched first. */
  readonly #held = new Map<string, Held>();
  readonly #unwritten = new Map<string, Bucket>();
  /** The key touched last; it is at the end of the map already, and need not be moved there. */
  #newest: string | null = null;
  /**
   * The rows of keys' budgets by key and workspace, cached because to build a row's name takes longer than to charge
   * its bucket.
   */
  readonly #rows = new Map<
    string,
    { readonly workspaceId: string; readonly row: Partial<Record<BudgetName, string>> }
  >();

  readonly #clockChanges: ClockChanges | null;

  /**
   * `clock` gives the steps' times. Without it a clock that is set back goes unnoticed, and a level from the future
   * counts from the next request.
   */
  constructor(batcher: WriteBatcher, clock?: Clock) {
    this.#batcher = batcher;
    this.#clockChanges = clock === undefined ? null : new ClockChanges(clock);
    batcher.beforeFlush((draft) => this.#write(draft));
  }

  take(
    workspaceId: string,
    keyId: string,
    budgets: readonly { budget: BudgetName; ceiling: number }[],
    nowMs: number,
  ): Taken[] {
    this.#follow();
    const looked: Looked[] = [];
    for (const { budget, ceiling } of budgets) {
      const key = this.#row(workspaceId, keyId, budget);
      const before = bucketOf.refilled(this.#bucket(key, ceiling, nowMs), ceiling, nowMs);
      const taken = bucketOf.take(before, ceiling, nowMs);
      looked.push({ budget, ceiling, key, before, taken });
      if (!taken.passed) break;
    }
    const refused = looked.find(({ taken }) => !taken.passed);
    const rest = refused === undefined ? [] : budgets.slice(looked.length);
    const restSeconds = rest.map(({ budget, ceiling }) => {
      const bucket = this.#bucket(this.#row(workspaceId, keyId, budget), ceiling, nowMs);
      return bucketOf.waitSeconds(bucketOf.refilled(bucket, ceiling, nowMs), ceiling);
    });
    const answer = looked.map((each) => {
      const { passed, bucket } = each.taken;
      if (refused !== undefined && each !== refused) return takenOf(each, passed, each.before);
      this.#hold(each.key, { bucket, ceiling: each.ceiling });
      return withRest(takenOf(each, passed, bucket), Math.max(0, ...restSeconds));
    });
    this.#dropFull(nowMs);
    if (this.#unwritten.size >= unwrittenMax) this.#batcher.wake();
    return answer;
  }

  /** The rows stay when their buckets are full again, so that they say when the key was used last. */
  readStanding(
    workspaceId: string,
    { id, limits: ceilings }: { readonly id: string; readonly limits: KeyLimits },
    nowMs: number,
  ): KeyStanding {
    const buckets: { -readonly [B in BudgetName]?: Bucket } = {};
    for (const name of budgetNames) {
      const key = this.#row(workspaceId, id, name);
      const bucket = this.#held.get(key)?.bucket ?? this.#batcher.get<Bucket>(key);
      if (bucket !== undefined) buckets[name] = bucket;
    }
    return keyStanding(buckets, usedAtOf(buckets), ceilings, nowMs);
  }

  /** Drops a key's budgets, or all of a workspace's. */
  forget(workspaceId: string, keyId: string | null): void {
    const prefix = keyId === null ? `budget/${keys.part(workspaceId)}/` : keys.keyBudgets(workspaceId, keyId);
    for (const map of [this.#held, this.#unwritten]) {
      for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key);
    }
  }

  /**
   * Moves the buckets back with the wall clock: a client that waits for the reported time passes although the clock
   * was set back. A clock that is set ahead refills.
   */
  #follow(): void {
    const setMs = this.#clockChanges?.readSetMs() ?? 0;
    if (setMs >= 0) return;
    for (const [key, { bucket, ceiling }] of this.#held)
      this.#held.set(key, { bucket: { ...bucket, at: bucket.at + setMs }, ceiling });
    for (const key of this.#unwritten.keys()) this.#unwritten.set(key, this.#held.get(key)!.bucket);
  }

  #row(workspaceId: string, keyId: string, budget: BudgetName): string {
    let entry = this.#rows.get(keyId);
    if (entry?.workspaceId !== workspaceId) {
      if (this.#rows.size >= limits.actorsLiveMax) this.#rows.clear();
      this.#rows.set(keyId, (entry = { workspaceId, row: {} }));
    }
    return (entry.row[budget] ??= keys.budget(workspaceId, keyId, budget));
  }

  #bucket(key: string, ceiling: number, nowMs: number): Bucket {
    return this.#held.get(key)?.bucket ?? this.#batcher.get<Bucket>(key) ?? bucketOf.full(ceiling, nowMs);
  }

  #hold(key: string, held: Held): void {
    if (key !== this.#newest) this.#held.delete(key);
    this.#newest = key;
    this.#held.set(key, held);
    this.#unwritten.set(key, held.bucket);
  }

  #dropFull(nowMs: number): void {
    let looked = 0;
    for (const [key, { bucket, ceiling }] of this.#held) {
      const full = bucketOf.refilled(bucket, ceiling, nowMs).level === bucketOf.full(ceiling, nowMs).level;
      if (!full || this.#unwritten.has(key)) return;
      // A failed batch has lost the bucket's row; before the bucket is dropped from memory, its row must be stored.
      const stored = this.#batcher.committed<Bucket>(key);
      if (stored?.level !== bucket.level || stored.at !== bucket.at) {
        this.#unwritten.set(key, bucket);
        return;
      }
      this.#held.delete(key);
      if (++looked === droppedPerTake) return;
    }
  }

  #write(draft: Draft): void {
    for (const [key, bucket] of this.#unwritten) draft.put(key, bucket);
    this.#unwritten.clear();
  }
}
