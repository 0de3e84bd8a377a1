/** Key actors: whether a request may pass, and what it costs. */
import { keyMachine, keyVersion, longerDebt, type Debt, type KeyContext, type KeyEvent, type KeyOutcome } from '../../machines/key.ts';
import { secondsOf, type Clock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { isWhole, matches, publicIdOf } from '../keys.ts';
import { promptly } from '../promptly.ts';
import type { BudgetName, Key, Store, Taken } from '../store.ts';
import { openActor, refusalOf } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';

export type KeyActor = CatalogActor<'key', KeyEvent, KeyOutcome>;

export class Keys extends CatalogActors<'key', KeyEvent, KeyOutcome> {
  readonly #store: Store;
  readonly #owed = new WeakMap<object, Debt>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'key',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) => openActor<KeyEvent, KeyOutcome>(keyMachine, keyVersion, { snapshot: record.machine }, identity, inspector),
    });
    this.#store = store;
  }

  /** The key that this text is; throws the 401 that says why it is none. Costs no budget. */
  authenticate(text: string): KeyActor | Promise<KeyActor> {
    const publicId = publicIdOf(text);
    const live = publicId === null ? undefined : this.population.peek(keyIdOf(publicId));
    const known = live !== undefined && matches(text, live.record.digest);
    return known && this.#isFresh(live) ? this.#admitted(live) : this.#recognized(text);
  }

  /** As above, of a key that is not awake or may have changed. */
  async #recognized(text: string): Promise<KeyActor> {
    const publicId = publicIdOf(text);
    const actor = publicId === null ? null : await this.#byPublicId(publicId, text);
    if (actor === null || !matches(text, actor.record.digest)) throw new Failure('invalid_api_key');
    return this.#admitted(actor);
  }

  #isFresh(actor: KeyActor): boolean {
    return !this.options.shared || this.fresh(actor) === true;
  }

  #admitted(actor: KeyActor): KeyActor {
    const at = this.options.clock.now();
    const { state } = actor.machine;
    // The machine is asked only where it would refuse or move: within its budgets a key's request changes nothing in it.
    if (state === 'revoked' || state === 'expired' || isOverdue(actor, at)) {
      const refusal = refusalOf(actor.machine.send({ type: 'request', at, debt: null }));
      if (refusal !== null) throw new Failure(refusal);
    }
    return actor;
  }

  /** Holds a request against the budgets, in order until one refuses; the last item tells the verdict. */
  take(actor: KeyActor, budgets: readonly BudgetName[]): Taken[] | Promise<Taken[]> {
    const { id, workspaceId, limits } = actor.record;
    const at = this.options.clock.now();
    const asked = budgets.map((budget) => ({ budget, ceiling: limits[budget] }));
    return promptly(this.#store.takeBudgets(workspaceId, id, asked, at), (taken) => this.#taken(actor, taken, at));
  }

  #taken(actor: KeyActor, taken: Taken[], at: number): Taken[] {
    const last = taken.at(-1);
    const debt = last === undefined || last.passed ? null : { budget: last.budget, until: at + last.retryAfterSeconds * 1000 };
    const limited = actor.machine.state === 'limited';
    if (debt !== null && limited && !this.options.inspector.watched && !isOverdue(actor, at)) this.#owe(actor, debt);
    else if (debt !== null || limited) {
      this.#level(actor, at);
      actor.machine.send({ type: 'request', at, debt });
    }
    return taken;
  }

  /** A key that stays limited only owes more: its machine is told when that may move it, or when somebody watches. */
  #owe({ machine }: KeyActor, debt: Debt): void {
    const owed = this.#owed.get(machine) ?? (machine.context as KeyContext).debt;
    this.#owed.set(machine, longerDebt(owed, debt)!);
  }

  /** Tells the machine what it was not told of. */
  #level({ machine }: KeyActor, at: number): void {
    const debt = this.#owed.get(machine);
    if (debt === undefined) return;
    this.#owed.delete(machine);
    machine.send({ type: 'request', at, debt });
  }

  async revoke(workspaceId: string, id: string): Promise<KeyActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const at = this.options.clock.now();
      actor.machine.send({ type: 'revoke', at });
      const { revokedAt } = actor.machine.context as KeyContext;
      return { ...actor.record, revokedAt, machine: settled(actor.machine.snapshot()) };
    });
  }

  async configure(workspaceId: string, id: string, change: (record: Key) => Key): Promise<KeyActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const record = change(actor.record);
      const at = this.options.clock.now();
      this.#level(actor, at);
      actor.machine.send({ type: 'configure', at, expiresAt: record.expiresAt });
      return { ...record, machine: settled(actor.machine.snapshot()) };
    });
  }

  async #byPublicId(publicId: string, text: string): Promise<KeyActor | null> {
    const live = this.population.peek(keyIdOf(publicId));
    // A copy that is not whole costs no look-up, and one of a live key that needs none is found out by its digest.
    if ((live === undefined || this.options.shared) && !isWhole(text)) return null;
    // One that is gone may have left its public id to another.
    if (live !== undefined && (!this.options.shared || (await this.fresh(live)))) return live;
    const found = await this.#store.catalog.keyByPublicId(publicId);
    if (found === null) return null;
    return this.adopt(found, found.record.workspaceId);
  }
}

function isOverdue({ machine }: KeyActor, at: number): boolean {
  const { expiresAt } = machine.context as KeyContext;
  return expiresAt !== null && at >= expiresAt * 1000;
}

/** A key's id carries its public part, so that a key that is awake is found without the store. */
export const keyIdOf = (publicId: string): string => `key_${publicId}`;

/** Debt lives in the budgets; a stored key is active, revoked or expired. */
const settled = (snapshot: { version: number; state: string; context: unknown }) => ({
  ...snapshot,
  state: snapshot.state === 'limited' ? 'active' : snapshot.state,
  context: { ...(snapshot.context as KeyContext), debt: null },
});

/** An active key's machine at its beginning. */
export const activeSnapshot = (expiresAt: number | null) => ({
  version: keyVersion,
  state: 'active',
  context: { expiresAt, revokedAt: null, debt: null } satisfies KeyContext,
});

/** The key's status as its people see it: a debt is not a status. */
export function keyStatus(key: Key, now: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && secondsOf(now) >= key.expiresAt ? 'expired' : 'active';
}
