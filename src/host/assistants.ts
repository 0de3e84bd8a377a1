/** Assistant actors: configuration and state. Every request sees the newest version at once. */
import {
  assistantKind,
  assistantVersion,
  type AssistantContext,
  type AssistantEvent,
  type AssistantOutcome,
} from '../../machines/assistant.ts';
import { releaseKind } from '../../machines/release.ts';
import type { Clock } from '../base/clock.ts';
import { Failure, type ErrorName } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import { versionId } from '../store/records/versions.ts';
import type { Assistant, AssistantVersion, Cause, HaltRule, Release, Store } from '../store/store.ts';
import { aliasKey, aliasPattern, slugPattern } from '../base/link-fields.ts';
import { openActor, refusalOf } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import type { Inspector } from '../actors/inspector.ts';
import { Aliases } from './aliases.ts';
import { LookUps } from './look-ups.ts';
import { CatalogActors, type CatalogActor, type Changed } from './catalog-actors.ts';
import { draftDigest, toolsAtOnce, versionOf, type ToolsById } from './draft.ts';
import { changeRelease, releaseSnapshot, type ReleaseChange } from './release.ts';
import { versionsToDrop } from './pruning.ts';
import { isUnversioned } from './versions.ts';

export type AssistantActor = CatalogActor<'assistant', AssistantEvent, AssistantOutcome, AssistantContext>;
/** Terms of a change of a draft. */
export interface Publication {
  /** A person's note on the version. */
  readonly note?: string | null;
  /** Throws if the draft, whose digest it gets, is not the one that the change is based on. */
  readonly check?: ((digest: string) => void) | undefined;
}

type Versioned = Changed<'assistant'>;

/** A change of the versions that people get, other than by a publication. */
export type ReleaseRequest =
  /** Null: the newest older version that was current before. */
  | { readonly type: 'rollback'; readonly version: number | null }
  | {
      readonly type: 'rollout';
      readonly version: number | 'draft';
      readonly percent: number;
      /** Undefined: the candidate keeps its rule. */
      readonly halt?: HaltRule | null | undefined;
    }
  | { readonly type: 'promote' | 'end' | 'recall' };

export type AssistantVerb = 'publish' | 'unpublish' | 'disable' | 'enable';

const idPattern = /^asst_[0-9a-z]{26}$/;

export class Assistants extends CatalogActors<'assistant', AssistantEvent, AssistantOutcome, AssistantContext> {
  /** The state in which an assistant converses, by machine. */
  readonly #conversing = new WeakMap<object, string>();

