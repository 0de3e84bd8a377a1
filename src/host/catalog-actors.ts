/**
 * Live actors over the console's records: a workspace, an assistant or a key with its machine. A change is decided on a
 * copy of the live actor and committed against the version that it was decided on; requests and watchers see it from
 * then on.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { thenSync } from '../base/then-sync.ts';
import {
  type AssistantVersion,
  type Catalog,
  type CatalogKind,
  type CatalogRecords,
  type Cause,
  type Move,
  type Snapshot,
  type Versioned,
} from '../store/store.ts';
import { manyWriters } from '../store/parts/change-record.ts';
import type { MachineDraft, MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { moveOf } from '../actors/history.ts';
import { isRefused, type ActorIdentity, type Decision, type Inspector } from '../actors/inspector.ts';
import { Mailbox } from '../actors/mailbox.ts';
import { Population, type Resident } from '../actors/population.ts';
import { Refusals, type Refused } from '../actors/refusals.ts';

/** A value with a type: an event or an outcome. */
type Typed = { type: string };

export class CatalogActor<
  K extends CatalogKind,
  Event extends Typed,
  Outcome extends Typed,
  Context,
> implements Resident {
  usedAt = 0;
  /** The time of the last read of the store, in monotonic milliseconds. */
  checkedAt = -Infinity;
  /** The read of the store that is under way; null without one. */
  checking: Promise<boolean> | null = null;
  record: CatalogRecords[K];
  version: number;
  machine: MachineInstance<Event, Outcome, Context>;
  readonly mailbox = new Mailbox();
  readonly identity: ActorIdentity;
  /** Null before the first refusal. */
  refusals: Refusals | null = null;
  readonly #inspector: Inspector;
  readonly #beside: Beside<K> | undefined;

  constructor(
    stored: Versioned<CatalogRecords[K]>,
    machine: MachineInstance<Event, Outcome, Context>,
    identity: ActorIdentity,
    inspector: Inspector,
    beside?: Beside<K>,
  ) {
    this.record = stored.record;
    this.version = stored.version;
    this.machine = machine;
    this.identity = identity;
    this.#inspector = inspector;
    this.#beside = beside;
    this.#live('activated');
  }

  get busy(): boolean {
    return this.mailbox.busy;
  }

  /** Sends the machine an event of the present time that commits nothing. Returns its outcomes. */
  send(event: Event, atMs: number, cause: Cause = nobody): Outcome[] {
    const { state: from } = this.machine;
    const outcomes = this.machine.send(event, this.version, cause);
    if (isRefused(outcomes)) this.note({ event, from, to: this.machine.state, outcomes }, atMs, cause);
    return outcomes;
  }

  /** Keeps decisions that commit nothing for the history. */
  note(decision: Refused, atMs: number, cause: Cause): void {
    (this.refusals ??= new Refusals()).note(this.version, atMs, decision, cause);
  }

  /** Adopts the stored record, after another process has changed it. `machine` is opened from the record. */
  adopt(stored: Versioned<CatalogRecords[K]>, machine: MachineInstance<Event, Outcome, Context>): void {
    this.machine = machine;
    this.record = stored.record;
    this.version = stored.version;
    this.#live('activated');
  }

  passivated(): void {
    this.#live('passivated');
  }

  #live(life: 'activated' | 'passivated'): void {
    if (!this.#inspector.watched) return;
    this.#inspector.life(life, this.identity, this.machine);
    const beside = this.#beside?.(this.record);
    if (beside !== undefined) this.#inspector.life(life, { ...this.identity, kind: beside.kind }, beside);
  }
}

/** The machine beside a record's own, whose state follows from the record. */
type Beside<K extends CatalogKind> = (record: CatalogRecords[K]) => {
  readonly kind: string;
  readonly state: string;
  readonly context: unknown;
};

export interface CatalogActorsOptions<K extends CatalogKind, Event extends Typed, Outcome extends Typed, Context> {
  readonly kind: K;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether other processes may change the records. */
  readonly shared: boolean;
  readonly inspector: Inspector;
  /** Absent without a second machine. */
  readonly beside?: Beside<K>;
  /** Opens the machine of a record. */
  open(
    record: CatalogRecords[K],
    identity: ActorIdentity,
  ): Promise<MachineInstance<Event, Outcome, Context>> | MachineInstance<Event, Outcome, Context>;
}

/** The basis of a change: the record, and a copy of the machine. */
export interface Undecided<K extends CatalogKind, Event extends Typed, Outcome extends Typed, Context> {
  readonly record: CatalogRecords[K];
  readonly machine: MachineDraft<Event, Outcome, Context>;
}

