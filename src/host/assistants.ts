/** Assistant actors: configuration and state. Every request sees the newest version at once. */
import {
  assistantKind,
  assistantVersion,
  type AssistantEvent,
  type AssistantOutcome,
} from '../../machines/assistant.ts';
import type { Clock } from '../base/clock.ts';
import type { ErrorName } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import type { Assistant, Cause, Store } from '../store/store.ts';
import { aliasKey, aliasPattern, slugPattern } from '../base/text.ts';
import { openActor, refusalOf } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import type { Inspector } from '../actors/inspector.ts';
import { Aliases } from './aliases.ts';
import { LookUps } from './look-ups.ts';
import { CatalogActors, type CatalogActor } from './catalog-actors.ts';

export type AssistantActor = CatalogActor<'assistant', AssistantEvent, AssistantOutcome>;
export type AssistantVerb = 'publish' | 'unpublish' | 'disable' | 'enable';

const idPattern = /^asst_[0-9a-z]{26}$/;

export class Assistants extends CatalogActors<'assistant', AssistantEvent, AssistantOutcome> {
  /** The state in which an assistant converses, by machine. */
  readonly #conversing = new WeakMap<object, string>();

  /** The workspace and id of each slug's assistant; checked against the record at each use. */
  readonly #slugs = new Map<string, { readonly workspaceId: string; readonly id: string }>();
  readonly #lookUps: LookUps<Assistant>;
  readonly #aliases: Aliases;

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'assistant',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) =>
        openActor<AssistantEvent, AssistantOutcome>(assistantKind, { snapshot: record.machine }, identity, inspector),
    });
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
      CatalogActors<'assistant', AssistantEvent, AssistantOutcome>['change']
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

  /** Applies one of the console's verbs. `check` throws if the record may not be changed. */
  move(
    workspaceId: string,
    id: string,
    verb: AssistantVerb,
    at: number,
    cause: Cause = nobody,
    check?: (record: Assistant) => void,
  ): Promise<AssistantActor | null> {
    return this.change(
      workspaceId,
      id,
      (actor) => {
        check?.(actor.record);
        const moved = actor.machine.send({ type: verb }).some(({ type }) => type === 'moved');
        return moved ? { ...actor.record, updatedAt: at, machine: actor.machine.snapshot() } : actor.record;
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
  ): Promise<AssistantActor | null> {
    return this.change(
      workspaceId,
      id,
      (actor) => {
        const record = change(actor.record);
        actor.machine.send({ type: 'configure', voice: record.channels.voice });
        return { ...record, machine: actor.machine.snapshot() };
      },
      cause,
    );
  }
}

/** The snapshot of a new draft. */
export const draftSnapshot = (voice: boolean) => ({ version: assistantVersion, state: 'draft', context: { voice } });
