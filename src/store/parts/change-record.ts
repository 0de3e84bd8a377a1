/** Changes of the console's records, which several writers may make at once. */
import { limits } from '../../base/limits.ts';
import { StoreUnavailable, type AuditEntry, type Catalog, type CatalogKind, type CatalogRecords } from '../store.ts';

/**
 * Changes a record by compare-and-set; null from `change` leaves it as it is. Resolves with the record after that, or
 * with null if it is unknown. Rejects with what `change` throws, and with `StoreUnavailable` if other writers keep
 * changing it. `audit`: the row of the change.
 */
export async function changeRecord<K extends CatalogKind>(
  catalog: Pick<Catalog, 'read' | 'replace'>,
  kind: K,
  workspaceId: string,
  id: string,
  change: (before: CatalogRecords[K]) => CatalogRecords[K] | null | Promise<CatalogRecords[K] | null>,
  audit?: (before: CatalogRecords[K], after: CatalogRecords[K]) => AuditEntry | undefined,
): Promise<CatalogRecords[K] | null> {
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    const stored = await catalog.read(kind, workspaceId, id);
    if (stored === null) return null;
    const { record: before, version } = stored;
    const after = await change(before);
    if (after === null) return before;
    if ((await catalog.replace(kind, after, version, undefined, audit?.(before, after))) !== null) return after;
  }
  throw manyWriters(kind);
}

/** The failure of a change that other writers of the record came before each time. */
export const manyWriters = (kind: string): StoreUnavailable =>
  new StoreUnavailable(
    `Other writers changed the ${kind} ${limits.decisionAttemptsMax} times in a row. Repeat the request.`,
  );
