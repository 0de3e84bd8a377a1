/** The audit rows of steps, stored in the step that makes the change. */
import type { AuditEntry } from '../store.ts';
import { auditPlaceOf } from '../records/audit.ts';
import type { Draft } from '../write-batcher.ts';
import * as keys from './keys.ts';

/** Stores the row of a step, if it has one, with its place. */
export function putAudit(draft: Draft, audit: AuditEntry | undefined): void {
  if (audit === undefined) return;
  draft.put(keys.catalog('audit_entry', audit.workspaceId) + keys.part(audit.id), { record: audit, version: 1 });
  const record = auditPlaceOf(audit);
  draft.put(keys.catalog('audit_place', record.workspaceId) + keys.part(record.id), { record, version: 1 });
}
