/**
 * The audit (contract 22): one row for each change that a person makes in the console, stored in the step that makes
 * the change. A row is therefore stored where the changed record is, in the same slot of a Redis Cluster; an index has
 * the places of all rows by their ids, which ascend with time.
 */
import { isDeepStrictEqual } from 'node:util';
import { atTurnEnd, type Clock } from '../../base/clock.ts';
import { timeText } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { installation } from '../records.ts';
import { auditIndex, auditOfWorkspaces, type AuditChange, type AuditEntry } from '../records/audit.ts';
import type { Page, PageRequest, Store } from '../store.ts';

/** Fields that say which object it is, or that change with each save. */
const unlisted: readonly string[] = ['object', 'id', 'workspace_id', 'created_at', 'updated_at'];

/** The differences of two views of an object, by path; null for an object that does not exist. */
export function changesOf(before: object | null, after: object | null): AuditChange[] {
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((path) => ({ path, before: old.get(path) ?? null, after: fresh.get(path) ?? null }))
    .filter((change) => !isDeepStrictEqual(change.before, change.after));
}

/** The values of an object by path. A list is one value. */
function leavesOf(view: object | null): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return void leaves.set(path, value);
    for (const [name, inner] of Object.entries(value))
      if (path !== '' || !unlisted.includes(name)) walk(inner, path === '' ? name : `${path}.${name}`);
  };
  if (view !== null) walk(view, '');
  return leaves;
}

export interface AuditFilter {
  /** Rows of this workspace alone; null for all rows. */
  readonly workspaceId: string | null;
  /** The id or the name of a person. */
  readonly by: string | null;
  readonly objectId: string | null;
}

type Catalog = Pick<Store, 'catalog'>['catalog'];

/** Maximum number of rows that one request reads: a filter that fits few rows gets a shorter page with its cursor. */
const rowsReadMax = 5_000;

/** Reads a page of the audit. It has fewer rows than requested where the filter leaves out more than one request reads. */
export async function listAudit(catalog: Catalog, filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>> {
  const { workspaceId } = filter;
  const read = (wanted: PageRequest): Promise<Page<AuditEntry>> =>
    workspaceId === null ? readAll(catalog, wanted) : readOfWorkspace(catalog, workspaceId, wanted);
  const matches = (entry: AuditEntry): boolean =>
    (workspaceId === null || entry.inWorkspaceId === workspaceId) &&
    (filter.by === null || entry.by.id === filter.by || entry.by.name === filter.by) &&
    (filter.objectId === null || entry.objectId === filter.objectId);
  const found: AuditEntry[] = [];
  let { after } = page;
  for (let looked = 0; looked < rowsReadMax; looked += limits.listMax) {
    const { items, next } = await read({ ...page, after, limit: limits.listMax });
    for (const entry of items) {
      if (!matches(entry)) continue;
      if (found.length === page.limit) return { items: found, next: found.at(-1)?.id ?? null };
      found.push(entry);
    }
    if (next === null) return { items: found, next: null };
    after = next;
    // An embedded store answers within the turn of the event loop; other work runs between reads.
    await new Promise<void>((resolve) => atTurnEnd(resolve));
  }
  return { items: found, next: after };
}

/** Reads rows of all places by the index, at the same cost for any number of workspaces. */
async function readAll(catalog: Catalog, page: PageRequest): Promise<Page<AuditEntry>> {
  const { items, next } = await catalog.list('audit_place', auditIndex, page);
  const rows = await Promise.all(items.map(({ place, id }) => catalog.read('audit_entry', place, id)));
  return { items: rows.flatMap((row) => (row === null ? [] : [row.record])), next };
}

/**
 * Reads rows of the three places that may have rows of a workspace: the workspace, the changes of people, and the
 * changes of workspaces.
 */
async function readOfWorkspace(catalog: Catalog, workspaceId: string, page: PageRequest): Promise<Page<AuditEntry>> {
  const sign = page.order === 'asc' ? 1 : -1;
  const places = [workspaceId, auditOfWorkspaces, installation];
  const pages = await Promise.all(places.map((place) => catalog.list('audit_entry', place, page)));
  const merged = pages.flatMap(({ items }) => items).sort((one, other) => (one.id < other.id ? -sign : sign));
  const items = merged.slice(0, page.limit);
  const hasMore = merged.length > page.limit || pages.some(({ next }) => next !== null);
  return { items, next: hasMore ? (items.at(-1)?.id ?? null) : null };
}

/**
 * Removes rows that are older than they are kept, at most so many in one call; resolves with whether such rows may be
 * left. A row goes before its place, so that the next sweep finds a row that is left.
 */
export async function sweepAudit(catalog: Catalog, clock: Pick<Clock, 'now'>): Promise<boolean> {
  const oldest = `aud_${timeText(clock.now() - limits.auditDays * 86_400_000)}`;
  const { items, next } = await catalog.list('audit_place', auditIndex, {
    limit: limits.scanRowsMax,
    after: null,
    order: 'asc',
  });
  const old = items.filter(({ id }) => id < oldest);
  for (const { id, place } of old) {
    await catalog.remove('audit_entry', place, id);
    await catalog.remove('audit_place', auditIndex, id);
  }
  return old.length === items.length && next !== null;
}
