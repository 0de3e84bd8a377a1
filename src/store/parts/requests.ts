/**
 * The part of a store that finds requests made under an `Idempotency-Key`. The steps of sessions and turns remember
 * them.
 */
import type { IdempotencyRecord } from '../records.ts';

export interface RequestStore {
  /** The request remembered under this scope and key; null if it is missing or has expired. */
  find(workspaceId: string, scope: string, key: string, nowMs: number): Promise<IdempotencyRecord | null>;
}
