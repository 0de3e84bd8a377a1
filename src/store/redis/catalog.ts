/**
 * The console's records. A workspace's own record is stored with the other workspaces' records, every other record
 * within its workspace.
 */
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import {
  AliasTaken,
  NameTaken,
  PrerequisiteGone,
  SlugTaken,
  RecordsFull,
  type Assistant,
  type AssistantVersion,
  type AuditEntry,
  type Catalog,
  type CatalogEntry,
  type CatalogKind,
  type CatalogRecords,
  type Key,
  type Move,
  type Notice,
  type Page,
  type PageRequest,
  type ReleaseCounts,
  type Versioned,
} from '../store.ts';
import { packRow, unpackRow } from '../codec.ts';
import { hasHistory } from '../moves.ts';
import { boundOf, claimOf, entryOf, keptAlias, prerequisitesOf } from '../records.ts';
import { numberOfVersion } from '../records/versions.ts';
import { auditFields, RedisAudit } from './audit.ts';
import { moveField } from './history.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { releaseFields, wantsField } from './records.ts';
import { readReleaseCounts } from './releases.ts';
import type { Registry } from './registry.ts';
import { textOfReply, bytesOfReply, listOfReply } from './reply.ts';
import { RedisSlugs } from './slugs.ts';

type Records = CatalogRecords[CatalogKind];

/** Location of the key with a public id. */
interface PublicKeyRow {
  readonly workspaceId: string;
  readonly id: string;
}

export class RedisCatalog implements Catalog {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #ids: Ids;
  readonly #calling: Registry;
  readonly #slugs: RedisSlugs;
  readonly #audit: RedisAudit;

  /** `calling`: the list on which a workspace is registered before a webhook is stored in it. */
  constructor(link: RedisLink, roots: Roots, ids: Ids, calling: Registry) {
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
    this.#calling = calling;
    this.#audit = new RedisAudit(link, roots);
    this.#slugs = new RedisSlugs(link, roots, ids, ({ workspaceId, id }) => this.read('assistant', workspaceId, id));
  }

  /**
   * A key takes two steps, and each may be sent again: its public id first, then the key. If only the first is
   * applied, the public id names a key that does not exist, which is answered like an unknown public id. An assistant
   * with a slug does the same.
   */
  async create<K extends CatalogKind>(
    kind: K,
    record: CatalogRecords[K],
    move?: Move,
    audit?: AuditEntry,
  ): Promise<void> {
    const entry = entryOf(kind, record);
    const assistant = entry.kind === 'assistant' ? entry.record : null;
    if (entry.kind === 'key') await this.#publish(entry.record);
    const workspaceId = workspaceOf(record);
    if (kind === 'webhook') await this.#calling.register(workspaceId);
    const slug = assistant && slugOf(assistant);
    if (assistant !== null && slug !== null) {
      // An existing record stays as it is, with its slug.
      if ((await this.read('assistant', workspaceId, record.id)) !== null) return;
      await this.#slugs.claim(slug, assistant);
    }
    const row = entry.kind === 'audit_entry' ? entry.record : audit;
    if (row !== undefined) await this.#audit.note(row);
    const bound = boundOf(entry);
    const fields = {
      kind,
      id: part(record.id),
      record: packRow(record),
      channel: this.#roots.channel('notices'),
      workspaceId,
      recordId: record.id,
      alias: claimOf(entry) ?? '',
      most: bound?.most ?? '',
      begin: bound?.begin ? part(bound.begin) : '',
      ...moveField(hasHistory(kind) ? move : null),
      wants: wantsField(entry),
      ...auditFields(audit),
      needed: prerequisitesOf(entry).flatMap((row) => [row.kind, part(row.id)]),
    };
    const answer = await this.#link.runDurable('create-record', this.#root(kind, workspaceId), fields);
    if (answer === taken) throw takenBy(entry);
    if (answer === full) throw new RecordsFull();
    if (answer === gone) throw new PrerequisiteGone();
  }

  async read<K extends CatalogKind>(
    kind: K,
    workspaceId: string,
    id: string,
  ): Promise<Versioned<CatalogRecords[K]> | null> {
    const root = this.#root(kind, workspaceId);
    const [record, version] = listOfReply(
      await this.#link.send(root, 'HMGET', `${root}:${kind}`, part(id), `${part(id)}/version`),
    );
    return record === null
      ? null
      : { record: unpackRow<CatalogRecords[K]>(bytesOfReply(record)), version: Number(textOfReply(version)) };
  }

