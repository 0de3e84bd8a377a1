/** Begins turns and ends them. The output in between never passes through an actor. */
import type { SessionEvent } from '../../machines/session.ts';
import { secondsOf, type Timer } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { messageOf, type Unsealed } from '../store/records.ts';
import { eventCountOf, turnEvents } from '../store/records/events.ts';
import {
  StoreUnavailable,
  type BeginTurn,
  type BegunTurn as Begun,
  type Cause,
  type Message,
  type IdempotencyRecord,
  type ReleaseBasis,
  type Session,
  type SpokenVoice,
  type TakenLimit,
  type Turn,
} from '../store/store.ts';
import { manyWriters } from '../store/parts/change-record.ts';
import { answeredCalls, refusedCalls, type CallAnswer, type AnsweredMessage } from './pending-tool-calls.ts';
import { Pace } from './pace.ts';
import { LiveTurns } from './live-turns.ts';
import { TurnRunner } from './runner.ts';
import { Histories } from './histories.ts';
import { movedSession, sessionMoveOf, noteOpening } from '../actors/history.ts';
import { leaseUntil } from './lease.ts';
import { hasMoved, type SessionRelease } from '../host/release.ts';
import { admission, linkOf, visitorSlot, type VisitorUse } from '../host/link-budget.ts';
import { reservationOf, secondsToRenewal, tokenBudgetOf, type Reservation } from '../host/token-budget.ts';
import type { Keys } from '../host/keys.ts';
import type { Attendances } from './attendances.ts';
import { thenSync } from '../base/then-sync.ts';
import type { SessionsOptions } from './options.ts';
import { refusalOf } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { StoredTurnSteps, type LeasedTurn, type TurnStoreParts } from './turn-store.ts';
import type { TurnModel } from '../assistant/model.ts';
import type { Speaker, TurnReports } from './ports.ts';
import type { Span } from '../base/tracing.ts';
import type { SessionDecision } from '../host/session-actor.ts';
import type { LiveSession } from './in-flight.ts';
import { sameBody, type Sessions } from './sessions.ts';
import { LinkRefused } from '../host/visitors.ts';
import type { WorkspaceActor, Workspaces } from '../host/workspaces.ts';

export interface WantedTurn {
  /** Null for a turn that answers tool calls. */
  readonly message: string | null;
  /** The answers to the tool calls that wait; left out if the message declines them. */
  readonly answers?: readonly CallAnswer[];
  /** Whether the caller may give these answers. */
  readonly mayAnswer?: boolean;
  /** The refusal of the assistant's machine to `converse`; null if it does not refuse. */
  readonly assistantRefusal: string | null;
  /**
   * Whether the turn takes one of the workspace's slots. Turns of the link and the widget have separate limits
   * (contract 5).
   */
  readonly takesSlot: boolean;
  /** The API key whose token budget the turn takes; left out for another principal. */
  readonly keyId?: string | undefined;
  /** The visitor whose limits the turn takes; left out for a turn outside the link. */
  readonly use?: VisitorUse | undefined;
  readonly remember: Omit<IdempotencyRecord, 'resultId' | 'untilMs'> | null;
  /** A second idempotency record under which the turn can be looked up, and for how many milliseconds. */
  readonly found?: { readonly by: Omit<IdempotencyRecord, 'resultId' | 'untilMs'>; readonly ms: number } | undefined;
  /** The turn's id, if its caller must know it before; a new one if it is left out. */
  readonly turnId?: string | undefined;
  /** The request that begins the turn. */
  readonly cause?: Cause;
  /** The bound of the history for the model, in estimated tokens; the default if it is left out. */
  readonly historyTokensMax?: number | null | undefined;
  /** The number of the assistant's version that answers; undefined for a trial. */
  readonly assistantVersion?: number | undefined;
  /** The session by which the version was chosen; left out for a trial and in a test. */
  readonly chosenBy?: SessionRelease | undefined;
  /** Number of recalls of the assistant's sessions so far; undefined for none. */
  readonly recalls?: number | undefined;
  /** The release that gave it the version; undefined for a trial. */
  readonly release?: ReleaseBasis | undefined;
  readonly model: TurnModel;
  readonly reports: TurnReports;
  /** The span of the turn that may begin; null while traces are off. */
  readonly span?: Span | null;
  /** The call that speaks the reply; left out if it is only read. */
  readonly speaker?: Speaker;
  /** Whether a call requests the turn early, so that nobody may see it yet. */
  readonly isEarly?: boolean;
  /** The sound of a spoken message. */
  readonly voice?: SpokenVoice;
}

