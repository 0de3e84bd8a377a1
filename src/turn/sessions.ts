/**
 * Session actors: each event is decided by the machine, committed in one step of the store, acted upon, then answered.
 */
import { sessionKind, type SessionContext, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import { secondsOf } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { thenSync } from '../base/then-sync.ts';
import {
  PrerequisiteGone,
  StoreUnavailable,
  type Cause,
  type Message,
  type IdempotencyRecord,
  type Session,
  type StopRequest,
  type Versioned,
} from '../store/store.ts';
import { manyWriters } from '../store/parts/change-record.ts';
import { SessionActor, type SessionActorParts, type SessionDecision } from '../host/session-actor.ts';
import type { LiveSession, TurnInFlight } from './in-flight.ts';
import { migratedSnapshot } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { createdMove, sessionMoveOf, noteOpening } from '../actors/history.ts';
import {
  admission,
  endSettlement,
  linkOf,
  speechAdmission,
  type ClockCharge,
  type VisitorUse,
} from '../host/link-budget.ts';
import type { SessionsOptions } from './options.ts';
import { sealOrphan } from './orphans.ts';
import { Population } from '../actors/population.ts';
import { openedSessionRecord, ReleaseMoved, type NewSession, type SessionVersion } from './new-session.ts';

/** Milliseconds for which a session says that a call is open; the call renews it every `callOpenEveryMs`. */
export const callOpenMs = 60_000;
/** Milliseconds until the first check of a session whose end was not answered; each later check waits twice as long. */
const unsettledLookMs = 250;
/** The longest of these waits, in milliseconds. */
export const unsettledLookMsMax = 5_000;

/** A request's `Idempotency-Key`, to be looked up among those remembered. */
type RequestKey = Pick<IdempotencyRecord, 'scope' | 'key' | 'bodyDigest'>;

export class Sessions {
  readonly population: Population<LiveSession>;
  readonly options: SessionsOptions;
  readonly #actorParts: SessionActorParts;

  constructor(options: SessionsOptions) {
    this.options = options;
    this.population = new Population(options.clock, limits);
    this.#actorParts = { store: options.store, inspector: options.inspector, population: this.population };
  }

  /** The id of a session that is to be created. */
  newId(): string {
    return this.options.ids.make('ses');
  }

  /**
   * Creates a session with its greeting, on `version` unless it is a trial or a test. Under an `Idempotency-Key` that
   * was used before, returns the session created then. Throws `ReleaseMoved` if the versions that people get have
   * changed since the release that gave it the version, and `PrerequisiteGone` if its run has been removed.
   */
  async create(
    wanted: NewSession,
    version: SessionVersion | null = null,
    id = this.newId(),
  ): Promise<{ session: Session; replayed: boolean }> {
    const { store, clock, ids } = this.options;
    const nowMs = clock.now();
    const { greeting: wantedGreeting, earlier = [], remember, remembersItself = false, cause = nobody } = wanted;
    const { replaces, trialsMax, run } = wanted;
    const session = openedSessionRecord(wanted, version, {
      id,
      createdAt: secondsOf(nowMs),
      mark: this.options.mark(),
    });
    const greeting = typeof wantedGreeting === 'function' ? wantedGreeting(session) : wantedGreeting;
    if (greeting !== null) session.messageCount++;
    const firstQuestion = earlier.findIndex(({ role }) => role === 'user');
    if (firstQuestion >= 0)
      noteOpening(session, firstQuestion + (greeting === null ? 0 : 1), earlier[firstQuestion]!.content);
    const created = await store.sessions.create({
      session,
      greeting: greeting === null ? null : greetingMessage(session, ids.make('msg'), greeting),
      ...(earlier.length > 0 && {
        earlier: earlier.map(({ role, content }) => messageBefore(ids.make('msg'), role, content, session.createdAt)),
      }),
      remember: remember && {
        ...remember,
        resultId: id,
        untilMs: remembersItself ? 1000 * session.expiresAt : nowMs + limits.idempotencyMsMax,
      },
      ...(replaces !== undefined && { replaces }),
      ...(trialsMax !== undefined && { trialsMax }),
      ...(version && { release: version.release }),
      ...(run !== undefined && { run }),
      nowMs,
      move: createdMove(session.machine, nowMs, cause),
      audit: cause.auditStep?.({ action: 'create', session, turnId: null }),
    });
    if (created.outcome === 'created') return { session, replayed: false };
    if (created.outcome === 'outdated') throw new ReleaseMoved();
    if (created.outcome === 'gone') throw new PrerequisiteGone();
    if (created.outcome === 'full') throw new Failure('rate_limited', { seconds: 1 });
    return {
      session: await this.#readMade(wanted.workspaceId, sameBody(created.remembered, remember!)),
      replayed: true,
    };
  }

  /**
   * The record of an earlier request under this `Idempotency-Key`; null without one. Throws `idempotency_mismatch` if
   * that request had another body.
   */
  async earlier(workspaceId: string, remember: RequestKey): Promise<IdempotencyRecord | null> {
    const record = await this.options.store.requests.find(
      workspaceId,
      remember.scope,
      remember.key,
      this.options.clock.now(),
    );
    return record && sameBody(record, remember);
  }

  /** The session that an earlier request under this `Idempotency-Key` created; null without one. */
  async findRemembered(workspaceId: string, remember: RequestKey): Promise<Session | null> {
    const earlier = await this.earlier(workspaceId, remember);
    return earlier && this.#readMade(workspaceId, earlier);
  }

  async #readMade(workspaceId: string, { resultId }: IdempotencyRecord): Promise<Session> {
    const session = await this.read(workspaceId, resultId);
    if (session === null) throw new Failure('session_not_found');
    return session;
  }

  /**
   * The session as it is now. Its actor is activated only if the session has an open turn that this process does not
   * run: that seals the turn of a dead process.
   */
  read(workspaceId: string, sessionId: string): Session | null | Promise<Session | null> {
    const live = this.population.peek(sessionId);
    if (live === undefined || this.#shared || this.#stale(live)) return this.#readStored(workspaceId, sessionId);
    return live.record.workspaceId === workspaceId ? live.record : null;
  }

  async #readStored(workspaceId: string, sessionId: string): Promise<Session | null> {
    const record = (await this.options.store.sessions.read(workspaceId, sessionId))?.record ?? null;
    const turnId = record && activeTurnOf(record);
    if (record === null || turnId === null || this.population.peek(sessionId)?.runner?.turnId === turnId) return record;
    return (await this.of(workspaceId, sessionId))?.record ?? null;
  }

  /**
   * The live actor of a session, as the store has the session now; an open turn of a dead process is sealed first.
   * `asKnown`: skips the read of the store if only this process has moved the session lately. It is for a step that the
   * store compares with the session in any case; a refusal must be confirmed by `checkElsewhere`, unless it follows
   * from fields that never change in a session.
   */
  of(workspaceId: string, sessionId: string, asKnown = false): LiveSession | null | Promise<LiveSession | null> {
    // A record that this very call has loaded from a shared store is as fresh as a second read would make it.
    let loaded = false;
    const load = async (): Promise<LiveSession | null> => {
      loaded = true;
      const stored = await this.#readSettled(workspaceId, sessionId);
      return stored && new SessionActor<TurnInFlight>(stored, this.#actorParts);
    };
    return thenSync(this.population.activate(sessionId, load, workspaceId), (actor) => {
      if (actor === null || actor.record.workspaceId !== workspaceId) return null;
      const stale = this.#stale(actor) || (this.#shared && !(asKnown && actor.looksDue === 0));
      return stale && !(loaded && this.#shared) ? this.#refresh(actor).then((lives) => (lives ? actor : null)) : actor;
    });
  }

  /** Adopts changes of other processes to the session since its last use; false if the session was removed. */
  #refresh(actor: LiveSession): Promise<boolean> {
    return actor.mailbox.post(async () => (await this.#lookAt(actor)) !== 'removed');
  }

  /**
   * Whether the stored session differs from this process's copy; the actor then adopts it. The difference may be the
   * end of a dead process's turn, which this method seals. False on a store with a single owner. For jobs in the
   * actor's mailbox. Throws `session_not_found`.
   */
  async checkElsewhere(actor: LiveSession): Promise<boolean> {
    if (!this.#shared) return false;
    const outcome = await this.#lookAt(actor);
    if (outcome === 'removed') throw new Failure('session_not_found');
    return outcome === 'changed';
  }

  /** Reads the session; an open turn of a dead process is sealed first. */
  async #lookAt(actor: LiveSession): Promise<'removed' | 'changed' | 'same'> {
    const { workspaceId, id } = actor.record;
    const stored = await this.#readSettled(workspaceId, id, actor.runner?.turnId);
    if (stored === null) {
      this.population.discard(id);
      return 'removed';
    }
    if (stored.version === actor.version && stored.record.mark === actor.record.mark) {
      actor.looksDue = Math.max(0, actor.looksDue - 1);
      return 'same';
    }
    actor.adopt(stored);
    actor.looksDue = limits.looksAfterMove;
    return 'changed';
  }

  get #shared(): boolean {
    return this.options.store.leaseMs !== null;
  }

  /**
   * Whether the session must be read again, also on a store with a single owner: a turn could not be sealed when the
   * session was activated, or a move got no answer.
   */
  #stale(actor: LiveSession): boolean {
    return actor.abandoned || actor.unsettled;
  }

  /**
   * Ends the session and its turn in flight. Resolves once that turn is sealed, or the store did not accept the seal.
   * `use`: the visitor who ends it.
   */
  async end(actor: LiveSession, cause: Cause = nobody, use?: VisitorUse): Promise<void> {
    await this.send(actor, (at) => ({ type: 'end', at }), cause, use);
    await this.#awaitStop(actor, actor.context.activeTurnId);
    await actor.runner?.settled;
    await this.options.store.confirm(actor.record.workspaceId);
  }

  /**
   * Removes a session whose first turn was refused, so that no client knows of it; `named`: the idempotency record
   * under which it is found. A session with a turn, or with one that waits to be withdrawn, is ended. But a turn that
   * another request began, which found the session by its name, continues.
   */
  async discard(
    actor: LiveSession,
    named: Pick<IdempotencyRecord, 'scope' | 'key'> | null,
    cause: Cause = nobody,
  ): Promise<void> {
    const { store, withdrawals } = this.options;
    const { id } = actor.record;
    const gone = await actor.mailbox.post(async () => {
      if (actor.runner !== null || withdrawals.isPending(id)) return false;
      return store.sessions.discard(actor.record, actor.basis, named);
    });
    if (gone) this.population.discard(id);
    else if (named === null || withdrawals.isPending(id)) await this.end(actor, cause);
  }

  /** Aborts the turn if it is in flight. Resolves once it is sealed, by this process or another. */
  async abort(actor: LiveSession, turnId: string, cause: Cause = nobody): Promise<void> {
    const { runner } = actor;
    await this.send(actor, (at) => ({ type: 'abort', at, turnId }), cause);
    if (actor.context.activeTurnId === turnId) await this.#awaitStop(actor, turnId);
    const sealed = runner?.turnId === turnId ? await runner.settled : actor.context.activeTurnId !== turnId;
    if (!sealed)
      throw new StoreUnavailable('The aborted turn could not be sealed. It is sealed once the store is back.');
    await this.options.store.confirm(actor.record.workspaceId);
  }

  /** Resolves once a turn that was requested to stop is sealed, or the store did not accept the seal. */
  async awaitStopped(actor: LiveSession, turnId: string): Promise<void> {
    await this.#awaitStop(actor, turnId);
    if (actor.runner?.turnId === turnId) await actor.runner.settled;
  }

  /**
   * Waits for a turn that another process runs and that was requested to stop. If that process has died, waits until
   * the turn's lease, which the request has cut, runs out, and then seals the turn.
   */
  async #awaitStop(actor: LiveSession, turnId: string | null): Promise<void> {
    if (!this.#shared || turnId === null || actor.runner?.turnId === turnId) return;
    const { workspaceId, id: sessionId } = actor.record;
    for (const withinMs of [limits.stopMs + limits.remotePollMs, limits.remoteStopMs]) {
      await this.options.remote.awaitStop({ workspaceId, sessionId, turnId }, withinMs);
      await this.#refresh(actor);
      if (actor.context.activeTurnId !== turnId) return;
    }
  }

  /** Charges a request that counts as a message of the visitor but begins no turn. Throws `LinkRefused`. */
  async spend(actor: LiveSession, use: VisitorUse, cause: Cause = nobody): Promise<void> {
    const moved = await this.#charge(actor, use, cause, (at) => {
      const { activeTurnId } = actor.context;
      const turnRuns = activeTurnId !== null && actor.record.link?.clock?.movedBy === activeTurnId;
      return admission(use, actor.record, at, limits.linkHoldMs, turnRuns ? activeTurnId : 'voice', turnRuns);
    });
    if (moved !== null) this.options.visitors.noteAccepted(moved, moved.link!.clock!.untilMs, cause);
  }

  /** Keeps a visitor who speaks on a voice socket present until `untilMs`. Throws `LinkRefused`. */
  async keepPresent(actor: LiveSession, use: VisitorUse, untilMs: number, cause: Cause): Promise<void> {
    const moved = await this.#charge(actor, use, cause, (at) => {
      if (actor.machine.state !== 'open' && actor.machine.state !== 'streaming') return null;
      return speechAdmission(use, actor.record, actor.context.activeTurnId, at, untilMs);
    });
    if (moved !== null) this.options.visitors.noteMoved(moved, cause);
  }

  /**
   * Takes limits and moves the session's clock, in one step; resolves with the session after it, or with null if there
   * is nothing to charge. `wantedAt`: called again after another writer has moved the session.
   */
  #charge(
    actor: LiveSession,
    use: VisitorUse,
    cause: Cause,
    wantedAt: (at: number) => ClockCharge | null,
  ): Promise<Session | null> {
    return actor.mailbox.post(async () => {
      const { clock, visitors } = this.options;
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const at = clock.now();
        const wanted = wantedAt(at);
        if (wanted === null) return null;
        const link = linkOf(use, wanted.clock, actor.record.link?.signedFields);
        const moved = { ...actor.record, lastActivityAt: secondsOf(at), mark: this.options.mark(), link };
        const charged = await actor.charge(moved, wanted.asked, at);
        if (charged.outcome === 'limited')
          throw await visitors.refuse(moved.workspaceId, use, wanted, charged.answers, at, cause);
        if (charged.outcome === 'charged') return moved;
      }
      throw manyWriters('session');
    });
  }

  /**
   * Stores in the session which call is open, for `callOpenMs`; null for none. A newer call replaces an earlier one.
   */
  noteCall(actor: LiveSession, callId: string | null): Promise<void> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        if (actor.machine.state !== 'open' && actor.machine.state !== 'streaming') return;
        const { call, ...record } = actor.record;
        const at = this.options.clock.now();
        const moved = {
          ...record,
          lastActivityAt: secondsOf(at),
          mark: this.options.mark(),
          ...(callId !== null && {
            call: { ...(call?.id === callId && call), id: callId, untilMs: at + callOpenMs },
          }),
        };
        if (await actor.save(moved)) return;
      }
    });
  }

  /**
   * Sends the actor an event that stores no output: decides, commits if the machine moved, acts. Resolves with the
   * outcomes.
   */
  send(
    actor: LiveSession,
    event: (at: number) => SessionEvent,
    cause: Cause = nobody,
    use?: VisitorUse,
  ): Promise<SessionOutcome[]> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const at = this.options.clock.now();
        const decision = actor.machine.decide(event(at));
        if (!(await this.settle(actor, decision, at, cause, use))) continue;
        actor.publish(decision, cause);
        return decision.outcomes;
      }
      throw manyWriters('session');
    });
  }

  /**
   * Commits an end or an expiry among the outcomes and stops the turn that it cuts; false if the caller must decide
   * again.
   */
  settle(
    actor: LiveSession,
    decision: SessionDecision,
    at: number,
    cause: Cause,
    use?: VisitorUse,
  ): boolean | Promise<boolean> {
    return decision.outcomes.some(({ type }) => cutting.has(type)) ? this.#cut(actor, decision, at, cause, use) : true;
  }

  async #cut(
    actor: LiveSession,
    decision: SessionDecision,
    at: number,
    cause: Cause,
    use?: VisitorUse,
  ): Promise<boolean> {
    const { outcomes } = decision;
    const stop = outcomes.find((outcome) => outcome.type === 'turn.stop');
    const over = outcomes.find((outcome) => outcome.type === 'session.ended' || outcome.type === 'session.expired');
    // The end of a session has one row in the audit, and its turn ends with it.
    const stopCause = over === undefined ? cause : { requestId: cause.requestId, by: cause.by };
    if (stop !== undefined && actor.runner?.turnId !== stop.turnId) await this.#requestStop(actor, stop, stopCause);
    if (over !== undefined) {
      // Retention counts from the deadline itself, not from when a process noticed it.
      const endedAt = over.type === 'session.expired' ? actor.record.expiresAt : secondsOf(at);
      const moved = {
        ...actor.record,
        lastActivityAt: Math.max(actor.record.lastActivityAt, endedAt),
        mark: this.options.mark(),
        machine: actor.machine.snapshot(),
      };
      const { session, settled } = endSettlement(
        moved,
        activeTurnOf(actor.record),
        Math.min(at, actor.record.expiresAt * 1000),
        use,
      );
      const move = sessionMoveOf(decision, actor.version + 1, at, cause, session);
      const audit =
        over.type === 'session.ended' ? cause.auditStep?.({ action: 'end', session, turnId: null }) : undefined;
      if (!(await actor.save(session, move, settled, at, audit).catch((error) => this.#failUnanswered(actor, error))))
        return false;
      if (settled !== undefined) this.options.visitors.noteMoved(session, cause);
    }
    for (const outcome of outcomes) {
      if (outcome.type !== 'turn.stop' || actor.runner?.turnId !== outcome.turnId) continue;
      void actor.runner.stop(outcome.reason, stopCause);
    }
    return true;
  }

  /** The end of the session may be stored although the store's answer was lost: its turn must not continue. */
  #failUnanswered(actor: LiveSession, error: unknown): never {
    actor.unsettledAt = actor.version;
    this.#lookAgain(actor, unsettledLookMs);
    throw error;
  }

  /**
   * Polls the session until its unanswered move is known to be stored, or can no longer be applied because another move
   * came first. Without a turn nothing depends on that: the next use of the session reads it.
   */
  #lookAgain(actor: LiveSession, waitMs: number): void {
    const waits = (): boolean =>
      actor.runner !== null && actor.unsettled && this.population.peek(actor.record.id) === actor;
    // Polls again, with a longer pause, if the store is away or the session has not moved.
    const again = (): void => this.#lookAgain(actor, Math.min(2 * waitMs, unsettledLookMsMax));
    actor.look?.cancel();
    if (waits())
      actor.look = this.options.clock.after(waitMs, () => waits() && void this.#refresh(actor).then(again, again));
  }

  /**
   * The stop is requested before anything is committed: after a failure, a retry must not find the session moved and
   * its turn still running.
   */
  async #requestStop(
    actor: LiveSession,
    { turnId, reason }: { turnId: string; reason: StopRequest },
    cause: Cause,
  ): Promise<void> {
    const { workspaceId, id: sessionId } = actor.record;
    const audit = cause.auditStep?.({ action: 'abort', session: actor.record, turnId });
    const nowMs = this.options.clock.now();
    // With a single owner of the store no lease runs out while that process lives.
    const leaseUntilMs = this.#shared ? nowMs + limits.stopMs : Number.MAX_SAFE_INTEGER;
    try {
      await this.options.store.turns.requestStop(
        { workspaceId, sessionId, turnId },
        reason,
        leaseUntilMs,
        nowMs,
        audit,
      );
    } catch (error) {
      actor.undo();
      throw error;
    }
  }

  /** The stored session; the open turn of a dead process is sealed first. */
  async #readSettled(
    workspaceId: string,
    sessionId: string,
    runningTurnId?: string,
  ): Promise<Versioned<Session> | null> {
    const stored = await this.options.store.sessions.read(workspaceId, sessionId);
    if (stored === null) return null;
    const activeTurnId = activeTurnOf(stored.record);
    return activeTurnId === null || activeTurnId === runningTurnId
      ? stored
      : sealOrphan(this.options, stored, activeTurnId);
  }
}

/** Throws `idempotency_mismatch` if the earlier request under the key had another body. */
export function sameBody(earlier: IdempotencyRecord, { bodyDigest }: RequestKey): IdempotencyRecord {
  if (earlier.bodyDigest !== bodyDigest) throw new Failure('idempotency_mismatch');
  return earlier;
}

/** The outcomes that end a turn or the session. */
const cutting: ReadonlySet<SessionOutcome['type']> = new Set(['turn.stop', 'session.ended', 'session.expired']);

const activeTurnOf = ({ machine }: Session): string | null =>
  (migratedSnapshot(sessionKind, machine).context as SessionContext).activeTurnId;

/** The first message of a session; its version is the session's. */
const greetingMessage = ({ createdAt, assistantVersion }: Session, id: string, greeting: string): Message => ({
  ...messageBefore(id, 'assistant', greeting, createdAt),
  ...(assistantVersion !== undefined && { assistantVersion }),
});

/** A message from outside any turn. */
const messageBefore = (id: string, role: Message['role'], content: string, createdAt: number): Message => ({
  id,
  turnId: null,
  role,
  content,
  status: 'completed',
  stopReason: null,
  errorCode: null,
  createdAt,
});
