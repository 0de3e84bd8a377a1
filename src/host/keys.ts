/** Key actors: whether a request may pass, and what it costs. */
import { keyKind, keyVersion, longerDebt, type Debt, type KeyContext, type KeyEvent, type KeyOutcome, type Levels } from '../../machines/key.ts';
import { full, remaining, resetAt } from '../../machines/budget.ts';
import { secondsOf, type Clock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { isWhole, matches, publicIdOf } from '../keys.ts';
import { promptly } from '../promptly.ts';
import type { BudgetName, Cause, Key, StandingBudget, Store, Taken } from '../store.ts';
import { openActor, refusalOf } from './actor.ts';
import { nobody } from './cause.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';
import { UnknownKeys } from './unknown-keys.ts';

export type KeyActor = CatalogActor<'key', KeyEvent, KeyOutcome>;

export class Keys extends CatalogActors<'key', KeyEvent, KeyOutcome> {
  readonly #store: Store;
  readonly #owed = new WeakMap<object, Debt>();
  /** A key's budgets as they were answered last in this process. */
  readonly #answered = new WeakMap<KeyActor, Partial<Record<BudgetName, StandingBudget>>>();
  readonly #unknown: UnknownKeys;
  /** Reads under way, by id: concurrent requests for the same key share one. */
  readonly #lookUps = new Map<string, Promise<KeyActor | null>>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'key',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) => openActor<KeyEvent, KeyOutcome>(keyKind, { snapshot: record.machine }, identity, inspector),
    });
    this.#store = store;
    this.#unknown = new UnknownKeys(clock);
  }

  override doubt(id: string): void {
    super.doubt(id);
    this.#unknown.forget(id);
  }

  override doubtAll(): void {
    super.doubtAll();
    this.#unknown.forgetAll();
  }

  /** The key with this text; throws the 401 that says why the text is not a valid key. Charges no budget. */
  authenticate(text: string, requestId: string | null = null): KeyActor | Promise<KeyActor> {
    const publicId = publicIdOf(text);
    const live = publicId === null ? undefined : this.population.peek(keyIdOf(publicId));
    const known = live !== undefined && matches(text, live.record.digest);
    return known && this.#isFresh(live) ? this.#admitted(live, requestId) : this.#recognized(text, requestId);
  }

  /** Does the same for a key that is not live or may have changed. */
  async #recognized(text: string, requestId: string | null): Promise<KeyActor> {
    const publicId = publicIdOf(text);
    const actor = publicId === null ? null : await this.#byPublicId(publicId, text);
    if (actor === null || !matches(text, actor.record.digest)) throw new Failure('invalid_api_key');
    return this.#admitted(actor, requestId);
  }

  #isFresh(actor: KeyActor): boolean {
    return !this.options.shared || this.fresh(actor) === true;
  }

  #admitted(actor: KeyActor, requestId: string | null): KeyActor {
    const at = this.options.clock.now();
    const { state } = actor.machine;
    // The machine gets an event only where it would refuse or change state: a request within the key's budgets changes nothing in it.
    if (state === 'revoked' || state === 'expired' || isOverdue(actor, at)) {
      const refusal = refusalOf(actor.send({ type: 'request', at, debt: null }, at, causeOf(actor, requestId)));
      if (refusal !== null) throw new Failure(refusal);
    }
    return actor;
  }

  /** Charges one request to the budgets, in order until one refuses; the last item is the verdict. */
  take(actor: KeyActor, budgets: readonly BudgetName[], requestId: string | null = null): Taken[] | Promise<Taken[]> {
    const { id, workspaceId, limits } = actor.record;
    const at = this.options.clock.now();
    const asked = budgets.map((budget) => ({ budget, ceiling: limits[budget] }));
    return promptly(this.#store.limits.takeBudgets(workspaceId, id, asked, at), (taken) => this.#taken(actor, taken, at, requestId));
  }

  /**
   * How a budget stands by what this process was answered last, refilled since then; full if it was answered nothing. For an answer that
   * must tell it while the store does not: other processes may have charged it meanwhile.
   */
  standing(actor: KeyActor, budget: BudgetName): StandingBudget {
    const ceiling = actor.record.limits[budget];
    const at = this.options.clock.now();
    const whole = full(ceiling, at);
    const answered = this.#answered.get(actor)?.[budget];
    if (answered === undefined) return { remaining: ceiling, resetAt: resetAt(whole, ceiling) };
    // A budget refills evenly, so that the time when it is full tells how much it lacks; rounded up to a second it tells too much.
    const lackMs = Math.max(0, answered.resetAt * 1000 - at);
    const bucket = { level: whole.level - lackMs * ceiling, at };
    return { remaining: Math.min(ceiling, Math.max(answered.remaining, remaining(bucket))), resetAt: resetAt(bucket, ceiling) };
  }

  #taken(actor: KeyActor, taken: Taken[], at: number, requestId: string | null): Taken[] {
    this.#note(actor, taken);
    const last = taken.at(-1);
    const debt = last === undefined || last.passed ? null : { budget: last.budget, until: at + last.retryAfterSeconds * 1000 };
    const { state } = actor.machine;
    const limited = state === 'limited';
    const { watched } = this.options.inspector;
    if (debt !== null && limited && !watched && !isOverdue(actor, at)) {
      this.#owe(actor, debt);
      actor.refused({ event: { type: 'request' }, from: state, to: state, outcomes: overBudget }, at, causeOf(actor, requestId));
    } else if (debt !== null || limited) {
      this.#level(actor, at);
      actor.send({ type: 'request', at, debt, ...(watched && { budgets: levelsOf(actor.record, taken) }) }, at, causeOf(actor, requestId));
    } else if (watched && state === 'active' && !isOverdue(actor, at)) {
      actor.send({ type: 'request', at, debt, budgets: levelsOf(actor.record, taken) }, at, causeOf(actor, requestId));
    }
    return taken;
  }

  #note(actor: KeyActor, taken: readonly Taken[]): void {
    let answered = this.#answered.get(actor);
    if (answered === undefined) this.#answered.set(actor, (answered = {}));
    for (const each of taken) answered[each.budget] = each;
  }

  /** A key that stays limited only gets more debt: its machine gets the debt when it may change state by it, or when there is a watcher. */
  #owe({ machine }: KeyActor, debt: Debt): void {
    const owed = this.#owed.get(machine) ?? (machine.context as KeyContext).debt;
    this.#owed.set(machine, longerDebt(owed, debt)!);
  }

  protected override level(actor: KeyActor): void {
    this.#level(actor, this.options.clock.now());
  }

  /** A debt may be paid off, or the key's date reached, without a request that would tell the machine. */
  override levelAll(): void {
    super.levelAll();
    const at = this.options.clock.now();
    for (const { machine, version } of this.population.residents()) {
      const decision = machine.decide({ type: 'tick', at });
      if (decision.from !== decision.to) machine.tell(decision, version, nobody);
    }
  }

  /** Sends the machine the debt that was not sent to it yet. */
  #level({ machine }: KeyActor, at: number): void {
    const debt = this.#owed.get(machine);
    if (debt === undefined) return;
    this.#owed.delete(machine);
    machine.decide({ type: 'request', at, debt });
  }

  async revoke(workspaceId: string, id: string, cause: Cause = nobody): Promise<KeyActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const at = this.options.clock.now();
      actor.machine.send({ type: 'revoke', at });
      const { revokedAt } = actor.machine.context as KeyContext;
      return { ...actor.record, revokedAt, machine: settled(actor.machine.snapshot()) };
    }, cause);
  }

  async configure(workspaceId: string, id: string, change: (record: Key) => Key, cause: Cause = nobody): Promise<KeyActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const record = change(actor.record);
      actor.machine.send({ type: 'configure', at: this.options.clock.now(), expiresAt: record.expiresAt });
      return { ...record, machine: settled(actor.machine.snapshot()) };
    }, cause);
  }

  async #byPublicId(publicId: string, text: string): Promise<KeyActor | null> {
    const live = this.population.peek(keyIdOf(publicId));
    // A text with a wrong checksum needs no read. The digest of a live key that needs no read finds a wrong text anyway.
    if ((live === undefined || this.options.shared) && !isWhole(text)) return null;
    // A key that was removed may have left its public id to another key.
    if (live !== undefined && (!this.options.shared || (await this.fresh(live)))) return live;
    const id = keyIdOf(publicId);
    if (this.#unknown.has(id)) return null;
    let lookUp = this.#lookUps.get(id);
    if (lookUp === undefined) this.#lookUps.set(id, (lookUp = this.#lookUp(publicId, id).finally(() => this.#lookUps.delete(id))));
    return lookUp;
  }

  async #lookUp(publicId: string, id: string): Promise<KeyActor | null> {
    const askedAt = this.options.clock.monotonic();
    const found = await this.#store.catalog.keyByPublicId(publicId);
    if (found === null) {
      this.#unknown.add(id, askedAt);
      return null;
    }
    return this.adopt(found, found.record.workspaceId);
  }
}

