/** The audit rows of steps, as the scripts take them. */
import type { AuditEntry } from '../store.ts';
import { packRow } from '../codec.ts';
import { part } from './keys.ts';
import type { Argument } from './reply.ts';

/** The row of a step; empty without one. Its place has the root of the changed record. */
export const auditFields = (audit: AuditEntry | undefined): { auditId: string; audit: Argument } =>
  audit === undefined ? { auditId: '', audit: '' } : { auditId: part(audit.id), audit: packRow(audit) };
