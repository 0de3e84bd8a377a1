/** The console's records, and the removal of a workspace with its contents. */
import { limits } from '../../base/limits.ts';
import type {
  Assistant,
  AssistantVersion,
  AuditEntry,
  Catalog,
  CatalogEntry,
  CatalogKind,
  CatalogRecords,
  Credential,
  Key,
  Move,
  Page,
  PageRequest,
  IdempotencyRecord,
  ReleaseCounts,
  TurnPlace,
  Versioned,
} from '../store.ts';
import { AliasTaken, NameTaken, PrerequisiteGone, RecordsFull, SlugTaken } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { hasHistory } from '../moves.ts';
import { boundOf, entryOf, keptAlias, prerequisitesOf } from '../records.ts';
import { kindsOfAssistant } from '../records/tests.ts';
import { numberOfVersion } from '../records/versions.ts';
import { putAudit } from './audit.ts';
import { putMove } from './history.ts';
import * as keys from './keys.ts';
import type { Notices } from './notices.ts';
import { pageOf, span } from './pages.ts';
import type { EmbeddedReleases } from './releases.ts';
import type { EmbeddedWebhooks } from './webhooks.ts';

/** Location of the key with a public id, of the assistant with a slug or an alias, or of the credential with a name. */
interface PlaceRow {
  readonly workspaceId: string;
  readonly id: string;
}

type Records = CatalogRecords[CatalogKind];

export class EmbeddedCatalog implements Catalog {
  readonly #batcher: WriteBatcher;
  readonly #notices: Notices;
  readonly #webhooks: EmbeddedWebhooks;
  readonly #releases: EmbeddedReleases;
  readonly #forgotten: (workspaceId: string, keyId: string | null) => TurnPlace[];

  /** `forgotten` is called with the removed workspace or key, and returns the turns in flight that end with it. */
  constructor(
    batcher: WriteBatcher,
    notices: Notices,
    webhooks: EmbeddedWebhooks,
    releases: EmbeddedReleases,
    forgotten: (workspaceId: string, keyId: string | null) => TurnPlace[],
  ) {
    this.#batcher = batcher;
    this.#notices = notices;
    this.#webhooks = webhooks;
    this.#releases = releases;
    this.#forgotten = forgotten;
  }

  async create<K extends CatalogKind>(
    kind: K,
    record: CatalogRecords[K],
    move?: Move,
    audit?: AuditEntry,
  ): Promise<void> {
    const entry = entryOf(kind, record);
    const created = await this.#batcher.step((draft) => {
      const key = rowKey(kind, record);
      if (this.#batcher.get(key) !== undefined) return false;
      this.#refuseBeyondMax(entry);
      for (const row of prerequisitesOf(entry))
        if (this.#batcher.get(keys.named(workspaceOf(record), row)) === undefined) throw new PrerequisiteGone();
      this.#putNames(draft, entry);
      draft.put(key, { record, version: 1 });
      putAudit(draft, entry.kind === 'audit_entry' ? entry.record : audit);
      if (hasHistory(kind)) putMove(draft, kind, workspaceOf(record), record.id, move);
      return true;
    });
    if (created) this.#notices.sendChanged(kind, workspaceOf(record), record.id);
  }

  async read<K extends CatalogKind>(
    kind: K,
    workspaceId: string,
    id: string,
  ): Promise<Versioned<CatalogRecords[K]> | null> {
    return (
      this.#batcher.committed<Versioned<CatalogRecords[K]>>(keys.catalog(kind, workspaceId) + keys.part(id)) ?? null
    );
  }

