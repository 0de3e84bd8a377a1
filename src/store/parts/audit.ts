/**
 * The audit (contract 22): one row for each change that a person makes in the console, stored in the step that makes
 * the change. A row is therefore stored where the changed record is, in the same slot of a Redis Cluster; a list merges
 * these places by the ids of the rows, which ascend with time.
 */
import { isDeepStrictEqual } from 'node:util';
import { secondsOf, type Clock } from '../../base/clock.ts';
import { timeText } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { installation } from '../records.ts';
import { auditOfWorkspaces, type AuditChange, type AuditEntry } from '../records/audit.ts';
import type { Page, PageRequest, Store } from '../store.ts';
import { recordsOf } from './catalog.ts';

/** Places of the audit that are read at once. */
const auditPlacesAtOnce = 20;

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

/** Reads a page of the audit. Each look reads a bounded number of rows; the page may need several looks. */
export async function listAudit(catalog: Catalog, filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>> {
  const places = filter.workspaceId === null ? await placesOf(catalog) : await placesOfWorkspace(filter.workspaceId);
  const matches = (entry: AuditEntry): boolean =>
    (filter.workspaceId === null || entry.inWorkspaceId === filter.workspaceId) &&
    (filter.by === null || entry.by.id === filter.by || entry.by.name === filter.by) &&
    (filter.objectId === null || entry.objectId === filter.objectId);
  const found: AuditEntry[] = [];
  for (let after = page.after; ;) {
    const { items, next } = await readMerged(catalog, places, { ...page, after, limit: limits.listMax });
    for (const entry of items) {
      if (!matches(entry)) continue;
      if (found.length === page.limit) return { items: found, next: found.at(-1)!.id };
      found.push(entry);
    }
    if (next === null) return { items: found, next: null };
    after = next;
  }
}

async function readMerged(catalog: Catalog, places: readonly string[], page: PageRequest): Promise<Page<AuditEntry>> {
  const sign = page.order === 'asc' ? 1 : -1;
  let merged: AuditEntry[] = [];
  let more = false;
  for (let first = 0; first < places.length; first += auditPlacesAtOnce) {
    const pages = await Promise.all(
      places.slice(first, first + auditPlacesAtOnce).map((place) => catalog.list('audit_entry', place, page)),
    );
    merged = [...merged, ...pages.flatMap(({ items }) => items)].sort((one, other) =>
      one.id < other.id ? -sign : sign,
    );
    more ||= merged.length > page.limit || pages.some(({ next }) => next !== null);
    merged = merged.slice(0, page.limit);
  }
  return { items: merged, next: more ? merged.at(-1)!.id : null };
}

/** The places that may have rows of a workspace: also changes of people for it, and its own creation and removal. */
const placesOfWorkspace = async (workspaceId: string): Promise<string[]> => [
  workspaceId,
  auditOfWorkspaces,
  installation,
];

/** Every place with rows: also each removed workspace, whose removal is a row that outlives its others. */
async function placesOf(catalog: Catalog): Promise<string[]> {
  const places = new Set<string>([installation, auditOfWorkspaces]);
  for await (const { id } of recordsOf(catalog, 'workspace', '')) places.add(id);
  for await (const { objectType, objectId } of recordsOf(catalog, 'audit_entry', auditOfWorkspaces))
    if (objectType === 'workspace') places.add(objectId);
  return [...places];
}

/**
 * Removes rows that are older than they are kept, at most so many in one call; resolves with whether rows may be left.
 * The rows about workspaces come last: they name the places of removed ones.
 */
export async function sweepAudit(catalog: Catalog, clock: Pick<Clock, 'now'>): Promise<boolean> {
  const oldest = clock.now() - limits.auditDays * 86_400_000;
  const first = `aud_${timeText(oldest)}`;
  let left: number = limits.scanRowsMax;
  const places = (await placesOf(catalog)).filter((place) => place !== auditOfWorkspaces);
  for (const place of [...places, auditOfWorkspaces]) {
    const { items } = await catalog.list('audit_entry', place, { limit: left, after: null, order: 'asc' });
    for (const { id, at } of items) {
      if (id >= first && at >= secondsOf(oldest)) break;
      await catalog.remove('audit_entry', place, id);
      if (--left === 0) return true;
    }
  }
  return false;
}