/** The record after a change, and the version of the assistant that the same step stores. */
export interface Changed<K extends CatalogKind> {
  readonly record: CatalogRecords[K];
  readonly made?: AssistantVersion | undefined;
  /** The ids of the assistant's versions that the same step removes. */
  readonly dropped?: readonly string[] | undefined;
  /** The decision of a machine beside the record's own: it is in the same history. */
  readonly beside?: Decision | undefined;
}

/** Decides a change. It may read other records meanwhile: the step is compared with the record that it is based on. */
export type Decide<K extends CatalogKind, Event extends Typed, Outcome extends Typed, Context> = (
  undecided: Undecided<K, Event, Outcome, Context>,
) => Changed<K> | Promise<Changed<K>>;

type MaybeActor<K extends CatalogKind, Event extends Typed, Outcome extends Typed, Context> =
  | CatalogActor<K, Event, Outcome, Context>
  | null
  | Promise<CatalogActor<K, Event, Outcome, Context> | null>;

export class CatalogActors<K extends CatalogKind, Event extends Typed, Outcome extends Typed, Context> {
  protected readonly options: CatalogActorsOptions<K, Event, Outcome, Context>;
  readonly population: Population<CatalogActor<K, Event, Outcome, Context>>;

  constructor(options: CatalogActorsOptions<K, Event, Outcome, Context>) {
    this.options = options;
    this.population = new Population(options.clock, limits);
  }

  /**
   * The actor with this id in this workspace; null if it is unknown. An id of another workspace is treated as unknown.
   */
  of(workspaceId: string, id: string): MaybeActor<K, Event, Outcome, Context> {
    return thenSync(
      this.population.activate(id, () => this.#load(workspaceId, id), workspaceId),
      (actor) => {
        if (actor === null || actor.identity.workspaceId !== workspaceId) return null;
        // A store with a single owner changes a record behind its actor only in a step of another record.
        return this.options.shared || actor.checkedAt === -Infinity
          ? thenSync(this.checkFresh(actor), (lives) => (lives ? actor : null))
          : actor;
      },
    );
  }

  get kind(): CatalogKind {
    return this.options.kind;
  }

  /** Makes the next use read the store first. */
  doubt(id: string): void {
    const actor = this.population.peek(id);
    if (actor !== undefined) actor.checkedAt = -Infinity;
  }

  /** Marks all actors, or one workspace's, as possibly changed. */
  doubtAll(workspaceId?: string): void {
    for (const actor of this.population.residents())
      if (workspaceId === undefined || actor.identity.workspaceId === workspaceId) actor.checkedAt = -Infinity;
  }

  /** Reads the store, since the actor may be older than it. */
  async refresh(actor: CatalogActor<K, Event, Outcome, Context>): Promise<void> {
    actor.checkedAt = -Infinity;
    await this.checkFresh(actor);
  }

  /** Reads the store if the last read is older than `catalogFreshMs`; false if the record was removed. */
  checkFresh(actor: CatalogActor<K, Event, Outcome, Context>): Promise<boolean> | boolean {
    const now = this.options.clock.monotonic();
    if (now - actor.checkedAt < limits.catalogFreshMs) return true;
    actor.checking ??= this.#check(actor, now).finally(() => (actor.checking = null));
    return actor.checking;
  }

  #check(actor: CatalogActor<K, Event, Outcome, Context>, askedAt: number): Promise<boolean> {
    return actor.mailbox.post(async () => {
      const { id, workspaceId } = actor.identity;
      const stored = await this.options.catalog.read(this.options.kind, workspaceId, id);
      if (stored === null) this.population.discard(id);
      // After a failover that lost some changes the store may give the same version again, so the record is compared as
      // well.
      else if (stored.version !== actor.version || !isDeepStrictEqual(stored.record, actor.record)) {
        actor.adopt(stored, await this.options.open(stored.record, actor.identity));
      }
      actor.checkedAt = askedAt;
      return stored !== null;
    });
  }

  /** Makes a live actor from a record that the caller has read. */
  async adopt(
    stored: Versioned<CatalogRecords[K]>,
    workspaceId: string,
  ): Promise<CatalogActor<K, Event, Outcome, Context>> {
    const identity = { kind: this.options.kind, id: stored.record.id, workspaceId };
    return (await this.population.activate(stored.record.id, async () => {
      const machine = await this.options.open(stored.record, identity);
      return new CatalogActor(stored, machine, identity, this.options.inspector, this.options.beside);
    }))!;
  }

