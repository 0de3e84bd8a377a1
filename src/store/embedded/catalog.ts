/** What the console keeps, and the removal of a workspace with all that it holds. */
import { limits } from '../../limits.ts';
import type { Catalog, CatalogKind, CatalogRecords, Key, Page, PageRequest, Remembered, Versioned } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import * as keys from './keys.ts';
import type { Notices } from './notices.ts';
import { pageOf, span } from './pages.ts';

interface PublicKeyRow {
  readonly workspaceId: string;
  readonly id: string;
}

type Records = CatalogRecords[CatalogKind];

export class EmbeddedCatalog implements Catalog {
  readonly #ledger: Ledger;
  readonly #notices: Notices;
  readonly #forgotten: (workspaceId: string, keyId: string | null) => void;

  /** `forgotten` is told what is removed: a workspace, or a key of one. */
  constructor(ledger: Ledger, notices: Notices, forgotten: (workspaceId: string, keyId: string | null) => void) {
    this.#ledger = ledger;
    this.#notices = notices;
    this.#forgotten = forgotten;
  }

  async create<K extends CatalogKind>(kind: K, record: CatalogRecords[K]): Promise<void> {
    const created = await this.#ledger.step((draft) => {
      const key = rowKey(kind, record);
      if (this.#ledger.get(key) !== undefined) return false;
      draft.put(key, { record, version: 1 });
      if (kind === 'key') putPublicKey(draft, record as Key);
      return true;
    });
    if (created) this.#notices.changed(kind, workspaceOf(record), record.id);
  }

  async read<K extends CatalogKind>(kind: K, workspaceId: string, id: string): Promise<Versioned<CatalogRecords[K]> | null> {
    return this.#ledger.committed<Versioned<CatalogRecords[K]>>(keys.catalog(kind, workspaceId) + keys.part(id)) ?? null;
  }

  async replace<K extends CatalogKind>(kind: K, record: CatalogRecords[K], version: number): Promise<number | null> {
    const moved = await this.#ledger.step((draft) => {
      const key = rowKey(kind, record);
      const stored = this.#ledger.get<Versioned<Records>>(key);
      if (stored?.version !== version) return null;
      draft.put(key, { record, version: version + 1 });
      if (kind === 'key') {
        draft.remove(keys.publicKey((stored.record as Key).publicId));
        putPublicKey(draft, record as Key);
      }
      return version + 1;
    });
    if (moved !== null) this.#notices.changed(kind, workspaceOf(record), record.id);
    return moved;
  }

  async remove(kind: CatalogKind, workspaceId: string, id: string): Promise<boolean> {
    if (kind === 'workspace') return this.#removeWorkspace(id);
    const removed = await this.#ledger.step((draft) => {
      const key = keys.catalog(kind, workspaceId) + keys.part(id);
      const stored = this.#ledger.get<Versioned<Records>>(key);
      if (stored === undefined) return false;
      draft.remove(key);
      if (kind === 'key') {
        draft.remove(keys.publicKey((stored.record as Key).publicId));
        this.#removeRange(draft, keys.keyBudgets(workspaceId, id), Infinity);
        this.#forgotten(workspaceId, id);
      }
      return true;
    });
    if (removed) this.#notices.changed(kind, workspaceId, id);
    return removed;
  }

  async list<K extends CatalogKind>(kind: K, workspaceId: string, page: PageRequest): Promise<Page<CatalogRecords[K]>> {
    const prefix = keys.catalog(kind, workspaceId);
    const [from, to] = span(prefix, page.after === null ? null : keys.part(page.after), page.order);
    const rows = this.#ledger.scan<Versioned<CatalogRecords[K]>>(from, to, page.order === 'desc');
    const found = pageOf(rows, page.limit, ([, row]) => row.record.id);
    return { items: found.items.map(([, row]) => row.record), next: found.next };
  }

  async keyByPublicId(publicId: string): Promise<Versioned<Key> | null> {
    const row = this.#ledger.committed<PublicKeyRow>(keys.publicKey(publicId));
    return row === undefined ? null : this.read('key', row.workspaceId, row.id);
  }

  /** Goes on with removals that an earlier process began. */
  async resumeRemovals(): Promise<void> {
    const begun = [...this.#ledger.scan<string>(keys.removals, keys.endOf(keys.removals))];
    for (const [, workspaceId] of begun) await this.#removeHoldings(workspaceId);
  }

  async #removeWorkspace(id: string): Promise<boolean> {
    const key = keys.workspaces + keys.part(id);
    const found = await this.#ledger.step((draft) => {
      if (this.#ledger.get(key) === undefined) return false;
      draft.remove(key);
      draft.put(keys.removal(id), id);
      return true;
    });
    if (found) {
      this.#notices.changed('workspace', id, id);
      await this.#removeHoldings(id);
    }
    return found;
  }

  /** In bounded steps; the mark of the removal goes with the last rows, so that a removal cut off is taken up again. */
  async #removeHoldings(workspaceId: string): Promise<void> {
    for (let done = false; !done; ) {
      done = await this.#ledger.step((draft) => {
        let left: number = limits.removalRowsMax;
        for (const prefix of keys.holdings(workspaceId)) {
          if (left > 0) left -= this.#removeRange(draft, prefix, left);
        }
        if (left > 0) draft.remove(keys.removal(workspaceId));
        this.#forgotten(workspaceId, null);
        return left > 0;
      });
      await this.#ledger.pause();
    }
  }

  #removeRange(draft: Draft, prefix: string, limit: number): number {
    const rows = this.#ledger.range<unknown>(prefix, keys.endOf(prefix), limit);
    for (const [key, row] of rows) {
      draft.remove(key);
      if (prefix.startsWith('key/')) draft.remove(keys.publicKey((row as Versioned<Key>).record.publicId));
      if (prefix.startsWith('memory/')) draft.remove(keys.memoryEnd((row as Remembered).untilMs, key));
    }
    return rows.length;
  }
}

const workspaceOf = (record: Records): string => ('workspaceId' in record ? record.workspaceId : record.id);

const rowKey = (kind: CatalogKind, record: Records): string => keys.catalog(kind, workspaceOf(record)) + keys.part(record.id);

const putPublicKey = (draft: Draft, key: Key): void =>
  draft.put(keys.publicKey(key.publicId), { workspaceId: key.workspaceId, id: key.id } satisfies PublicKeyRow);
