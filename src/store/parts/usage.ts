/**
 * The part of a store that counts usage. The steps of sessions and turns count theirs; usage without a session is
 * counted here.
 */
import type { UsageBucket, UsageCounts } from '../records.ts';

export interface UsageQuery {
  /** Only these assistants; null for all. */
  readonly assistantIds: readonly string[] | null;
  /** Only usage of this API key and of sessions that it made; absent for all. */
  readonly keyId?: string | null;
  /** `start` is inclusive, `end` exclusive, both in Unix seconds. */
  readonly start: number;
  readonly end: number;
  readonly bucketSeconds: 3600 | 86400;
}

export interface CountUsage {
  /** Different for each count; a repeat of the step has the same one. */
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  /** The API key of the request. */
  readonly keyId?: string | null;
  /** The Unix second that it counts for. */
  readonly at: number;
  readonly speechCharacters: number;
  readonly transcriptionSeconds: number;
}

/** Further counts, next to the counts of conversations. */
export type VoiceCounts = Pick<UsageCounts, 'speechCharacters' | 'transcriptionSeconds'>;

export interface UsageStore {
  /**
   * Adds to the assistant's usage. A lost answer: the caller repeats the step with the same id within a minute, and it
   * counts once; if the process dies before that, the count may be missing.
   */
  count(step: CountUsage): Promise<void>;
  /** Every bucket of the window, empty ones with zeros. */
  read(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]>;
}