  async replace<K extends CatalogKind>(
    kind: K,
    record: CatalogRecords[K],
    version: number,
    move?: Move,
    audit?: AuditEntry,
    made?: AssistantVersion,
    dropped?: readonly string[],
  ): Promise<number | null> {
    const entry = entryOf(kind, record);
    if (entry.kind === 'assistant') return this.#replaceAssistant(entry.record, version, move, audit, made, dropped);
    if (entry.kind === 'key') await this.#publish(entry.record);
    return this.#replaceRecord(entry, version, move, audit, await this.#namedAs(entry));
  }

  /** The name that a credential claims; a save that leaves it as it is does not fail where another one has it. */
  async #namedAs(entry: CatalogEntry): Promise<Named> {
    const alias = claimOf(entry);
    if (entry.kind !== 'credential' || alias === null) return unnamed;
    const current = await this.read('credential', entry.record.workspaceId, entry.record.id);
    return { alias, kept: current?.record.name === entry.record.name ? '1' : '' };
  }

  async #replaceRecord(
    entry: CatalogEntry,
    version: number,
    move?: Move,
    audit?: AuditEntry,
    named: Named = unnamed,
    made?: AssistantVersion,
    dropped: readonly string[] = [],
  ): Promise<number | null> {
    if (audit !== undefined) await this.#audit.note(audit);
    const { kind, record } = entry;
    const workspaceId = workspaceOf(record);
    const fields = {
      kind,
      id: part(record.id),
      record: packRow(record),
      channel: this.#roots.channel('notices'),
      workspaceId,
      recordId: record.id,
      version,
      write: this.#ids.secret(),
      ...named,
      ...moveField(hasHistory(kind) ? move : null),
      wants: wantsField(entry),
      ...auditFields(audit),
      madeId: made === undefined ? '' : part(made.id),
      made: made === undefined ? '' : packRow(made),
      ...releaseFields(entry, version + 1),
      notice: changedNotice(entry),
      dropped: dropped.flatMap((id) => [part(id), numberOfVersion(id)]),
    };
    const answer = await this.#link.runDurable('replace-record', this.#root(kind, workspaceId), fields);
    if (answer === taken) throw takenBy(entry);
    return answer;
  }

  /**
   * The new slug is claimed first, the old one is released last. The old slug's token is read first as well: a writer
   * that claimed it earlier has based its decision on a version that is replaced now and fails, and a writer that
   * claims it later changes the token.
   */
  async #replaceAssistant(
    record: Assistant,
    version: number,
    move?: Move,
    audit?: AuditEntry,
    made?: AssistantVersion,
    dropped?: readonly string[],
  ): Promise<number | null> {
    const current = await this.read('assistant', record.workspaceId, record.id);
    if (current?.version !== version) return null;
    const [before, after] = [slugOf(current.record), slugOf(record)];
    const token = before !== null && before !== after ? await this.#slugs.tokenOf(before, record) : null;
    if (after !== null && after !== before) await this.#slugs.claim(after, record);
    // Leaves its existing claim unchanged: another save could not release a claim with this save's token.
    else if (after !== null && (await this.#slugs.tokenOf(after, record)) === null)
      await this.#slugs.claim(after, record).catch(unlessTaken);
    const entry = entryOf('assistant', record);
    const named = { alias: claimOf(entry) ?? '', kept: keptAlias(current.record, record) ? '1' : '' };
    const moved = await this.#replaceRecord(entry, version, move, audit, named, made, dropped);
    if (moved !== null && token !== null) await this.#slugs.release(before!, record, token);
    return moved;
  }

  /** Removes a key before its public id, so that it is rejected already between the two steps. */
  async remove(
    kind: CatalogKind,
    workspaceId: string,
    id: string,
    audit?: AuditEntry,
    version?: number,
  ): Promise<boolean> {
    if (audit !== undefined) await this.#audit.note(audit);
    const fields = {
      kind,
      id: part(id),
      channel: this.#roots.channel('notices'),
      workspaceId: kind === 'workspace' ? id : workspaceId,
      recordId: id,
      version: version ?? '',
      write: this.#ids.secret(),
      ...auditFields(audit),
    };
    const record = await this.#link.runDurable('remove-record', this.#root(kind, workspaceId), fields);
    if (record === null) return false;
    if (kind === 'key') await this.#unname(entryOf(kind, unpackRow<Key>(record)));
    if (kind === 'assistant') await this.#unname(entryOf(kind, unpackRow<Assistant>(record)));
    if (kind === 'workspace') await this.#removeHoldings(id);
    return true;
  }

  async list<K extends CatalogKind>(
    kind: K,
    workspaceId: string,
    { limit, after, order }: PageRequest,
  ): Promise<Page<CatalogRecords[K]>> {
    const cursor = after === null ? '' : part(after);
    const rows = await this.#link.run('list-records', this.#root(kind, workspaceId), {
      kind,
      order,
      after: cursor,
      count: limit + 1,
    });
    const items = rows.slice(0, limit).map((record) => unpackRow<CatalogRecords[K]>(record));
    return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  /** The public id counts only if the key's record has it. */
  async keyByPublicId(publicId: string): Promise<Versioned<Key> | null> {
    const row = await this.#link.send(...this.#publicKey(publicId, 'GET'));
    if (row === null) return null;
    const { workspaceId, id } = unpackRow<PublicKeyRow>(bytesOfReply(row));
    const key = await this.read('key', workspaceId, id);
    return key?.record.publicId === publicId ? key : null;
  }

  releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts> {
    return readReleaseCounts(this.#link, this.#roots, workspaceId, assistantId);
  }

  assistantBySlug(slug: string): Promise<Versioned<Assistant> | null> {
    return this.#slugs.find(slug);
  }

  /** Continues removals that another process, or this one, has not finished. */
  async resumeRemovals(): Promise<void> {
    const root = this.#roots.workspaces;
    const begun = listOfReply(await this.#link.send(root, 'SMEMBERS', `${root}:removals`));
    for (const workspaceId of begun) await this.#removeHoldings(textOfReply(workspaceId));
  }

  /** Removes in bounded steps, the keys' public ids and the assistants' slugs first; the removal's mark goes last. */
  async #removeHoldings(workspaceId: string): Promise<void> {
    for (const kind of ['key', 'assistant'] as const) {
      for (let after: string | null = null, more = true; more;) {
        const { items, next }: Page<Key | Assistant> = await this.list(kind, workspaceId, {
          limit: limits.scanRowsMax,
          after,
          order: 'asc',
        });
        await Promise.all(items.map((record) => this.#unname(entryOf(kind, record))));
        after = next;
        more = next !== null;
      }
    }
    const root = this.#roots.workspace(workspaceId);
    const fields = { limit: limits.removalRowsMax, channel: this.#roots.channel('notices'), workspaceId };
    while ((await this.#link.runDurable('remove-holdings', root, fields)) !== 1);
    await this.#link.send(this.#roots.workspaces, 'SREM', `${this.#roots.workspaces}:removals`, workspaceId);
  }

  /** Frees the public id or the slug of a removed record. */
  async #unname({ kind, record }: CatalogEntry): Promise<void> {
    if (kind === 'key') await this.#link.send(...this.#publicKey(record.publicId, 'DEL'));
    const slug = kind === 'assistant' ? slugOf(record) : null;
    if (kind === 'assistant' && slug !== null) await this.#slugs.release(slug, record);
  }

  async #publish({ publicId, workspaceId, id }: Key): Promise<void> {
    await this.#link.sendDurable(
      ...this.#publicKey(publicId, 'SET'),
      packRow({ workspaceId, id } satisfies PublicKeyRow),
    );
  }

  #publicKey(publicId: string, command: 'GET' | 'SET' | 'DEL'): [string, string, string] {
    const key = this.#roots.publicKey(publicId);
    return [key, command, key];
  }

  #root(kind: CatalogKind, workspaceId: string): string {
    return kind === 'workspace' ? this.#roots.workspaces : this.#roots.workspace(workspaceId);
  }
}

/** The answer of a step that the alias of another assistant, or the name of another credential, hinders. */
const taken = -1;
/** The answer of a step that finds as many records as the workspace may have. */
const full = -2;
/** The answer of a step that finds a row gone without which it refuses the record. */
const gone = -3;

/** The name that a record claims, and whether its earlier version had it. */
interface Named {
  readonly alias: string;
  readonly kept: string;
}
const unnamed: Named = { alias: '', kept: '' };

function takenBy({ kind, record }: CatalogEntry): Error {
  return kind === 'credential'
    ? new NameTaken(record.name ?? '')
    : new AliasTaken((kind === 'assistant' && record.alias) || '');
}

const workspaceOf = (record: Records): string => ('workspaceId' in record ? record.workspaceId : record.id);

/** The notice that a record has changed, for a script that changes it beside another one. */
export const changedNotice = ({ kind, record }: CatalogEntry): string =>
  JSON.stringify({ type: 'changed', kind, workspaceId: workspaceOf(record), id: record.id } satisfies Notice);

const slugOf = ({ link }: Assistant): string | null => link?.slug || null;

/** A save that leaves the slug as it is must not fail because another assistant has taken that slug meanwhile. */
function unlessTaken(error: unknown): void {
  if (!(error instanceof SlugTaken)) throw error;
}