  /** The workspace and id of each slug's assistant; checked against the record at each use. */
  readonly #slugs = new Map<string, { readonly workspaceId: string; readonly id: string }>();
  readonly #lookUps: LookUps<Assistant>;
  readonly #aliases: Aliases;
  readonly #store: Store;

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'assistant',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      beside: ({ release = null }) => ({ kind: releaseKind.name, ...releaseSnapshot(release) }),
      open: (record, identity) =>
        openActor<AssistantEvent, AssistantOutcome, AssistantContext>(
          assistantKind,
          { snapshot: record.machine },
          identity,
          inspector,
        ),
    });
    this.#store = store;
    this.#lookUps = new LookUps(clock);
    this.#aliases = new Aliases(store.catalog, clock);
  }

  /** Another process may have given an assistant any slug. */
  override doubt(id: string): void {
    super.doubt(id);
    this.#forgetNames();
  }

  override doubtAll(workspaceId?: string): void {
    super.doubtAll(workspaceId);
    this.#forgetNames();
  }

  override async change(
    ...[workspaceId, id, decide, cause]: Parameters<
      CatalogActors<'assistant', AssistantEvent, AssistantOutcome, AssistantContext>['change']
    >
  ): Promise<AssistantActor | null> {
    const changed = await super.change(workspaceId, id, decide, cause);
    this.#forgetNames();
    return changed;
  }

  #forgetNames(): void {
    this.#lookUps.forgetAll();
    this.#aliases.forgetAll();
  }

  /**
   * The assistant that a client of another protocol names by id or alias, in any state; null if it is unknown. A name
   * that is not an id costs no separate read of the store.
   */
  async named(workspaceId: string, name: string): Promise<AssistantActor | null> {
    const assistant = idPattern.test(name) ? await this.of(workspaceId, name) : null;
    return assistant ?? (aliasPattern.test(name) ? this.#byAlias(workspaceId, name) : null);
  }

  /** Full stops of the alias are read as `_`. */
  async #byAlias(workspaceId: string, alias: string): Promise<AssistantActor | null> {
    const id = await this.#aliases.find(workspaceId, alias);
    const actor = id === null ? null : await this.of(workspaceId, id);
    const own = actor?.record.alias ?? null;
    return own !== null && aliasKey(own) === aliasKey(alias) ? actor : null;
  }

  /** The assistant with the slug, in any state; null if the slug is unknown. */
  async bySlug(slug: string): Promise<AssistantActor | null> {
    const place = this.#slugs.get(slug);
    const actor = place === undefined ? null : await this.of(place.workspaceId, place.id);
    if (actor?.record.link?.slug === slug) return actor;
    this.#slugs.delete(slug);
    if (!slugPattern.test(slug)) return null;
    const stored = await this.#lookUps.find(
      slug,
      async () => (await this.options.catalog.assistantBySlug(slug))?.record ?? null,
    );
    if (stored === null) return null;
    const { workspaceId, id } = stored;
    this.#slugs.set(slug, { workspaceId, id });
    evictOldest(this.#slugs, limits.slugsKept);
    const present = await this.of(workspaceId, id);
    return present?.record.link?.slug === slug ? present : null;
  }

  /**
   * The refusal of an assistant that does not converse; null if it does. `converse` does not move the machine, so an
   * answer that refuses nothing is cached for each state.
   */
  refusal(assistant: AssistantActor, cause: Cause = nobody): ErrorName | null {
    const { machine } = assistant;
    const { state } = machine;
    if (this.#conversing.get(machine) === state && !this.options.inspector.watched) return null;
    const refusal = refusalOf(assistant.send({ type: 'converse' }, this.options.clock.now(), cause));
    if (refusal === null) this.#conversing.set(machine, state);
    return refusal;
  }

  /** The refusal of an assistant that answers no trial of the console; null if it does. A draft answers trials. */
  trialRefusal(assistant: AssistantActor, cause: Cause): ErrorName | null {
    return refusalOf(assistant.send({ type: 'rehearse' }, this.options.clock.now(), cause));
  }

  /** The refusal of an assistant that neither speaks nor listens; null if it does. */
  voiceRefusal(assistant: AssistantActor, cause: Cause = nobody): ErrorName | null {
    return refusalOf(assistant.send({ type: 'speak' }, this.options.clock.now(), cause));
  }

  /** The refusal of an assistant that does not speak in a trial of the console; null if it does. */
  trialVoiceRefusal(assistant: AssistantActor, cause = nobody): ErrorName | null {
    return this.trialRefusal(assistant, cause) ?? (assistant.record.channels.voice ? null : 'voice_disabled');
  }

  /** Applies one of the console's verbs. Publishing makes a version of a draft that differs from the current one. */
  move(
    workspaceId: string,
    id: string,
    verb: AssistantVerb,
    at: number,
    cause: Cause = nobody,
    { note = null, check }: Publication = {},
  ): Promise<AssistantActor | null> {
    return this.change(
      workspaceId,
      id,
      async ({ record: before, machine }) => {
        const draft = await this.#draftOf(before);
        const hasMoved = machine.send({ type: verb }).some(({ type }) => type === 'moved');
        const after = hasMoved ? { ...before, updatedAt: at, machine: machine.snapshot() } : before;
        const versioned = await this.#withFirst(before, after, draft);
        // An assistant that was never published is published by `enable` as well.
        const publishes = verb === 'publish' || (verb === 'enable' && versioned.record.release === null);
        if (publishes) check?.(draftDigest(before, draft));
        return publishes && versioned.made === undefined
          ? this.#pruned(before, published(after, draft, { note, createdAt: at, createdBy: makerOf(cause) }))
          : versioned;
      },
      cause,
    );
  }

  /** Replaces the configuration; the machine is notified whether the assistant has a voice. */
  configure(
    workspaceId: string,
    id: string,
    change: (record: Assistant) => Assistant,
    cause: Cause = nobody,
    { check }: Pick<Publication, 'check'> = {},
  ): Promise<AssistantActor | null> {
    return this.change(
      workspaceId,
      id,
      async ({ record: before, machine }) => {
        const draft = await this.#draftOf(before);
        check?.(draftDigest(before, draft));
        const record = change(before);
        machine.send({ type: 'configure', voice: record.channels.voice });
        return this.#withFirst(before, { ...record, machine: machine.snapshot() }, draft);
      },
      cause,
    );
  }

  /**
   * Changes the versions that people get; the draft stays as it is. Throws 404 `version_not_found` if the version is not
   * stored, and the refusal of the machine.
   */
  release(
    workspaceId: string,
    id: string,
    wanted: ReleaseRequest,
    at: number,
    cause: Cause = nobody,
    { check }: Pick<Publication, 'check'> = {},
  ): Promise<AssistantActor | null> {
    return this.change(
      workspaceId,
      id,
      async ({ record: before }) => {
        const draft = await this.#draftOf(before);
        check?.(draftDigest(before, draft));
        const first = await this.#withFirst(before, before, draft);
        const release = first.record.release ?? null;
        if (release === null) throw new Failure('version_not_found');
        if (wanted.type === 'rollout' && wanted.version === 'draft')
          return this.#pruned(
            before,
            rolledOut(first, draft, wanted, { note: null, createdAt: at, createdBy: makerOf(cause) }),
          );
        const event = eventOf(release, wanted);
        const named = await this.#named(first.record, event);
        return { ...withRelease(first.record, event, named, at), made: first.made };
      },
      cause,
    );
  }

  /** The change with the versions that it drops, if it makes one. */
  async #pruned(before: Assistant, changed: Versioned): Promise<Versioned> {
    if (changed.made === undefined) return changed;
    return { ...changed, dropped: await versionsToDrop(this.#store, before, changed.record) };
  }

  /** The version that the event names; null if it is known from the release. Throws 404 if it is not stored. */
  async #named({ id, workspaceId, release }: Assistant, event: ReleaseChange): Promise<AssistantVersion | null> {
    if (!('version' in event)) return null;
    if (event.version === release?.current || event.version === release?.candidate?.version) return null;
    const stored = await this.options.catalog.read('assistant_version', workspaceId, versionId(id, event.version));
    if (stored === null) throw new Failure('version_not_found');
    return stored.record;
  }

  /** Stores the version that an assistant from before versions existed is on, before one of its tools is changed. */
  async keepVersion({ workspaceId, id }: Assistant): Promise<void> {
    await this.change(workspaceId, id, async ({ record }) =>
      this.#withFirst(record, record, await this.#draftOf(record)),
    );
  }

  /** The tools of the draft, as they are stored. */
  #draftOf(record: Assistant): Promise<ToolsById> {
    return toolsAtOnce(
      record,
      async (id) => (await this.options.catalog.read('tool', record.workspaceId, id))?.record ?? null,
    );
  }

  /**
   * The record after a change. With the first change of an assistant from before versions existed, its version 1 is
   * stored: as it was before the change. One that was unpublished has a version 1 if it has sessions.
   */
  async #withFirst(before: Assistant, after: Assistant, draft: ToolsById): Promise<Versioned> {
    if (before.release !== undefined) return { record: after };
    if (!isUnversioned(before) && !(await this.#hasSessions(before))) return { record: { ...after, release: null } };
    const made = { note: null, createdAt: before.updatedAt, createdBy: null };
    const first = published({ ...before, release: null }, draft, made);
    return { record: { ...after, release: first.record.release! }, made: first.made };
  }

  /** Whether people have sessions of the assistant. */
  async #hasSessions({ id, workspaceId }: Assistant): Promise<boolean> {
    const filter = {
      assistantIds: [id],
      status: null,
      activeSince: 0,
      now: 0,
      channels: ['api', 'link', 'widget'],
    } as const;
    const page = { limit: 1, after: null, order: 'desc' } as const;
    return (await this.#store.sessions.list(workspaceId, filter, page)).items.length > 0;
  }
}