/** The turn that an earlier request with the same key began. */
interface RememberedTurn {
  readonly kind: 'remembered';
  readonly remembered: IdempotencyRecord;
}

/** The versions that people get, or the session's own, have changed since the version of the turn was chosen. */
interface OutdatedTurn {
  readonly kind: 'outdated';
}

/** A turn that began, or that an earlier request began; or the message that was accepted for a person (contract 23). */
export type StartedTurn =
  | { readonly kind: 'started'; readonly runner: TurnRunner }
  | { readonly kind: 'accepted'; readonly messageId: string }
  | RememberedTurn
  | OutdatedTurn;

/** The parts of the step that begins a turn, besides the turn. */
interface BeginTerms {
  readonly turnsInFlightMax: number;
  readonly answered: AnsweredMessage | null;
  readonly reservation: Reservation | null;
}

type CommittedTurn = Pick<LeasedTurn, 'turn' | 'basis' | 'fence' | 'userMessage' | 'approved'>;

/** Whether a request that begins a turn has compared its session with the stored one. */
interface StoreCheck {
  isDone: boolean;
}

/**
 * The end of a lease of a store with a single owner. No process renews it, and it becomes void when the owner dies.
 * The lease holds at every setting of the wall clock until then: if a slot lapsed under a living turn, one turn more could
 * begin than the ceiling allows.
 */
const forever = Number.MAX_SAFE_INTEGER;

export class Turns {
  readonly #sessions: Sessions;
  readonly #workspaces: Workspaces;
  readonly #keys: Pick<Keys, 'of'>;
  readonly #attendances: Pick<Attendances, 'accept'>;
  readonly #options: SessionsOptions;
  readonly #histories: Histories;
  readonly #pace: Pace;
  readonly #ledgerParts: TurnStoreParts;
  readonly population = new LiveTurns();

  constructor(
    sessions: Sessions,
    workspaces: Workspaces,
    keys: Pick<Keys, 'of'>,
    attendances: Pick<Attendances, 'accept'>,
  ) {
    this.#sessions = sessions;
    this.#attendances = attendances;
    this.#workspaces = workspaces;
    this.#keys = keys;
    this.#options = sessions.options;
    const { store, clock, withdrawals, visitors, mark, loopLoad } = sessions.options;
    this.#histories = new Histories(store);
    this.#pace = new Pace(clock, loopLoad);
    this.#ledgerParts = { store, clock, histories: this.#histories, withdrawals, visitors, mark };
  }

  get inFlight(): number {
    return this.population.inFlight.size;
  }

  /** Drops the cached messages of a session, or of all sessions. */
  forgetMessages(sessionId?: string): void {
    if (sessionId === undefined) this.#histories.clear();
    else this.#histories.forget(sessionId);
  }

  /**
   * Resolves when every turn has ended. Turns that still run after `graceMs` are stopped. Turns that the store has not
   * sealed or withdrawn `sealMs` later are left to the next process that finds them.
   */
  async drain(graceMs: number, sealMs: number): Promise<void> {
    const { clock, withdrawals } = this.#options;
    const within = async (delayMs: number, over: Promise<unknown>): Promise<void> => {
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => (timer = clock.after(delayMs, resolve)));
      await Promise.race([late, over]);
      timer?.cancel();
    };
    await within(graceMs, this.#allOver());
    for (const runner of this.population.inFlight.all()) void runner.stop('drain');
    await within(
      sealMs,
      this.#allOver().then(() => withdrawals.allOver()),
    );
  }

