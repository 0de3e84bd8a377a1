/**
 * Live actors over the console's records: a workspace, an assistant or a key with its machine. A change is decided on the
 * live actor, committed against the version it was decided on, and seen by every request from then on.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import { promptly } from '../promptly.ts';
import { StoreUnavailable, type Catalog, type CatalogKind, type CatalogRecords, type Versioned } from '../store.ts';
import type { Stateful } from './actor.ts';
import type { ActorIdentity, Inspector } from './inspector.ts';
import { Mailbox } from './mailbox.ts';
import { Population, type Resident } from './population.ts';

export class CatalogActor<K extends CatalogKind, Event, Outcome> implements Resident {
  usedAt = 0;
  /** When the store was last asked, in monotonic milliseconds. */
  checkedAt = -Infinity;
  /** Asks the store, while it does. */
  checking: Promise<boolean> | null = null;
  record: CatalogRecords[K];
  version: number;
  machine: Stateful<Event, Outcome>;
  readonly mailbox = new Mailbox();
  readonly identity: ActorIdentity;
  readonly #inspector: Inspector;

  constructor(found: Versioned<CatalogRecords[K]>, machine: Stateful<Event, Outcome>, identity: ActorIdentity, inspector: Inspector) {
    this.record = found.record;
    this.version = found.version;
    this.machine = machine;
    this.identity = identity;
    this.#inspector = inspector;
    inspector.life('activated', identity, machine.state);
  }

  get busy(): boolean {
    return this.mailbox.busy;
  }

  passivated(): void {
    this.#inspector.life('passivated', this.identity, this.machine.state);
  }
}

export interface CatalogActorsOptions<K extends CatalogKind, Event, Outcome> {
  readonly kind: K;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Other processes change the records as well. */
  readonly shared: boolean;
  readonly inspector: Inspector;
  /** Brings the machine of a record to life. */
  open(record: CatalogRecords[K], identity: ActorIdentity): Promise<Stateful<Event, Outcome>> | Stateful<Event, Outcome>;
}

type MaybeActor<K extends CatalogKind, Event, Outcome> = CatalogActor<K, Event, Outcome> | null | Promise<CatalogActor<K, Event, Outcome> | null>;

export class CatalogActors<K extends CatalogKind, Event, Outcome> {
  protected readonly options: CatalogActorsOptions<K, Event, Outcome>;
  readonly population: Population<CatalogActor<K, Event, Outcome>>;

  constructor(options: CatalogActorsOptions<K, Event, Outcome>) {
    this.options = options;
    this.population = new Population(options.clock, limits);
  }

  /** The actor with this id in this workspace, or null: an id of another workspace is as unknown as none. */
  of(workspaceId: string, id: string): MaybeActor<K, Event, Outcome> {
    return promptly(this.population.activate(id, () => this.#load(workspaceId, id), workspaceId), (actor) => {
      if (actor === null || actor.identity.workspaceId !== workspaceId) return null;
      return this.options.shared ? promptly(this.fresh(actor), (lives) => (lives ? actor : null)) : actor;
    });
  }

  get kind(): CatalogKind {
    return this.options.kind;
  }

  /** The next ask looks at the store first. */
  doubt(id: string): void {
    const actor = this.population.peek(id);
    if (actor !== undefined) actor.checkedAt = -Infinity;
  }

  doubtAll(): void {
    for (const actor of this.population.residents()) actor.checkedAt = -Infinity;
  }

  /** Sees to it that the actor is no older than `catalogFreshMs`; false if it is gone. */
  fresh(actor: CatalogActor<K, Event, Outcome>): Promise<boolean> | boolean {
    const now = this.options.clock.monotonic();
    if (now - actor.checkedAt < limits.catalogFreshMs) return true;
    actor.checking ??= this.#check(actor, now).finally(() => (actor.checking = null));
    return actor.checking;
  }

  #check(actor: CatalogActor<K, Event, Outcome>, askedAt: number): Promise<boolean> {
    return actor.mailbox.post(async () => {
      const { id, workspaceId } = actor.identity;
      const found = await this.options.catalog.read(this.options.kind, workspaceId, id);
      if (found === null) this.population.discard(id);
      // After a failover that forgot some changes a version alone can repeat.
      else if (found.version !== actor.version || !isDeepStrictEqual(found.record, actor.record)) {
        actor.machine = await this.options.open(found.record, actor.identity);
        actor.record = found.record;
        actor.version = found.version;
      }
      actor.checkedAt = askedAt;
      return found !== null;
    });
  }

  /** Makes a live actor of a record that is at hand already. */
  async adopt(found: Versioned<CatalogRecords[K]>, workspaceId: string): Promise<CatalogActor<K, Event, Outcome>> {
    const identity = { kind: this.options.kind, id: found.record.id, workspaceId };
    return (await this.population.activate(found.record.id, async () => {
      const machine = await this.options.open(found.record, identity);
      return new CatalogActor(found, machine, identity, this.options.inspector);
    }))!;
  }

  /**
   * Decides, commits, answers: `decide` gets the actor and returns the record as it will be. The changed actor, or null
   * if there is none. Throws what `decide` throws, and then nothing has changed.
   */
  async change(
    workspaceId: string,
    id: string,
    decide: (actor: CatalogActor<K, Event, Outcome>) => CatalogRecords[K],
  ): Promise<CatalogActor<K, Event, Outcome> | null> {
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const actor = await this.of(workspaceId, id);
      if (actor === null) return null;
      const changed = await actor.mailbox.post(() => this.#commit(actor, decide));
      if (changed) return actor;
    }
    throw new StoreUnavailable(`a ${this.options.kind} would not hold still`);
  }

  async remove(workspaceId: string, id: string): Promise<boolean> {
    const removed = await this.options.catalog.remove(this.options.kind, workspaceId, id);
    if (removed) this.population.discard(id);
    return removed;
  }

  /** False if somebody else moved: the actor is then as the store has it, and the decision is to be taken again. */
  async #commit(actor: CatalogActor<K, Event, Outcome>, decide: (actor: CatalogActor<K, Event, Outcome>) => CatalogRecords[K]): Promise<boolean> {
    const { kind, catalog } = this.options;
    try {
      const record = decide(actor);
      const version = await catalog.replace(kind, record, actor.version);
      if (version !== null) {
        actor.record = record;
        actor.version = version;
        return true;
      }
    } catch (error) {
      // What was decided and not committed never happened, for this request and for those that wait behind it.
      actor.machine = await this.options.open(actor.record, actor.identity);
      throw error;
    }
    const found = await catalog.read(kind, actor.identity.workspaceId, actor.identity.id);
    if (found === null) {
      this.population.discard(actor.identity.id);
      return false;
    }
    actor.record = found.record;
    actor.version = found.version;
    actor.machine = await this.options.open(found.record, actor.identity);
    return false;
  }

  async #load(workspaceId: string, id: string): Promise<CatalogActor<K, Event, Outcome> | null> {
    const askedAt = this.options.clock.monotonic();
    const found = await this.options.catalog.read(this.options.kind, workspaceId, id);
    if (found === null) return null;
    const identity = { kind: this.options.kind, id, workspaceId };
    const actor = new CatalogActor(found, await this.options.open(found.record, identity), identity, this.options.inspector);
    actor.checkedAt = askedAt;
    return actor;
  }
}
