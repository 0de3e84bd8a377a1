/** The part of a store that keeps the console's records. */
import { atTurnEnd } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type {
  Assistant,
  AssistantVersion,
  AuditEntry,
  CatalogKind,
  CatalogRecords,
  Key,
  Move,
  ReleaseCounts,
} from '../records.ts';
import type { Page, PageRequest, Versioned } from './pages.ts';

/**
 * The console's records: few, each replaced by compare-and-set. The workspace id of a workspace's record is its own id.
 * The history of a key or an assistant gets the `move` with the step, and the audit its row: a step
 * that changes nothing stores neither.
 */
export interface Catalog {
  /**
   * Rejects with `SlugTaken` if the record is an assistant whose slug another assistant has, and with `AliasTaken` for
   * its alias; slugs are unique across all workspaces, aliases within one. Rejects with `NameTaken` if the record is a
   * credential whose name another one of its workspace has. Rejects with `RecordsFull` if the record is a webhook
   * beyond `webhooksMax` of its workspace, or a test beyond `testsMax` of its assistant, and with
   * `PrerequisiteGone` if one of `prerequisitesOf` is gone. A lost answer: the record may be stored although the caller
   * got 503; it then appears in the list, to be kept or removed.
   */
  create<K extends CatalogKind>(kind: K, record: CatalogRecords[K], move?: Move, audit?: AuditEntry): Promise<void>;
  read<K extends CatalogKind>(kind: K, workspaceId: string, id: string): Promise<Versioned<CatalogRecords[K]> | null>;
  /**
   * Replaces the record if its version still is `version`: resolves with the new version, or null if another writer
   * replaced or removed the record. Rejects as `create` does, but not for a name that the record had before; one that
   * it has no longer is free afterwards. A lost answer: every process reads the stored record within `catalogFreshMs`,
   * and a caller that repeats the change decides on that.
   *
   * `made` is a new version of the assistant that the step replaces: both are stored, or neither. The turns of a
   * candidate are counted from zero if its rollout began with another revision (`Candidate.since`). `dropped` are the ids
   * of its versions that are removed with the step, with their counts.
   */
  replace<K extends CatalogKind>(
    kind: K,
    record: CatalogRecords[K],
    version: number,
    move?: Move,
    audit?: AuditEntry,
    made?: AssistantVersion,
    dropped?: readonly string[],
  ): Promise<number | null>;
  /**
   * Removes the record; resolves with whether it existed. Removing a workspace removes all its contents, and removing an
   * assistant removes its versions, its tests and their runs. `version`: removes the record only if it still has this
   * version. A lost answer: a repeat finds no record.
   */
  remove(kind: CatalogKind, workspaceId: string, id: string, audit?: AuditEntry, version?: number): Promise<boolean>;
  /** Lists in order of creation; the cursor is an id. `workspaceId` is ignored for workspaces. */
  list<K extends CatalogKind>(kind: K, workspaceId: string, page: PageRequest): Promise<Page<CatalogRecords[K]>>;
  /** The key with this public id, in any state. */
  keyByPublicId(publicId: string): Promise<Versioned<Key> | null>;
  /** The counts of an assistant's versions and of its candidate. */
  releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts>;
  /** The assistant with this slug, in any state and any workspace. */
  assistantBySlug(slug: string): Promise<Versioned<Assistant> | null>;
}

/**
 * The records of a kind in a workspace, in order of creation, all or those whose ids begin with `begin`; `workspaceId`
 * is ignored for workspaces. `limit`: records that are read at a time.
 */
export async function* recordsOf<K extends CatalogKind>(
  catalog: Pick<Catalog, 'list'>,
  kind: K,
  workspaceId: string,
  { limit = limits.listMax, begin = '' }: { readonly limit?: number; readonly begin?: string } = {},
): AsyncGenerator<CatalogRecords[K]> {
  for (let after: string | null = begin || null; ;) {
    const page: Page<CatalogRecords[K]> = await catalog.list(kind, workspaceId, { limit, after, order: 'asc' });
    const wanted = page.items.filter(({ id }) => id.startsWith(begin));
    yield* wanted;
    if (page.next === null || wanted.length < page.items.length) return;
    after = page.next;
    // An embedded store answers within the turn of the event loop; other work runs between pages.
    await new Promise<void>((resolve) => atTurnEnd(resolve));
  }
}
