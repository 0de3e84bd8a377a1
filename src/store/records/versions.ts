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
}

const numberDigits = 9;

/** The id of a version. */
export const versionId = (assistantId: string, number: number): string =>
  `${assistantId}_${String(number).padStart(numberDigits, '0')}`;
