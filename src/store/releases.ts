/**
 * The releases of assistants as stores keep them beside the records: what the steps of sessions and turns compare and
 * count.
 */
import { isExceeded, releaseVersion } from '../../machines/release.ts';
import { limits } from '../base/limits.ts';
import { revisionOf } from './records/versions.ts';
import type { Assistant, CandidateCounts, HaltRule, Move, Release, Session, VersionCounts } from './store.ts';

/** Channels whose sessions and turns no version counts: trials, and the runs of tests. */
const uncounted: readonly string[] = ['console', 'test'];

/** The version that a session or a turn of it is counted for; undefined for none. */
export const countedVersion = (
  { channel }: Pick<Session, 'channel'>,
  version: number | undefined,
): number | undefined => (uncounted.includes(channel) ? undefined : version);

/** The part of a release that the steps of sessions and turns read. */
export interface ReleaseRow {
  readonly revision: number;
  /** The number of the candidate; null without a rollout. */
  readonly candidate: number | null;
  /** The revision with which the counting of the candidate's turns began. */
  readonly since: number;
  readonly halt: HaltRule | null;
  readonly isHalted: boolean;
}

export const releaseRow = (release: Release): ReleaseRow => ({
  revision: revisionOf(release),
  candidate: release.candidate?.version ?? null,
  since: release.candidate?.since ?? 0,
  halt: release.candidate?.halt ?? null,
  isHalted: release.candidate?.isHalted ?? false,
});

/** Whether the rule of a rollout that is not halted yet halts it. */
export const isHalting = ({ halt, isHalted }: ReleaseRow, counts: CandidateCounts): boolean =>
  halt !== null && !isHalted && isExceeded({ ...halt, ...counts });

/** The assistant after its rollout was halted. */
export const haltedAssistant = (assistant: Assistant): Assistant => ({
  ...assistant,
  release: haltedRelease(assistant.release!),
});

/** The release after its rollout was halted: as the machine leaves it. */
export const haltedRelease = (release: Release): Release => ({
  ...release,
  revision: revisionOf(release) + 1,
  candidate: { ...release.candidate!, isHalted: true },
});

/** The history's entry for a halt; `seq`: the version of the record after it. */
export const haltMove = ({ release, machine }: Assistant, seq: number, atMs: number): Move => ({
  seq,
  atMs,
  version: releaseVersion,
  event: { type: 'halt' },
  from: 'rolling',
  to: 'halted',
  outcomes: [{ type: 'halted', version: release!.candidate!.version } as { type: string }],
  cause: { requestId: null, by: null },
  snapshot: seq % limits.historyCheckpointSteps === 0 ? machine : null,
});

/** The counts of a candidate's row. */
export const candidateCountsOf = ([turns = 0, failedTurns = 0]: readonly number[] = []): CandidateCounts => ({
  turns,
  failedTurns,
});

/** The order of the counts in a row. */
export const versionCountFields = [
  'sessions',
  'turns',
  'failedTurns',
  'feedbackUp',
  'feedbackDown',
] as const satisfies readonly (keyof VersionCounts)[];

/** The counts of a row. */
export const versionCountsOf = (row: readonly number[]): VersionCounts =>
  Object.fromEntries(versionCountFields.map((field, index) => [field, row[index] ?? 0])) as unknown as VersionCounts;

/** The row of the counts. */
export const versionCountsRow = (counts: Partial<VersionCounts>): number[] =>
  versionCountFields.map((field) => counts[field] ?? 0);
