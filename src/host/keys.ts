/** Key actors: they decide whether a request may pass, and charge it. */
import {
  keyKind,
  keyVersion,
  longerDebt,
  type Debt,
  type KeyContext,
  type KeyEvent,
  type KeyOutcome,
  type Levels,
} from '../../machines/key.ts';
import { full, remaining, resetAt } from '../../machines/budget.ts';
import { secondsOf, type Clock } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { isWhole, matchesDigest, publicIdOf } from '../access/keys.ts';
import { thenSync } from '../base/then-sync.ts';
import type { BudgetName, Cause, Key, Snapshot, StandingBudget, Store, Taken } from '../store/store.ts';
import { openActor, refusalOf } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { isRefused, type Inspector } from '../actors/inspector.ts';
import { LookUps } from './look-ups.ts';
import { CatalogActors, type CatalogActor } from './catalog-actors.ts';

export type KeyActor = CatalogActor<'key', KeyEvent, KeyOutcome, KeyContext>;

export class Keys extends CatalogActors<'key', KeyEvent, KeyOutcome, KeyContext> {
  readonly #store: Store;
  readonly #owed = new WeakMap<object, Debt>();
  /** Limited keys whose recovery is awaited. */
  readonly #recovering = new WeakSet<KeyActor>();
  /** A key's budgets by the last answer of the store to this process. */
  readonly #answered = new WeakMap<KeyActor, Partial<Record<BudgetName, StandingBudget>>>();
  readonly #lookUps: LookUps<KeyActor>;

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'key',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) =>
        openActor<KeyEvent, KeyOutcome, KeyContext>(keyKind, { snapshot: record.machine }, identity, inspector),
    });
    this.#store = store;
    this.#lookUps = new LookUps(clock);
  }

  override doubt(id: string): void {
    super.doubt(id);
    this.#lookUps.forget(id);
  }

  override doubtAll(workspaceId?: string): void {
    super.doubtAll(workspaceId);
    this.#lookUps.forgetAll();
  }

  /** The key with this text; throws the 401 that says why the text is not a valid key. Charges no budget. */
  authenticate(text: string, requestId: string | null = null): KeyActor | Promise<KeyActor> {
    const live = this.#live(text);
    return live !== null && this.#isFresh(live) ? this.#admit(live, requestId) : this.#recognize(text, requestId);
  }

  /**
   * The key with this text as this process read it last, if it was valid then: for a response that must show its
   * budgets although the store does not answer.
   */
  held(text: string): KeyActor | null {
    const live = this.#live(text);
    return live === null || live.record.revokedAt !== null || isOverdue(live, this.options.clock.now()) ? null : live;
  }

  #live(text: string): KeyActor | null {
    const publicId = publicIdOf(text);
    const live = publicId === null ? undefined : this.population.peek(keyIdOf(publicId));
    return live !== undefined && matchesDigest(text, live.record.digest) ? live : null;
  }

  /** Reads a key that is not live or may have changed, with the same result. */
  async #recognize(text: string, requestId: string | null): Promise<KeyActor> {
    const publicId = publicIdOf(text);
    const actor = publicId === null ? null : await this.#byPublicId(publicId, text);
    if (actor === null || !matchesDigest(text, actor.record.digest)) throw new Failure('invalid_api_key');
    return this.#admit(actor, requestId);
  }

  #isFresh(actor: KeyActor): boolean {
    return !this.options.shared || this.checkFresh(actor) === true;
  }

  #admit(actor: KeyActor, requestId: string | null): KeyActor {
    const at = this.options.clock.now();
    // A key that expired while the clock was ahead becomes valid again.
    if (actor.machine.state === 'expired' && !isOverdue(actor, at))
      this.#send(actor, { type: 'configure', at, expiresAt: actor.record.expiresAt }, nobody);
    const { state } = actor.machine;
    // The machine gets an event only if it would refuse or change state: a request within the key's budgets does
    // neither.
    if (state === 'revoked' || state === 'expired' || isOverdue(actor, at)) {
      const refusal = refusalOf(actor.send({ type: 'request', at, debt: null }, at, causeByKey(actor, requestId)));
      if (refusal !== null) throw new Failure(refusal);
    }
    return actor;
  }

  /** Charges one request to the budgets, in order until one refuses; the last item is the verdict. */
  take(actor: KeyActor, budgets: readonly BudgetName[], requestId: string | null = null): Taken[] | Promise<Taken[]> {
    const { id, workspaceId, limits } = actor.record;
    const at = this.options.clock.now();
    const requested = budgets.map((budget) => ({ budget, ceiling: limits[budget] }));
    return thenSync(this.#store.limits.takeBudgets(workspaceId, id, requested, at), (taken) =>
      this.#settleTaken(actor, taken, at, requestId),
    );
  }

  /**
   * The level of a budget by the store's last answer to this process, refilled since then; full without an answer. It
   * is for a response that must show the level although the store does not answer: other processes may have charged it
   * meanwhile.
   */
  standing(actor: KeyActor, budget: BudgetName): StandingBudget {
    const ceiling = actor.record.limits[budget];
    const at = this.options.clock.now();
    const whole = full(ceiling, at);
    const answered = this.#answered.get(actor)?.[budget];
    if (answered === undefined) return { remaining: ceiling, resetAt: resetAt(whole, ceiling) };
    // A budget refills evenly, so that the time when it is full shows how much it lacks; rounded up to a second it
    // shows too much.
    const lackMs = Math.max(0, answered.resetAt * 1000 - at);
    const bucket = { level: whole.level - lackMs * ceiling, at };
    return {
      remaining: Math.min(ceiling, Math.max(answered.remaining, remaining(bucket))),
      resetAt: resetAt(bucket, ceiling),
    };
  }

  #settleTaken(actor: KeyActor, taken: Taken[], at: number, requestId: string | null): Taken[] {
    this.#note(actor, taken);
    const last = taken.at(-1);
    const debt =
      last === undefined || last.passed ? null : { budget: last.budget, until: at + last.retryAfterSeconds * 1000 };
    const { state } = actor.machine;
    const limited = state === 'limited';
    const { watched } = this.options.inspector;
    if (debt !== null && limited && !watched && !isOverdue(actor, at)) {
      this.#owe(actor, debt);
      actor.note(
        { event: { type: 'request' }, from: state, to: state, outcomes: overBudget },
        at,
        causeByKey(actor, requestId),
      );
    } else if (debt !== null || limited) {
      this.#level(actor, at);
      this.#send(
        actor,
        { type: 'request', at, debt, ...(watched && { budgets: levelsOf(actor.record, taken) }) },
        causeByKey(actor, requestId),
      );
    } else if (watched && state === 'active' && !isOverdue(actor, at)) {
      actor.send(
        { type: 'request', at, debt, budgets: levelsOf(actor.record, taken) },
        at,
        causeByKey(actor, requestId),
      );
    }
    return taken;
  }

  #note(actor: KeyActor, taken: readonly Taken[]): void {
    let answered = this.#answered.get(actor);
    if (answered === undefined) this.#answered.set(actor, (answered = {}));
    for (const each of taken) answered[each.budget] = each;
  }

  /**
   * A key that stays limited only gets more debt: its machine gets the debt when it may change state by it, or when
   * there is a watcher.
   */
  #owe({ machine }: KeyActor, debt: Debt): void {
    const owed = this.#owed.get(machine) ?? machine.context.debt;
    this.#owed.set(machine, longerDebt(owed, debt)!);
  }

  protected override level(actor: KeyActor): void {
    this.#level(actor, this.options.clock.now());
  }

  /** A debt may be paid off, or the key's date reached, without a request that would notify the machine. */
  override levelAll(): void {
    super.levelAll();
    const at = this.options.clock.now();
    for (const actor of this.population.residents()) this.#tick(actor, at);
  }

  /**
   * Sends the machine an event that moves it without a commit. The history shows such a move as well; a refusal is
   * noted already.
   */
  #send(actor: KeyActor, event: KeyEvent & { at: number }, cause: Cause): void {
    const { machine } = actor;
    const { state: from } = machine;
    const outcomes = actor.send(event, event.at, cause);
    if (machine.state !== from && !isRefused(outcomes))
      actor.note({ event, from, to: machine.state, outcomes }, event.at, cause);
    if (machine.state === 'limited') this.#awaitRecovery(actor);
  }

  #tick(actor: KeyActor, at: number): void {
    if (
      actor.machine
        .draft()
        .send({ type: 'tick', at })
        .every(({ type }) => type === 'unchanged')
    )
      return;
    this.#send(actor, { type: 'tick', at }, nobody);
  }

  /** Ends the debt when it is paid off, if no request does before. */
  #awaitRecovery(actor: KeyActor): void {
    const { clock } = this.options;
    if (this.#recovering.has(actor)) return;
    this.#recovering.add(actor);
    const { until } = this.#owed.get(actor.machine) ?? actor.machine.context.debt!;
    clock.after(Math.max(1, until - clock.now()), () => {
      this.#recovering.delete(actor);
      if (actor.machine.state !== 'limited' || this.population.find(actor.identity.id) !== actor) return;
      const at = clock.now();
      this.#level(actor, at);
      this.#tick(actor, at);
      if (actor.machine.state === 'limited') this.#awaitRecovery(actor);
    });
  }

  /** Sends the machine the debt that was not sent to it yet. */
  #level({ machine }: KeyActor, at: number): void {
    const debt = this.#owed.get(machine);
    if (debt === undefined) return;
    this.#owed.delete(machine);
    machine.decide({ type: 'request', at, debt });
  }

  async revoke(workspaceId: string, id: string, cause: Cause = nobody): Promise<KeyActor | null> {
    return this.change(
      workspaceId,
      id,
      (actor) => {
        const at = this.options.clock.now();
        actor.machine.send({ type: 'revoke', at });
        const { revokedAt } = actor.machine.context;
        return { record: { ...actor.record, revokedAt, machine: settled(actor.machine) } };
      },
      cause,
    );
  }

  async configure(
    workspaceId: string,
    id: string,
    change: (record: Key) => Key,
    cause: Cause = nobody,
  ): Promise<KeyActor | null> {
    return this.change(
      workspaceId,
      id,
      (actor) => {
        const record = change(actor.record);
        actor.machine.send({ type: 'configure', at: this.options.clock.now(), expiresAt: record.expiresAt });
        return { record: { ...record, machine: settled(actor.machine) } };
      },
      cause,
    );
  }

  async #byPublicId(publicId: string, text: string): Promise<KeyActor | null> {
    const live = this.population.peek(keyIdOf(publicId));
    // A text with a wrong checksum needs no read. The digest of a live key that needs no read finds a wrong text
    // anyway.
    if ((live === undefined || this.options.shared) && !isWhole(text)) return null;
    // A key that was removed may have left its public id to another key.
    if (live !== undefined && (!this.options.shared || (await this.checkFresh(live)))) return live;
    const id = keyIdOf(publicId);
    return this.#lookUps.find(id, async () => {
      const stored = await this.#store.catalog.keyByPublicId(publicId);
      return stored && this.adopt(stored, stored.record.workspaceId);
    });
  }
}

const overBudget = [{ type: 'refused', code: 'rate_limited' }] as const;

/** The key's own request. */
const causeByKey = ({ record: { id, name } }: KeyActor, requestId: string | null): Cause => ({
  requestId,
  by: { kind: 'key', id, name },
});

const levelsOf = ({ limits }: Key, taken: readonly Taken[]): Levels =>
  Object.fromEntries(
    taken.map(({ budget, remaining, resetAt }) => [
      budget === 'transcriptionTokens' ? 'transcription_tokens' : budget,
      { limit: limits[budget], remaining, reset: resetAt },
    ]),
  );

function isOverdue({ machine }: KeyActor, at: number): boolean {
  const { expiresAt } = machine.context;
  return expiresAt !== null && at >= expiresAt * 1000;
}

/** A key's id contains its public part, so that a live key is found without the store. */
export const keyIdOf = (publicId: string): string => `key_${publicId}`;

/** The budgets hold the debt; a stored key is active, revoked or expired. */
const settled = ({ state, context }: Pick<KeyActor['machine'], 'state' | 'context'>): Snapshot => ({
  version: keyVersion,
  state: state === 'limited' ? 'active' : state,
  context: { ...context, debt: null },
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