  /**
   * Decides, commits and applies a change: `decide` returns the record after it. Resolves with the changed actor, or
   * null if the record does not exist. Rethrows errors of `decide` and the store, and then the actor is unchanged.
   */
  async change(
    workspaceId: string,
    id: string,
    decide: Decide<K, Event, Outcome, Context>,
    cause: Cause = nobody,
  ): Promise<CatalogActor<K, Event, Outcome, Context> | null> {
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const actor = await this.of(workspaceId, id);
      if (actor === null) return null;
      const changed = await actor.mailbox.post(() => this.#commit(actor, decide, cause));
      if (changed) return actor;
    }
    throw manyWriters(this.options.kind);
  }

  async remove(workspaceId: string, id: string, { audit }: Cause = nobody): Promise<boolean> {
    const before = audit === undefined ? null : await this.of(workspaceId, id);
    const row = before === null ? undefined : audit!(before.record as never, null as never);
    const removed = await this.options.catalog.remove(this.options.kind, workspaceId, id, row);
    if (removed) this.population.discard(id);
    return removed;
  }

  /**
   * False if another writer changed the record: the actor then holds the stored record, and the caller must decide
   * again.
   */
  async #commit(
    actor: CatalogActor<K, Event, Outcome, Context>,
    decide: Decide<K, Event, Outcome, Context>,
    cause: Cause,
  ): Promise<boolean> {
    const { kind, catalog } = this.options;
    const machine = actor.machine.draft();
    const { record, made, dropped, beside } = await decide({ record: actor.record, machine });
    const at = this.options.clock.now();
    const version = await catalog.replace(
      kind,
      record,
      actor.version,
      changeMove(record, actor, [machine.decisions.at(-1), beside], at, cause),
      cause.audit?.(actor.record as never, record as never),
      made,
      dropped,
    );
    if (version !== null) {
      actor.record = record;
      actor.version = version;
      // Requests may have moved the machine meanwhile, by a slot taken or a debt made: the decision's events apply to
      // its state now.
      this.level(actor);
      for (const { event } of machine.decisions) actor.send(event, at, cause);
      if (beside !== undefined && this.options.beside !== undefined)
        this.options.inspector.event(
          { ...actor.identity, kind: this.options.beside(record).kind },
          beside,
          version,
          cause,
        );
      return true;
    }
    const stored = await catalog.read(kind, actor.identity.workspaceId, actor.identity.id);
    if (stored === null) {
      this.population.discard(actor.identity.id);
      return false;
    }
    // `open` comes first: it throws if this version cannot read the snapshot, and then the record is not adopted.
    actor.adopt(stored, await this.options.open(stored.record, actor.identity));
    return false;
  }

  /**
   * Sends the machine the events that were withheld because they did not change its state so far. No watcher sees them.
   */
  protected level(_actor: CatalogActor<K, Event, Outcome, Context>): void {}

  /** Brings every live machine up to date, as watchers must see it. */
  levelAll(): void {
    for (const actor of this.population.residents()) this.level(actor);
  }

  async #load(workspaceId: string, id: string): Promise<CatalogActor<K, Event, Outcome, Context> | null> {
    const askedAt = this.options.clock.monotonic();
    const stored = await this.options.catalog.read(this.options.kind, workspaceId, id);
    if (stored === null) return null;
    const identity = { kind: this.options.kind, id, workspaceId };
    const actor = new CatalogActor(
      stored,
      await this.options.open(stored.record, identity),
      identity,
      this.options.inspector,
      this.options.beside,
    );
    actor.checkedAt = askedAt;
    return actor;
  }
}

/**
 * Returns the history's entry for a change. It names the stored states: a key's debt, which is not stored, leaves no
 * trace in it. A decision of the machine beside has its own entry if the record's machine decided nothing.
 */
function changeMove(
  record: object,
  before: { readonly record: object; readonly version: number },
  [own, beside]: readonly [own: Decision | undefined, beside: Decision | undefined],
  atMs: number,
  cause: Cause,
): Move | undefined {
  if (!hasMachine(record) || !hasMachine(before.record)) return undefined;
  const decision =
    own === undefined
      ? beside
      : {
          ...own,
          from: before.record.machine.state,
          to: record.machine.state,
          outcomes: [...own.outcomes, ...(beside?.outcomes ?? [])],
        };
  return decision && moveOf(decision, before.version + 1, atMs, cause, record.machine);
}

const hasMachine = (record: object): record is { readonly machine: Snapshot } => 'machine' in record;
