/** The part of a store that tells what was used. The steps of sessions and turns count it. */
import type { UsageBucket } from '../../records.ts';

export interface UsageQuery {
  /** Only these assistants; null for all. */
  readonly assistantIds: readonly string[] | null;
  /** `start` is inclusive, `end` exclusive, both in Unix seconds. */
  readonly start: number;
  readonly end: number;
  readonly bucketSeconds: 3600 | 86400;
}

export interface UsageStore {
  /** Every bucket of the window, empty ones with zeros. */
  read(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]>;
}