type Making = Pick<AssistantVersion, 'note' | 'createdAt' | 'createdBy'>;

const makerOf = ({ by }: Cause): AssistantVersion['createdBy'] => by && { id: by.id, name: by.name };

/** The number that the draft has as a version: of the current one or the candidate if it equals one of them. */
function numberOfDraft(release: Release | null, digest: string): number {
  if (release?.digest === digest) return release.current;
  if (release?.candidate?.digest === digest) return release.candidate.version;
  return (release?.newest ?? 0) + 1;
}

/** The record once its draft is published: as the next version, if it differs from the current one and the candidate. */
function published(record: Assistant, draft: ToolsById, made: Making): Versioned {
  const release = record.release ?? null;
  const version = numberOfDraft(release, draftDigest(record, draft));
  const next = version > (release?.newest ?? 0) ? versionOf(record, draft, { number: version, ...made }) : undefined;
  return { ...withRelease(record, { type: 'publish', version }, next ?? null, made.createdAt), made: next };
}

/** The record once its draft is rolled out, as the next version if it differs from the candidate. */
function rolledOut(
  { record, made: first }: Versioned,
  draft: ToolsById,
  { percent, halt }: Extract<ReleaseRequest, { type: 'rollout' }>,
  made: Making,
): Versioned {
  const release = record.release!;
  const version = numberOfDraft(release, draftDigest(record, draft));
  const next = version > release.newest ? versionOf(record, draft, { number: version, ...made }) : undefined;
  const change = { type: 'rollout', version, percent, ...(halt !== undefined && { halt }) } as const;
  return { ...withRelease(record, change, next ?? null, made.createdAt), made: next ?? first };
}

/** The event of a request; 404 if there is no version to go back to. */
function eventOf(release: Release, wanted: ReleaseRequest): ReleaseChange {
  if (wanted.type === 'rollout') {
    const { percent, halt, version } = wanted;
    return { type: 'rollout', version: version as number, percent, ...(halt !== undefined && { halt }) };
  }
  if (wanted.type !== 'rollback') return wanted;
  const version = wanted.version ?? release.earlier.findLast((earlier) => earlier < release.current);
  if (version === undefined) throw new Failure('version_not_found');
  return { type: 'rollback', version };
}

/** The record after a change of the versions that people get. */
function withRelease(
  record: Assistant,
  change: ReleaseChange,
  named: AssistantVersion | null,
  at: number,
): Omit<Versioned, 'made'> {
  const { release, decision } = changeRelease(record.release ?? null, change, named);
  return release === record.release ? { record } : { record: { ...record, updatedAt: at, release }, beside: decision };
}

/** The snapshot of a new draft. */
export const draftSnapshot = (voice: boolean) => ({ version: assistantVersion, state: 'draft', context: { voice } });
