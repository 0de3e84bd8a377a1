/** The stored records of an assistant's versions. */
import type { VersionedSettings } from './settings.ts';
import type { Tool } from './tools.ts';

/** The definition of a tool that a version contains. Its credential and its signing secrets are the tool's own. */
export type VersionedTool = Pick<
  Tool,
  | 'id'
  | 'kind'
  | 'name'
  | 'url'
  | 'timeoutSeconds'
  | 'repeatable'
  | 'approval'
  | 'show'
  | 'callsPerMinute'
  | 'functions'
>;

/** A version of an assistant. It never changes. */
export interface AssistantVersion {
  /** `versionId` of the assistant and the number: versions of an assistant are stored in the order of their numbers. */
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly number: number;
  /** A digest of its settings and tools. */
  readonly digest: string;
  readonly note: string | null;
  readonly createdAt: number;
  /** The person who made it; null for the version that an assistant has from before versions existed. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  readonly settings: VersionedSettings;
  readonly tools: readonly VersionedTool[];
}

/** Number of changes of the versions that people get. */
export const revisionOf = (release: Pick<Release, 'revision'> | null | undefined): number => release?.revision ?? 0;

/** The versions that an assistant answers with. */
export interface Release {
  /** The number of the version that new sessions get. */
  readonly current: number;
  /** The highest number that a version ever had. */
  readonly newest: number;
  /** The digest of the current version. */
  readonly digest: string;
  /** The numbers of versions that were current before, in ascending order. */
  readonly earlier: readonly number[];
  /**
   * Number of changes of the versions that people get; a step that gives a session its version compares it. Absent in
   * rows of builds without rollouts: 0.
   */
  readonly revision?: number;
  /** The version that a share of new sessions gets. Null or absent without a rollout. */
  readonly candidate?: Candidate | null;
  /** The numbers of candidates that were retired and have not been current since, in ascending order. Absent if empty. */
  readonly retired?: readonly number[];
  /** Number of recalls: a session with a smaller one moves to the current version. Absent before the first. */
  readonly recalls?: number;
}

/** The version that a rollout gives to a share of new sessions. */
export interface Candidate {
  readonly version: number;
  readonly digest: string;
  /** The share of new sessions, from 1 to 99. */
  readonly percent: number;
  readonly halt: HaltRule | null;
  /** Whether the rule has halted the rollout: no new session gets the candidate. */
  readonly isHalted: boolean;
  /** The revision with which the counting of its turns began. */
  readonly since: number;
}

/** Halts a rollout once `afterTurns` turns have ended and more than `failedPercent` of them have failed. */
export interface HaltRule {
  readonly failedPercent: number;
  readonly afterTurns: number;
}

/** Counts of the sessions and turns on a version. */
export interface VersionCounts {
  /** Sessions that were created on it. */
  readonly sessions: number;
  /** Turns that were sealed on it, and those among them that failed. */
  readonly turns: number;
  readonly failedTurns: number;
  readonly feedbackUp: number;
  readonly feedbackDown: number;
}

/** The candidate's turns since its rollout began, including withdrawn ones, which count as failed. */
export type CandidateCounts = Pick<VersionCounts, 'turns' | 'failedTurns'>;

/** The counts of an assistant's versions. */
export interface ReleaseCounts {
  /** Zeros without a candidate. */
  readonly candidate: CandidateCounts;
  /** The counts of each version by its number; absent for a version without counts. */
  readonly versions: ReadonlyMap<number, VersionCounts>;
}

/** The revision of an assistant's release, which a step compares that gives a session its version. */
export interface ReleaseBasis {
  readonly assistantId: string;
  readonly revision: number;
}

const numberDigits = 9;

/** The number in the id of a version. */
export const numberOfVersion = (id: string): number => Number(id.slice(-numberDigits));

/** The id of a version. */
export const versionId = (assistantId: string, number: number): string =>
  `${assistantId}_${String(number).padStart(numberDigits, '0')}`;
