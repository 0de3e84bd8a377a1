/** The audit rows of steps, as the scripts take them. */
import type { AuditEntry } from '../store.ts';
import { packRow } from '../codec.ts';
import { auditPlaceOf } from '../records/audit.ts';
import { part, type Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Argument } from './reply.ts';

/** The index of all rows of the audit. */
export class RedisAudit {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  /** Stores the place of a row, before the step that stores the row on another shard. */
  async note(audit: AuditEntry): Promise<void> {
    const record = auditPlaceOf(audit);
    await this.#link.runDurable('load-record', this.#roots.workspace(record.workspaceId), {
      kind: 'audit_place',
      id: part(record.id),
      record: packRow(record),
      version: 1,
      alias: '',
      wants: '',
    });
  }
}

/** The row of a step; empty without one. Its place has the root of the changed record. */
export const auditFields = (audit: AuditEntry | undefined): { auditId: string; audit: Argument } =>
  audit === undefined ? { auditId: '', audit: '' } : { auditId: part(audit.id), audit: packRow(audit) };
