/** Requests made under an `Idempotency-Key`, remembered until they expire. */
import { limits } from '../../base/limits.ts';
import type { IdempotencyRecord, RequestStore } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';

export class Memories implements RequestStore {
  readonly #batcher: WriteBatcher;

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
  }

  async find(workspaceId: string, scope: string, key: string, nowMs: number): Promise<IdempotencyRecord | null> {
    return lasting(this.#batcher.committed<IdempotencyRecord>(keys.memory(workspaceId, scope, key)), nowMs);
  }

  /** Works like `find`, for decisions. */
  newest(workspaceId: string, scope: string, key: string, nowMs: number): IdempotencyRecord | null {
    return lasting(this.#batcher.get<IdempotencyRecord>(keys.memory(workspaceId, scope, key)), nowMs);
  }

  /** Remembers the request in place of an earlier one; returns the memory's key. */
  put(draft: Draft, workspaceId: string, remembered: IdempotencyRecord): string {
    const key = keys.memory(workspaceId, remembered.scope, remembered.key);
    const before = this.#batcher.get<IdempotencyRecord>(key);
    if (before !== undefined) draft.remove(keys.memoryEnd(before.untilMs, key));
    draft.put(key, remembered);
    draft.put(keys.memoryEnd(remembered.untilMs, key), key);
    return key;
  }

  /** Deletes the memory if it still has this result. */
  forget(draft: Draft, key: string, resultId: string): void {
    const stored = this.#batcher.get<IdempotencyRecord>(key);
    if (stored?.resultId !== resultId) return;
    draft.remove(key);
    draft.remove(keys.memoryEnd(stored.untilMs, key));
  }

  /** Deletes all expired memories. */
  async sweep(nowMs: number): Promise<void> {
    for (let done = false; !done;) {
      done = await this.#batcher.step((draft) => {
        const over = this.#batcher.range<string>(keys.memoryEnds, keys.memoryEndsAfter(nowMs), limits.removalRowsMax);
        for (const [end, key] of over) {
          draft.remove(end);
          draft.remove(key);
        }
        return over.length < limits.removalRowsMax;
      });
      await this.#batcher.pause();
    }
  }
}

const lasting = (remembered: IdempotencyRecord | undefined, nowMs: number): IdempotencyRecord | null =>
  remembered !== undefined && remembered.untilMs > nowMs ? remembered : null;
