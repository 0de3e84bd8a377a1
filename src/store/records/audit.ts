/** The rows of the audit (contract 22). */
import type { Role } from '../../base/roles.ts';

/** The place of the audit rows about workspaces themselves, which are stored with the list of workspaces. */
export const auditOfWorkspaces = 'workspaces';

/** The place of the index of all rows. */
export const auditIndex = 'audit';

/**
 * The place of a row, by the row's id: the index of all rows. On Redis it is stored before the row, on another shard,
 * and the row may be missing.
 */
export interface AuditPlace {
  readonly id: string;
  readonly workspaceId: typeof auditIndex;
  readonly place: string;
}

export const auditPlaceOf = ({ id, workspaceId }: AuditEntry): AuditPlace => ({
  id,
  workspaceId: auditIndex,
  place: workspaceId,
});

/** A step of a conversation that a person takes in the console. */
export interface AuditedStep {
  readonly action: 'create' | 'message' | 'end' | 'abort' | 'take' | 'return' | 'release';
  readonly session: { readonly id: string; readonly workspaceId: string; readonly assistantId: string };
  /** The turn that begins or that is aborted; null for none. */
  readonly turnId: string | null;
  /** States of the session's attendance before and after a person's act. */
  readonly attendance?: { readonly before: string; readonly after: string };
}

/** A changed field: null before a creation and after a deletion. */
export interface AuditChange {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** A row of the audit (contract 22). It outlives the workspace. */
export interface AuditEntry {
  readonly id: string;
  /** The place of the row: where the changed record is stored. */
  readonly workspaceId: string;
  readonly at: number;
  readonly by: { readonly id: string; readonly name: string; readonly role: Role; readonly address: string | null };
  readonly action: string;
  readonly objectType: string;
  readonly objectId: string;
  /** The workspace that the object belongs to; null for none. */
  readonly inWorkspaceId: string | null;
  readonly changes: readonly AuditChange[];
}