  async #allOver(): Promise<void> {
    while (this.inFlight > 0) await Promise.all(this.population.inFlight.all().map((runner) => runner.over));
  }

  /** Begins a turn on the session: decides and commits. Throws the refusal as a `Failure`. */
  begin(actor: LiveSession, wanted: WantedTurn): Promise<StartedTurn> {
    return this.#beginInOrder(actor, wanted, false).then((started) =>
      started === 'withdrawing' ? this.#beginAfterWithdrawal(actor, wanted) : started,
    );
  }

  /** Stores the words of a call that a take has ended, as a message for the person; resolves with its id. */
  accept(actor: LiveSession, wanted: WantedTurn): Promise<string> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const chat = { ...wanted, isHandedOver: true };
        const accepted = await this.#attendances.accept(actor, chat, this.#options.clock.now());
        if (accepted === 'assistant') throw new Failure('session_ended');
        if (accepted?.kind === 'accepted') return accepted.messageId;
      }
      throw manyWriters('session');
    });
  }

  /** Waits outside the mailbox: concurrent chats wait side by side, and other events of the session do not wait. */
  async #beginAfterWithdrawal(actor: LiveSession, wanted: WantedTurn): Promise<StartedTurn> {
    const { withdrawals, clock } = this.#options;
    const untilMs = clock.monotonic() + limits.withdrawalMs;
    for (;;) {
      const settled = await withdrawals.awaitSettled(actor.record.id, Math.max(0, untilMs - clock.monotonic()));
      if (!settled)
        throw new StoreUnavailable('The previous turn of the session is not withdrawn yet. Repeat the request.');
      const started = await this.#beginInOrder(actor, wanted, true);
      if (started !== 'withdrawing') return started;
    }
  }

  /**
   * Resolves with `withdrawing` if a turn of the session waits to be withdrawn. `waited`: this call has waited for one
   * already.
   */
  #beginInOrder(actor: LiveSession, wanted: WantedTurn, waited: boolean): Promise<StartedTurn | 'withdrawing'> {
    return actor.mailbox.post(async () => {
      if (this.#awaitsWithdrawal(actor)) return 'withdrawing';
      if (waited) await actor.reload();
      const check: StoreCheck = { isDone: false };
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const started = await this.#beginOnce(actor, wanted, check);
        // The turn of a repeated request may belong to a dead process: the read seals or withdraws it.
        if (started?.kind === 'remembered' && !check.isDone && (await this.#checkElsewhere(actor, check))) continue;
        if (started !== null) return started;
      }
      throw manyWriters('session');
    });
  }

  /** The turn that an earlier request with the same key began; null without one. */
  async #earlier({ record }: LiveSession, { remember }: WantedTurn): Promise<RememberedTurn | null> {
    const remembered = remember && (await this.#sessions.earlier(record.workspaceId, remember));
    return remembered && { kind: 'remembered', remembered };
  }

  /**
   * Whether a turn of the session still waits to be withdrawn: a new one begins only after it, and can neither join it
   * nor conflict with it. Throws if so many turns wait that a new one could not be withdrawn.
   */
  #awaitsWithdrawal(actor: LiveSession): boolean {
    const { withdrawals } = this.#options;
    if (withdrawals.size === 0) return false;
    if (withdrawals.full)
      throw new StoreUnavailable('Too many turns wait to be withdrawn. Repeat the request once the store is back.');
    return withdrawals.isPending(actor.record.id);
  }

  /**
   * Begins the turn, or finds the one that an earlier request with the same key began; null if another writer moved the
   * session and the caller must decide again. A repeat is answered before anything that would refuse it (contract 6):
   * the step that begins a turn looks for it, and before a refusal it is looked up.
   */
  async #beginOnce(actor: LiveSession, wanted: WantedTurn, check: StoreCheck): Promise<StartedTurn | null> {
    const { ids, clock } = this.#options;
    const at = clock.now();
    if (actor.record.attendance !== undefined) {
      const accepted = await this.#attendances.accept(actor, wanted, at);
      if (accepted !== 'assistant') return accepted;
    }
    if (wanted.chosenBy !== undefined && hasMoved(wanted.chosenBy, actor.record)) return { kind: 'outdated' };
    const begunAt = clock.monotonic();
    const turnId = wanted.turnId ?? ids.make('turn');
    const { cause = nobody } = wanted;
    const event: SessionEvent = { type: 'chat', at, turnId, assistantRefusal: wanted.assistantRefusal };
    let decision = actor.machine.decide(event);
    const refusal = refusalOf(decision.outcomes);
    if (refusal !== null && wanted.remember !== null) {
      actor.undo();
      const earlier = await this.#earlier(actor, wanted);
      if (earlier !== null) return earlier;
      decision = actor.machine.decide(event);
    }
    const settled = this.#sessions.settle(actor, decision, at, cause);
    if (!(settled instanceof Promise ? await settled : settled)) return null;
    if (refusal !== null) {
      // The decision may rest on an old copy, unless it moved the session and so was compared with the store.
      const confirmed = check.isDone || decision.from !== decision.to;
      // The turn in progress may be the one that this request began before, withdrawn since the request was looked up.
      const mayBeOwn = wanted.remember !== null && refusal === 'turn_in_progress';
      if ((!confirmed || mayBeOwn) && (await this.#checkElsewhere(actor, check))) return null;
      actor.publish(decision, cause);
      throw new Failure(refusal);
    }

    const before = actor.record;
    let history: readonly Message[];
    let workspace: WorkspaceActor | null;
    let answered: AnsweredMessage | null = null;
    let reservation: Reservation | null;
    try {
      if (before.pending !== undefined || wanted.answers !== undefined)
        answered = await answeredCalls(this.#options.store, before, wanted, at);
      const recent = this.#histories.of(before, actor.version, wanted.historyTokensMax ?? undefined);
      history = recent instanceof Promise ? await recent : recent;
      const sent = answered === null ? history : withAmended(history, answered.message);
      const reserving = wanted.keyId === undefined ? null : this.#reservation(wanted.keyId, before, wanted, sent, at);
      reservation = reserving instanceof Promise ? await reserving : reserving;
      const live = this.#workspaces.of(before.workspaceId);
      workspace = live instanceof Promise ? await live : live;
      if (workspace === null) throw new Failure('session_not_found');
      const acquired = !wanted.takesSlot || this.#workspaces.acquire(workspace, cause);
      if (!(acquired instanceof Promise ? await acquired : acquired)) throw workspaceFull();
    } catch (error) {
      actor.undo();
      // An earlier request may have answered the calls. Another process may have begun a turn, which is a conflict even
      // if that took the last slot (contract 3), or run the turn whose calls wait.
      const earlier = error instanceof Failure ? await this.#earlier(actor, wanted) : null;
      if (earlier !== null) return earlier;
      if (error instanceof Failure && (await this.#checkElsewhere(actor, check))) return null;
      throw error;
    }
    const turn: Unsealed<Turn> = {
      id: turnId,
      sessionId: before.id,
      messageId: '',
      messageIndex: before.messageCount + (wanted.message === null ? 0 : 1),
      status: 'streaming',
      stopReason: null,
      errorCode: null,
      inputTokens: 0,
      outputTokens: 0,
      createdAt: secondsOf(at),
      endedAt: null,
      sequence: eventCountOf(before) + 1,
    };
    if (wanted.assistantVersion !== undefined) turn.assistantVersion = wanted.assistantVersion;
    if (wanted.speaker !== undefined) turn.spoken = true;
    if (answered !== null) turn.answered = answered.calls;
    if (wanted.message === null) turn.unasked = true;
    if (wanted.span) turn.traceparent = wanted.span.traceparent;
    if (reservation !== null) turn.reserved = reservation.reserved;
    const { turnsInFlightMax } = workspace.record;
    const begun = await this.#commitBegin(actor, decision, turn, wanted, { turnsInFlightMax, answered, reservation });
    if (begun === null || 'kind' in begun) return begun;
    const { basis, fence, userMessage, approved } = begun;
    const leased = {
      actor,
      before,
      basis,
      turn: begun.turn,
      fence,
      history: answered === null ? history : withAmended(history, answered.message),
      userMessage,
      approved,
      begunAt,
      remember: wanted.remember,
      cause,
      historyTokensMax: wanted.historyTokensMax ?? undefined,
      span: wanted.span ?? null,
    };
    return { kind: 'started', runner: this.#run(leased, wanted) };
  }

  /** The turn's request to the token budget of its key; null if the key has none. */
  #reservation(
    keyId: string,
    { workspaceId }: Session,
    { message, model }: WantedTurn,
    history: readonly Message[],
    at: number,
  ): Reservation | null | Promise<Reservation | null> {
    return thenSync(this.#keys.of(workspaceId, keyId), (key) => {
      const budget = key === null ? null : tokenBudgetOf(key.record);
      if (budget === null) return null;
      const conversation = message === null ? history : [...history, { role: 'user', content: message } as const];
      return thenSync(model.tokensMax(conversation, secondsOf(at)), (tokens) => reservationOf(budget, tokens, at));
    });
  }

  #checkElsewhere(actor: LiveSession, check: StoreCheck): Promise<boolean> {
    check.isDone = true;
    return this.#sessions.checkElsewhere(actor);
  }

  async #commitBegin(
    actor: LiveSession,
    decision: SessionDecision,
    turn: Unsealed<Turn>,
    wanted: WantedTurn,
    { turnsInFlightMax, answered, reservation }: BeginTerms,
  ): Promise<CommittedTurn | RememberedTurn | OutdatedTurn | null> {
    const { store, ids, owner, visitors, withdrawals } = this.#options;
    const { at } = decision.event;
    const { cause = nobody } = wanted;
    const before = actor.record;
    const { basis } = actor;
    const admitted =
      wanted.use === undefined ? null : admission(wanted.use, before, at, wanted.use.placeMsMax, turn.id);
    const userMessage =
      wanted.message === null ? null : messageOf(turn, ids.make('msg'), 'user', wanted.message, saidBy(wanted));
    turn.messageId = ids.make('msg');
    if (admitted !== null) turn.link = admitted.link;
    const next: Unsealed<Session> = movedSession(
      before,
      at,
      this.#options.mark(),
      actor.machine.snapshot(),
      turn.messageIndex + 1,
    );
    next.eventCount = eventCountOf(before) + turnEvents(turn);
    if (wanted.assistantVersion !== undefined) next.assistantVersion = wanted.assistantVersion;
    if (wanted.recalls !== undefined) next.recalls = wanted.recalls;
    if (wanted.message !== null) noteOpening(next, turn.messageIndex - 1, wanted.message);
    const moved =
      wanted.speaker === undefined || next.call === undefined
        ? next
        : { ...next, call: { ...next.call, turnId: turn.id } };
    const session: Session =
      admitted === null ? moved : { ...moved, link: linkOf(wanted.use!, admitted.clock, moved.link?.signedFields) };
    const step: Unsealed<BeginTurn> = {
      session,
      version: basis.version,
      mark: basis.mark,
      turn,
      userMessage,
      slot: wanted.takesSlot
        ? { name: 'api', ceiling: turnsInFlightMax }
        : admitted && { name: visitorSlot(wanted.use!.visitorId), ceiling: 1 },
      owner,
      leaseUntilMs: store.leaseMs === null ? forever : leaseUntil(at, store.leaseMs, before.expiresAt),
      remember: wanted.remember && { ...wanted.remember, resultId: turn.id, untilMs: at + limits.idempotencyMsMax },
      nowMs: at,
      move: sessionMoveOf(decision, basis.version + 1, at, cause, session),
    };
    if (wanted.release !== undefined) step.release = wanted.release;
    if (answered !== null) step.amends = { index: answered.calls.index, message: answered.message };
    if (wanted.found !== undefined)
      step.found = { ...wanted.found.by, resultId: turn.id, untilMs: at + wanted.found.ms };
    if (admitted !== null) step.asked = admitted.asked;
    else if (reservation !== null) step.asked = [reservation.asked];
    if (wanted.speaker !== undefined) step.released = wanted.isEarly ? -1 : 0;
    if (cause.auditStep !== undefined) step.audit = cause.auditStep({ action: 'message', session, turnId: turn.id });
    const sentAt = this.#options.clock.monotonic();
    let answer: Begun;
    try {
      answer = await store.turns.begin(step);
    } catch (error) {
      actor.undo();
      this.#release(before, wanted);
      // With a single owner of the store a rejection is certain. Otherwise the turn may be stored, or may still be.
      const { remember, reports } = wanted;
      if (store.leaseMs !== null)
        withdrawals.add({
          workspaceId: before.workspaceId,
          turn,
          basis,
          fence: { epoch: 1, owner },
          remember,
          cause,
          reports,
          span: wanted.span ?? null,
        });
      throw error;
    }
    if (answer.outcome === 'begun') {
      wanted.span?.set({ turnId: turn.id });
      wanted.span?.child({ kind: 'step', step: 'begin', store: store.name }, sentAt).end();
      actor.committed(session, answer.version);
      actor.publish(decision, cause);
      if (admitted !== null) visitors.noteAccepted(session, at + wanted.use!.placeMsMax, cause);
      const approved =
        answered !== null && answered.calls.approved.length > 0
          ? { index: answered.calls.index, message: answered.message, ids: answered.calls.approved }
          : null;
      return { turn, basis, fence: answer.fence, userMessage, approved };
    }
    this.#release(before, wanted);
    if (answer.outcome === 'remembered') {
      actor.undo();
      return { kind: 'remembered', remembered: sameBody(answer.remembered, wanted.remember!) };
    }
    if (answer.outcome === 'outdated') {
      actor.undo();
      return { kind: 'outdated' };
    }
    await actor.reload();
    if (answer.outcome === 'full')
      throw admitted === null ? await this.#failFull(before) : new LinkRefused(['visitor_turn'], 0);
    if (answer.outcome !== 'limited') return null;
    if (admitted === null) throw overBudget(answer.answers[0]!, at);
    throw wanted.isEarly
      ? visitors.refuseEarly(admitted, answer.answers, at)
      : await visitors.refuse(before.workspaceId, wanted.use!, admitted, answer.answers, at, cause);
  }

  async #failFull({ workspaceId }: Session): Promise<Failure> {
    await this.#workspaces.sync(workspaceId);
    return workspaceFull();
  }

  /** Whether the turn's chat was answered 503 and the turn is not withdrawn yet. */
  withdraws(actor: LiveSession, turnId: string): boolean {
    return this.#options.withdrawals.has(actor.record.id, turnId);
  }

  #run(begun: LeasedTurn, wanted: WantedTurn): TurnRunner {
    const { actor, before, turn, cause } = begun;
    const { store, clock, inspector, turnMsMax } = this.#options;
    const { model, reports, speaker = null } = wanted;
    const steps = new StoredTurnSteps(begun, reports, this.#ledgerParts);
    const facts = { turnId: turn.id, messageId: turn.messageId, workspaceId: before.workspaceId, cause };
    const runner = new TurnRunner(facts, {
      steps,
      model,
      reports,
      span: wanted.span ?? null,
      speaker,
      clock,
      inspector,
      pace: this.#pace,
      turnMsMax,
      shared: store.leaseMs !== null,
    });
    this.population.inFlight.add(runner);
    actor.runner = runner;
    if (turn.answered !== undefined) runner.log.learn(refusedCalls(begun.history.at(-1), turn.answered));
    this.#watchDeadline(actor);
    this.population.begun(actor.record.id, runner);
    runner.over
      .then((endedBy) => this.#close(actor, runner, wanted, endedBy))
      .catch((error) => reports.ourFault(turn.id, 'error', error));
    runner.start();
    return runner;
  }

  /** Removes a turn that this process no longer runs. */
  #close(actor: LiveSession, runner: TurnRunner, wanted: WantedTurn, endedBy: Cause): void {
    this.population.leave(runner);
    if (actor.runner === runner) {
      actor.runner = null;
      actor.deadline?.cancel();
    }
    this.#release(actor.record, wanted, endedBy);
  }

  #release({ workspaceId }: Session, { takesSlot, cause = nobody }: WantedTurn, endedBy = cause): void {
    if (takesSlot) this.#workspaces.release(workspaceId, endedBy);
  }

  /**
   * Sets the timers of all deadlines again: timers do not follow a wall clock that is set, and do not run while the
   * machine is suspended.
   */
  watchDeadlines(): void {
    for (const actor of this.#sessions.population.residents()) if (actor.runner !== null) this.#watchDeadline(actor);
  }

  /** Expires the session at its deadline, to the second, while its turn is in flight. */
  #watchDeadline(actor: LiveSession): void {
    const { clock } = this.#options;
    actor.deadline?.cancel();
    actor.deadline = clock.after(Math.max(0, actor.record.expiresAt * 1000 - clock.now()), () => {
      if (actor.runner === null) return;
      // The timer and the wall clock may differ: if the deadline is not reached by the wall clock, the timer is set
      // again.
      const due = clock.now() >= actor.record.expiresAt * 1000;
      if (!due) this.#watchDeadline(actor);
      else this.#sessions.send(actor, (at) => ({ type: 'tick', at })).catch(() => void actor.runner?.stop('expired'));
    });
  }
}

/** The rest of a user's message beside its text; undefined if it was typed, and its visitor is not signed. */
function saidBy({ voice, use }: WantedTurn) {
  if (voice === undefined && !use?.isSigned) return undefined;
  const visitorId = use?.isSigned ? use.visitorId : undefined;
  return { status: 'completed', stopReason: null, errorCode: null, voice, visitorId } as const;
}

const withAmended = (history: readonly Message[], amended: Message): Message[] =>
  history.map((message) => (message.id === amended.id ? amended : message));

const overBudget = (refusing: TakenLimit, at: number): Failure =>
  new Failure('rate_limited', { seconds: secondsToRenewal(refusing, at), limiter: 'tokensPerDay' });

const workspaceFull = (): Failure => new Failure('rate_limited', { seconds: 1 });
