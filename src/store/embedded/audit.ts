/** The audit rows of steps, stored in the step that makes the change. */
import type { AuditEntry } from '../store.ts';
import type { Draft } from '../write-batcher.ts';
import * as keys from './keys.ts';

/** Stores the row of a step, if it has one. */
export function putAudit(draft: Draft, audit: AuditEntry | undefined): void {
  if (audit === undefined) return;
  draft.put(keys.catalog('audit_entry', audit.workspaceId) + keys.part(audit.id), { record: audit, version: 1 });
}