const overBudget = [{ type: 'refused', code: 'rate_limited' }] as const;

/** The key's own request. */
const causeOf = ({ record: { id, name } }: KeyActor, requestId: string | null): Cause => ({ requestId, by: { kind: 'key', id, name } });

const levelsOf = ({ limits }: Key, taken: readonly Taken[]): Levels =>
  Object.fromEntries(taken.map(({ budget, remaining, resetAt }) => [budget === 'transcriptionTokens' ? 'transcription_tokens' : budget, { limit: limits[budget], remaining, reset: resetAt }]));

function isOverdue({ machine }: KeyActor, at: number): boolean {
  const { expiresAt } = machine.context as KeyContext;
  return expiresAt !== null && at >= expiresAt * 1000;
}

/** A key's id contains its public part, so that a live key is found without the store. */
export const keyIdOf = (publicId: string): string => `key_${publicId}`;

/** The budgets hold the debt; a stored key is active, revoked or expired. */
const settled = (snapshot: { version: number; state: string; context: unknown }) => ({
  ...snapshot,
  state: snapshot.state === 'limited' ? 'active' : snapshot.state,
  context: { ...(snapshot.context as KeyContext), debt: null },
});

/** The snapshot of a new, active key. */
export const activeSnapshot = (expiresAt: number | null) => ({
  version: keyVersion,
  state: 'active',
  context: { expiresAt, revokedAt: null, debt: null } satisfies KeyContext,
});

/** The key's status as clients see it: a debt is not a status. */
export function keyStatus(key: Key, now: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && secondsOf(now) >= key.expiresAt ? 'expired' : 'active';
}