  async replace<K extends CatalogKind>(
    kind: K,
    record: CatalogRecords[K],
    version: number,
    move?: Move,
    audit?: AuditEntry,
    made?: AssistantVersion,
    dropped: readonly string[] = [],
  ): Promise<number | null> {
    const entry = entryOf(kind, record);
    const moved = await this.#batcher.step((draft) => {
      const key = rowKey(kind, record);
      const stored = this.#batcher.get<Versioned<CatalogRecords[K]>>(key);
      if (stored?.version !== version) return null;
      this.#moveNames(draft, entryOf(kind, stored.record), entry);
      draft.put(key, { record, version: version + 1 });
      putAudit(draft, audit);
      if (entry.kind === 'assistant') this.#releases.put(draft, entry.record);
      if (made !== undefined) draft.put(rowKey('assistant_version', made), { record: made, version: 1 });
      for (const id of dropped) this.#dropVersion(draft, workspaceOf(record), record.id, id);
      if (hasHistory(kind)) putMove(draft, kind, workspaceOf(record), record.id, move);
      return version + 1;
    });
    if (moved !== null) this.#notices.sendChanged(kind, workspaceOf(record), record.id);
    return moved;
  }

  async remove(
    kind: CatalogKind,
    workspaceId: string,
    id: string,
    audit?: AuditEntry,
    version?: number,
  ): Promise<boolean> {
    if (kind === 'workspace') return this.#removeWorkspace(id, audit);
    const removed = await this.#batcher.step((draft) => {
      const key = keys.catalog(kind, workspaceId) + keys.part(id);
      const stored = this.#batcher.get<Versioned<CatalogRecords[typeof kind]>>(key);
      if (stored === undefined || (version !== undefined && stored.version !== version)) return false;
      draft.remove(key);
      putAudit(draft, audit);
      if (hasHistory(kind)) this.#removeRange(draft, keys.history(kind, workspaceId, id), Infinity);
      const entry = entryOf(kind, stored.record);
      if (entry.kind === 'assistant') {
        this.#removeSlug(draft, entry.record);
        this.#removeAlias(draft, entry.record);
        for (const each of kindsOfAssistant)
          for (const [own] of this.#batcher.range(...keys.ofAssistant(each, workspaceId, id))) draft.remove(own);
        this.#releases.remove(draft, workspaceId, id);
      }
      if (entry.kind === 'credential') this.#removeCredentialName(draft, entry.record);
      if (entry.kind === 'key') {
        draft.remove(keys.publicKey(entry.record.publicId));
        this.#removeRange(draft, keys.keyBudgets(workspaceId, id), Infinity);
        this.#forgotten(workspaceId, id);
      }
      if (kind === 'webhook') draft.whenApplied(() => this.#webhooks.note(workspaceId, id, null));
      return true;
    });
    if (removed && kind === 'webhook') await this.#webhooks.removeDeliveries(workspaceId, id);
    if (removed) this.#notices.sendChanged(kind, workspaceId, id);
    return removed;
  }

  async list<K extends CatalogKind>(kind: K, workspaceId: string, page: PageRequest): Promise<Page<CatalogRecords[K]>> {
    const prefix = keys.catalog(kind, workspaceId);
    const [from, to] = span(prefix, page.after === null ? null : keys.part(page.after), page.order);
    const rows = this.#batcher.scan<Versioned<CatalogRecords[K]>>(from, to, page.order === 'desc');
    const list = pageOf(rows, page.limit, ([, row]) => row.record.id);
    return { items: list.items.map(([, row]) => row.record), next: list.next };
  }

  async keyByPublicId(publicId: string): Promise<Versioned<Key> | null> {
    const row = this.#batcher.committed<PlaceRow>(keys.publicKey(publicId));
    return row === undefined ? null : this.read('key', row.workspaceId, row.id);
  }

  releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts> {
    return this.#releases.read(workspaceId, assistantId);
  }

  async assistantBySlug(slug: string): Promise<Versioned<Assistant> | null> {
    const row = this.#batcher.committed<PlaceRow>(keys.slug(slug));
    return row === undefined ? null : this.read('assistant', row.workspaceId, row.id);
  }

  /** Continues removals that an earlier process began. */
  async resumeRemovals(): Promise<void> {
    const begun = [...this.#batcher.scan<string>(keys.removals, keys.endOf(keys.removals))];
    for (const [, workspaceId] of begun) await this.#removeHoldings(workspaceId);
  }

  async #removeWorkspace(id: string, audit?: AuditEntry): Promise<boolean> {
    const key = keys.workspaces + keys.part(id);
    const wasRemoved = await this.#batcher.step((draft) => {
      if (this.#batcher.get(key) === undefined) return false;
      draft.remove(key);
      draft.put(keys.removal(id), id);
      putAudit(draft, audit);
      draft.remove(keys.deadlineFill(id));
      draft.whenApplied(() => this.#webhooks.forget(id));
      return true;
    });
    if (wasRemoved) {
      this.#notices.sendChanged('workspace', id, id);
      await this.#removeHoldings(id);
      this.#notices.sendRemoved(id);
    }
    return wasRemoved;
  }

  /**
   * Removes in bounded steps; the removal's mark goes with the last rows, so that an interrupted removal is continued.
   */
  async #removeHoldings(workspaceId: string): Promise<void> {
    for (let done = false; !done;) {
      let ended: TurnPlace[] = [];
      done = await this.#batcher.step((draft) => {
        let left: number = limits.removalRowsMax;
        for (const prefix of keys.holdings(workspaceId)) {
          if (left > 0) left -= this.#removeRange(draft, prefix, left);
        }
        if (left > 0) draft.remove(keys.removal(workspaceId));
        ended = this.#forgotten(workspaceId, null);
        return left > 0;
      });
      for (const place of ended) this.#notices.sendMoved(place);
      await this.#batcher.pause();
    }
  }

  #dropVersion(draft: Draft, workspaceId: string, assistantId: string, id: string): void {
    draft.remove(keys.catalog('assistant_version', workspaceId) + keys.part(id));
    draft.remove(keys.versionCountsAt(workspaceId, assistantId, numberOfVersion(id)));
  }

  #refuseBeyondMax(entry: CatalogEntry): void {
    const bound = boundOf(entry);
    if (bound === null) return;
    const kept = keys.catalog(entry.kind, workspaceOf(entry.record));
    const [from, to] = bound.begin === '' ? [kept, keys.endOf(kept)] : keys.startingWith(kept, bound.begin);
    if (this.#batcher.range(from, to, bound.most).length === bound.most) throw new RecordsFull();
  }

  #removeRange(draft: Draft, prefix: string, limit: number): number {
    const rows = this.#batcher.range<unknown>(prefix, keys.endOf(prefix), limit);
    for (const [key, row] of rows) {
      draft.remove(key);
      if (prefix.startsWith('assistant/')) this.#removeSlug(draft, (row as Versioned<Assistant>).record);
      if (prefix.startsWith('key/')) draft.remove(keys.publicKey((row as Versioned<Key>).record.publicId));
      if (prefix.startsWith('memory/')) draft.remove(keys.memoryEnd((row as IdempotencyRecord).untilMs, key));
    }
    return rows.length;
  }

  /** Stores the rows by which a new record is found; a webhook also becomes one that events are stored for. */
  #putNames(draft: Draft, { kind, record }: CatalogEntry): void {
    if (kind === 'assistant') {
      this.#putSlug(draft, record);
      this.#putAlias(draft, record);
    }
    if (kind === 'credential') this.#putCredentialName(draft, record);
    if (kind === 'key') putPublicKey(draft, record);
    if (kind === 'webhook') this.#webhooks.putIn(draft, record);
  }

  /** Replaces those rows of a record by the rows of its next version. */
  #moveNames(draft: Draft, before: CatalogEntry, after: CatalogEntry): void {
    if (before.kind === 'assistant' && after.kind === 'assistant') {
      this.#moveSlug(draft, before.record, after.record);
      this.#moveAlias(draft, before.record, after.record);
      return;
    }
    if (before.kind === 'credential' && after.kind === 'credential') {
      this.#moveCredentialName(draft, before.record, after.record);
      return;
    }
    if (before.kind === 'key') draft.remove(keys.publicKey(before.record.publicId));
    this.#putNames(draft, after);
  }

  /** A save that leaves the slug as it is does not fail where another assistant has that slug. */
  #moveSlug(draft: Draft, before: Assistant, after: Assistant): void {
    const isKept = before.link?.slug === after.link?.slug;
    const claim = after.link?.slug ? this.#batcher.get<PlaceRow>(keys.slug(after.link.slug)) : undefined;
    if (isKept && claim !== undefined) return;
    this.#removeSlug(draft, before);
    this.#putSlug(draft, after);
  }

  #putSlug(draft: Draft, { id, workspaceId, link }: Assistant): void {
    if (!link?.slug) return;
    const key = keys.slug(link.slug);
    const row = this.#batcher.get<PlaceRow>(key);
    if (row !== undefined && row.id !== id) throw new SlugTaken(link.slug);
    draft.put(key, { workspaceId, id } satisfies PlaceRow);
  }

  /** Same order as for slugs. */
  #moveAlias(draft: Draft, before: Assistant, after: Assistant): void {
    const claim = after.alias ? this.#batcher.get<PlaceRow>(keys.alias(after.workspaceId, after.alias)) : undefined;
    if (claim !== undefined && keptAlias(before, after)) return;
    this.#removeAlias(draft, before);
    this.#putAlias(draft, after);
  }

  #putAlias(draft: Draft, { id, workspaceId, alias }: Assistant): void {
    if (!alias) return;
    const key = keys.alias(workspaceId, alias);
    const row = this.#batcher.get<PlaceRow>(key);
    if (row !== undefined && row.id !== id) throw new AliasTaken(alias);
    draft.put(key, { workspaceId, id } satisfies PlaceRow);
  }

  #removeAlias(draft: Draft, { id, workspaceId, alias }: Assistant): void {
    if (alias && this.#batcher.get<PlaceRow>(keys.alias(workspaceId, alias))?.id === id)
      draft.remove(keys.alias(workspaceId, alias));
  }

  /** Same order as for slugs. */
  #moveCredentialName(draft: Draft, before: Credential, after: Credential): void {
    const { workspaceId, name } = after;
    const isKept = (before.name ?? null) === (name ?? null);
    const claim = name ? this.#batcher.get<PlaceRow>(keys.credentialName(workspaceId, name)) : undefined;
    if (isKept && claim !== undefined) return;
    this.#removeCredentialName(draft, before);
    this.#putCredentialName(draft, after);
  }

  #putCredentialName(draft: Draft, { id, workspaceId, name }: Credential): void {
    if (!name) return;
    const key = keys.credentialName(workspaceId, name);
    const row = this.#batcher.get<PlaceRow>(key);
    if (row !== undefined && row.id !== id) throw new NameTaken(name);
    draft.put(key, { workspaceId, id } satisfies PlaceRow);
  }

  #removeCredentialName(draft: Draft, { id, workspaceId, name }: Credential): void {
    if (name && this.#batcher.get<PlaceRow>(keys.credentialName(workspaceId, name))?.id === id)
      draft.remove(keys.credentialName(workspaceId, name));
  }

  /** If an import brought two assistants with one slug, the assistant that the slug's row names has it. */
  #removeSlug(draft: Draft, { id, link }: Assistant): void {
    if (link?.slug && this.#batcher.get<PlaceRow>(keys.slug(link.slug))?.id === id) draft.remove(keys.slug(link.slug));
  }
}

const workspaceOf = (record: Records): string => ('workspaceId' in record ? record.workspaceId : record.id);

const rowKey = (kind: CatalogKind, record: Records): string =>
  keys.catalog(kind, workspaceOf(record)) + keys.part(record.id);

const putPublicKey = (draft: Draft, key: Key): void =>
  draft.put(keys.publicKey(key.publicId), { workspaceId: key.workspaceId, id: key.id } satisfies PlaceRow);
