/** What the console keeps. A workspace's own record lies with those of the others, all else within its workspace. */
import type { Ids } from '../../ids.ts';
import { limits } from '../../limits.ts';
import type { Catalog, CatalogKind, CatalogRecords, Key, Page, PageRequest, Versioned } from '../../store.ts';
import { packRow, unpackRow } from '../codec.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

type Records = CatalogRecords[CatalogKind];

/** Where the key with a public id lies. */
interface PublicKeyRow {
  readonly workspaceId: string;
  readonly id: string;
}

export class RedisCatalog implements Catalog {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #ids: Ids;

  constructor(link: Link, roots: Roots, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
  }

  /**
   * A key takes two steps, each of which may be sent again: its public id first, then the key. If only the first
   * happens, the public id leads to a key that is not there, which is the answer for a public id that leads nowhere.
   */
  async create<K extends CatalogKind>(kind: K, record: CatalogRecords[K]): Promise<void> {
    if (kind === 'key') await this.#publish(record as Key);
    await this.#link.run('create-record', this.#root(kind, workspaceOf(record)), kind, part(record.id), packRow(record), workspaceOf(record), record.id);
  }

  async read<K extends CatalogKind>(kind: K, workspaceId: string, id: string): Promise<Versioned<CatalogRecords[K]> | null> {
    const root = this.#root(kind, workspaceId);
    const [record, version] = (await this.#link.send(root, 'HMGET', `${root}:${kind}`, part(id), `${part(id)}/version`)) as Reply[];
    return record === null ? null : { record: unpackRow<CatalogRecords[K]>(record as Buffer), version: Number(textOf(version)) };
  }

  async replace<K extends CatalogKind>(kind: K, record: CatalogRecords[K], version: number): Promise<number | null> {
    if (kind === 'key') await this.#publish(record as Key);
    const workspaceId = workspaceOf(record);
    const given = [kind, part(record.id), packRow(record), workspaceId, record.id, version, this.#ids.secret()];
    return (await this.#link.run('replace-record', this.#root(kind, workspaceId), ...given)) as number | null;
  }

  /** A key goes before its public id, so that no step between the two lets anybody in. */
  async remove(kind: CatalogKind, workspaceId: string, id: string): Promise<boolean> {
    const given = [kind, part(id), kind === 'workspace' ? id : workspaceId, id, this.#ids.secret()];
    const record = await this.#link.run('remove-record', this.#root(kind, workspaceId), ...given);
    if (record === null) return false;
    if (kind === 'key') await this.#link.send(...this.#publicKey(unpackRow<Key>(record as Buffer).publicId, 'DEL'));
    if (kind === 'workspace') await this.#removeHoldings(id);
    return true;
  }

  async list<K extends CatalogKind>(kind: K, workspaceId: string, { limit, after, order }: PageRequest): Promise<Page<CatalogRecords[K]>> {
    const cursor = after === null ? '' : part(after);
    const found = (await this.#link.run('list-records', this.#root(kind, workspaceId), kind, order, cursor, limit + 1)) as Reply[];
    const items = found.slice(0, limit).map((record) => unpackRow<CatalogRecords[K]>(record as Buffer));
    return { items, next: found.length > limit ? items.at(-1)!.id : null };
  }

  /** The key itself says whether the public id is still its own. */
  async keyByPublicId(publicId: string): Promise<Versioned<Key> | null> {
    const row = await this.#link.send(...this.#publicKey(publicId, 'GET'));
    if (row === null) return null;
    const { workspaceId, id } = unpackRow<PublicKeyRow>(row as Buffer);
    const found = await this.read('key', workspaceId, id);
    return found?.record.publicId === publicId ? found : null;
  }

  /** Goes on with removals that another process, or this one, did not end. */
  async resumeRemovals(): Promise<void> {
    const root = this.#roots.workspaces;
    const begun = (await this.#link.send(root, 'SMEMBERS', `${root}:removals`)) as Reply[];
    for (const workspaceId of begun) await this.#removeHoldings(textOf(workspaceId));
  }

  /** In bounded steps, the public ids of its keys first; the mark of the removal goes last. */
  async #removeHoldings(workspaceId: string): Promise<void> {
    for (let after: string | null = null, more = true; more; ) {
      const { items, next }: Page<Key> = await this.list('key', workspaceId, { limit: limits.scanRowsMax, after, order: 'asc' });
      await Promise.all(items.map(({ publicId }) => this.#link.send(...this.#publicKey(publicId, 'DEL'))));
      after = next;
      more = next !== null;
    }
    const root = this.#roots.workspace(workspaceId);
    while ((await this.#link.run('remove-holdings', root, limits.removalRowsMax)) !== 1);
    await this.#link.send(this.#roots.workspaces, 'SREM', `${this.#roots.workspaces}:removals`, workspaceId);
  }

  async #publish({ publicId, workspaceId, id }: Key): Promise<void> {
    await this.#link.send(...this.#publicKey(publicId, 'SET'), packRow({ workspaceId, id } satisfies PublicKeyRow));
  }

  #publicKey(publicId: string, command: 'GET' | 'SET' | 'DEL'): [string, string, string] {
    const key = this.#roots.publicKey(publicId);
    return [key, command, key];
  }

  #root(kind: CatalogKind, workspaceId: string): string {
    return kind === 'workspace' ? this.#roots.workspaces : this.#roots.workspace(workspaceId);
  }
}

const workspaceOf = (record: Records): string => ('workspaceId' in record ? record.workspaceId : record.id);
