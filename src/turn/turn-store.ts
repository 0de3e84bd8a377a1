/** The steps of a turn in the store: its output, its end, its withdrawal, and the end that another process stored. */
import type { AttendanceContext } from '../../machines/attendance.ts';
import { secondsOf, type Clock } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { estimateInputTokens, estimateTokens, type ModelUsage } from '../providers/model.ts';
import { messageOf, type Unsealed } from '../store/records.ts';
import { withoutCharges } from '../store/records/charges.ts';
import { endedIn, eventCountOf, withoutEvents } from '../store/records/events.ts';
import { StoreUnavailable } from '../store/store.ts';
import type {
  AmendedMessage,
  AppendResult,
  Basis,
  AuditEntry,
  Cause,
  Fence,
  Finished,
  FinishTurn,
  IdempotencyRecord,
  Message,
  Move,
  Session,
  SettledLimit,
  Store,
  ToolCall,
  Turn,
  TurnPast,
  TurnPlace,
  Versioned,
} from '../store/store.ts';
import { manyWriters } from '../store/parts/change-record.ts';
import { indexAfter } from '../base/text.ts';
import { UnreadableSnapshot } from '../actors/actor.ts';
import { movedSession, sessionMoveOf } from '../actors/history.ts';
import { cancelledIfPending, outputWithCalls, pendingOf, reopened, type Approved } from './pending-tool-calls.ts';
import * as charges from './charges.ts';
import type { Histories } from './histories.ts';
import { Lease, type LeaseEvents } from './lease.ts';
import {
  results,
  type EndedTurn,
  type Fate,
  type SealedTokens,
  type TurnReports,
  type TurnResult,
  type TurnSteps,
} from './ports.ts';
import type { LiveSession } from './in-flight.ts';
import { terminalOf, type TurnLog } from './log.ts';
import type { Withdrawals } from './withdrawals.ts';
import { tracedStep, type Span } from '../base/tracing.ts';
import { retryMs } from '../base/store-retry.ts';

/**
 * A turn that was begun. `before`: its session before the turn; `begunAt`: the monotonic time from which its lease
 * runs.
 */
export interface LeasedTurn {
  readonly actor: LiveSession;
  readonly before: Session;
  /** The version of the session that the turn was begun on. */
  readonly basis: Basis;
  readonly turn: Turn;
  readonly fence: Fence;
  readonly history: readonly Message[];
  /** The user's message that began the turn; null if the turn answers tool calls. */
  readonly userMessage: Message | null;
  /** The tool calls that the turn was approved to send; null without any. */
  readonly approved: Approved | null;
  readonly begunAt: number;
  readonly remember: Omit<IdempotencyRecord, 'resultId' | 'untilMs'> | null;
  /** The request that began the turn. */
  readonly cause: Cause;
  /** The bound of the history for the model, in estimated tokens; the default if it is left out. */
  readonly historyTokensMax: number | undefined;
  /** The turn's span; null while traces are off. */
  readonly span: Span | null;
}

/** The parts that the turns of a process share. */
export interface TurnStoreParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly histories: Histories;
  readonly withdrawals: Withdrawals;
  /** Informs the visitor's actor of the settled limits. */
  readonly visitors: { noteMoved(session: Session, cause: Cause): void };
  /** Returns a mark for the next move of a session. */
  mark(): string;
}

/** The end of a turn, as the session's step stores it. */
type Ending =
  | (Pick<FinishTurn, 'turn' | 'message' | 'tail' | 'amends' | 'nowMs'> & {
      readonly kind: 'seal';
      readonly cutAt: number | null;
      readonly changes: Partial<Session> | null;
      readonly past: TurnPast;
    })
  | {
      readonly kind: 'withdraw';
      readonly past: TurnPast;
      readonly amends: AmendedMessage | null;
    };

/** A turn's end, as it is stored. */
interface Closed {
  readonly session: Versioned<Session>;
  /** Whether a person had taken the session before. */
  readonly isSilenced: boolean;
}

export class StoredTurnSteps implements TurnSteps {
  /** The messages for the model: the newest ones, the user's last. */
  readonly #conversation: readonly Message[];
  readonly #begun: LeasedTurn;
  readonly #reports: TurnReports;
  readonly #parts: TurnStoreParts;
  readonly #place: TurnPlace;
  #lease: Lease | null = null;
  /** Code points of a spoken reply that readers may see. */
  #released = -1;
  #releasing: Promise<void> | null = null;
  /** The number of the session's messages that were not sent to the model: at first, those that were not even read. */
  #leftOut: number;
  #appends = 0;

  constructor(begun: LeasedTurn, reports: TurnReports, parts: TurnStoreParts) {
    const { before, turn, history } = begun;
    this.#begun = begun;
    this.#reports = reports;
    this.#parts = parts;
    // `concat` makes an array of the exact size; spreading does not.
    this.#conversation = begun.userMessage === null ? history : history.concat([begun.userMessage]);
    this.#leftOut = before.messageCount - history.length;
    this.#place = { workspaceId: before.workspaceId, sessionId: before.id, turnId: turn.id };
  }

  get approved(): Approved | null {
    return this.#begun.approved;
  }

  get beganAt(): number {
    return this.#begun.turn.createdAt;
  }

  conversation(amended: AmendedMessage | null): readonly Message[] {
    return amended === null
      ? this.#conversation
      : this.#conversation.map((message) => (message.id === amended.message.id ? amended.message : message));
  }

  open(events: LeaseEvents): void {
    const { store, clock } = this.#parts;
    const { fence, before, begunAt } = this.#begun;
    const { leaseMs } = store;
    if (leaseMs !== null)
      this.#lease = new Lease(
        { store, clock, place: this.#place, fence, leaseMs, expiresAt: before.expiresAt, begunAt },
        events,
      );
  }

  leave(): void {
    this.#lease?.end();
  }

  noteLeftOut(messages: number): void {
    this.#leftOut += messages;
  }

  append(position: number, text: string): Promise<AppendResult> {
    this.#appends++;
    if (this.#lease !== null) return this.#lease.append(position, text);
    // The place comes last: V8 makes new hidden classes with each object that gets further fields behind a spread.
    return this.#parts.store.turns.append({ fence: this.#begun.fence, position, text, ...this.#place });
  }

  step(from: number, calls: readonly ToolCall[], amends?: AmendedMessage): Promise<AppendResult> {
    const { store } = this.#parts;
    const { fence, span } = this.#begun;
    const stepped = store.turns.step({ fence, from, calls, amends, ...this.#place });
    // A step without calls stores nothing: it asks whether the turn still runs here.
    return calls.length === 0 ? stepped : tracedStep(span, 'step', store, stepped);
  }

  /** Sends one step at a time: positions that are released meanwhile wait for the next. */
  release(points: number): Promise<void> {
    this.#released = Math.max(this.#released, points);
    return (this.#releasing ??= this.#releaseAll());
  }

  async #releaseAll(): Promise<void> {
    for (let sent = -1; sent < this.#released;) {
      sent = this.#released;
      // A store that is away shows it with the next release, or with the end.
      await this.#parts.store.turns.release(this.#place, this.#begun.fence, sent).catch(() => {});
    }
    this.#releasing = null;
  }

  async finish({
    result,
    tail,
    usage,
    log,
    past,
    cause,
    heard,
    calls,
    model,
    isAnswered,
  }: EndedTurn): Promise<'fenced' | SealedTokens> {
    const { clock, histories } = this.#parts;
    const { before, userMessage, basis, historyTokensMax } = this.#begun;
    const made = calls?.made ?? [];
    const amends = calls?.amended ?? undefined;
    const counted = this.#tokensOf(result, usage, log, tail === null ? log.stored : log.length);
    const leftOut = this.#leftOut > 0 || before.historyLeftOut !== undefined ? { historyLeftOut: this.#leftOut } : null;
    const pending =
      result.stopReason === 'tool_calls' ? { index: this.#begun.turn.messageIndex, calls: pendingOf(made) } : undefined;
    const changes = pending === undefined && before.pending === undefined ? leftOut : { ...leftOut, pending };
    if (this.#leftOut > 0) this.#reports.leftOut(this.#leftOut);
    // Text that was lost with a failed step cannot be cut.
    const cutAt = heard !== null && tail !== null && heard.points < log.length ? heard.points : null;
    const nowMs = clock.now();
    const { status, stopReason, errorCode } = result;
    const { inputTokens, outputTokens, cachedInputTokens } = counted;
    // Set one after another: for a literal that spreads a record and replaces fields of it, optimised code calls V8's
    // runtime for each of them. A copy by spread makes a hidden class anew for each field that is added to it.
    const turn: Unsealed<Turn> = Object.assign({}, withoutCharges(this.#begun.turn));
    turn.status = status;
    turn.stopReason = stopReason;
    turn.errorCode = errorCode;
    turn.inputTokens = inputTokens;
    turn.outputTokens = outputTokens;
    if (cachedInputTokens) turn.cachedInputTokens = cachedInputTokens;
    turn.endedAt = secondsOf(nowMs);
    if (model !== null) turn.model = model;
    if (calls !== null) turn.calls = { made: made.length, sent: calls.sent };
    if (isAnswered && this.#lease !== null) turn.certain = true;
    const message = messageOf(turn, turn.messageId, 'assistant', '', {
      status: status === 'completed' ? status : 'partial',
      stopReason,
      errorCode,
      voice: heard?.voice,
      toolCalls: made.length > 0 ? [...made] : undefined,
    });
    const closed = await this.#close(
      { kind: 'seal', turn, message, tail: tail ?? noTail, cutAt, amends, nowMs, changes, past },
      cause,
    );
    if (closed === 'fenced') return closed;
    const { session: finished, isSilenced } = closed;
    this.#begun.span?.set({
      inputTokens,
      outputTokens,
      ...(cachedInputTokens && { cachedInputTokens }),
      appends: this.#appends,
    });
    // The history is kept only if all output was stored and only this turn moved the session: without `tail` the stored
    // output may be less than the log, and another writer may have withdrawn an earlier turn meanwhile.
    if (tail !== null && !isSilenced && finished.version === basis.version + 2) {
      const reply = {
        ...message,
        content: cutAt === null ? log.pieces.join('') : firstPoints(log.pieces.join(''), cutAt),
      };
      histories.keep(
        finished,
        this.#history(amends),
        userMessage === null ? [reply] : [userMessage, reply],
        historyTokensMax,
      );
    }
    return isSilenced ? { ...counted, isSilenced } : counted;
  }

  /** The messages before the turn, one of them as it is now. */
  #history(amended: AmendedMessage | undefined): readonly Message[] {
    const { history } = this.#begun;
    return amended === undefined
      ? history
      : history.map((message) => (message.id === amended.message.id ? amended.message : message));
  }

  /**
   * The provider's token counts. For a turn that was cut, the provider may not have counted all output, so the larger
   * of count and estimate is used.
   */
  #tokensOf({ status }: TurnResult, usage: ModelUsage | null, log: TurnLog, length: number): ModelUsage {
    if (usage !== null && status === 'completed') return usage;
    const text = log.pieces.join('');
    const outputTokens = estimateTokens(text.slice(0, indexAfter(text, length)));
    if (usage !== null) return { ...usage, outputTokens: Math.max(usage.outputTokens, outputTokens) };
    // Messages that were left out were cut from the front, and most of them may not even have been read.
    const { before, history } = this.#begun;
    const sent = this.#conversation.slice(this.#leftOut - (before.messageCount - history.length));
    return { inputTokens: estimateInputTokens(sent), outputTokens };
  }

  async withdraw(past: TurnPast): Promise<boolean> {
    const { before } = this.#begun;
    // The lease must run out, so that requests that wait for the turn in other processes notice that its owner has left
    // it.
    this.#lease?.end();
    try {
      const { turn } = this.#begun;
      const amends = turn.answered === undefined ? null : await reopened(this.#parts.store, before.workspaceId, turn);
      if ((await this.#close({ kind: 'withdraw', past, amends }, this.#begun.cause)) === 'fenced')
        this.#withdrawLater(past);
      return true;
    } catch (error) {
      // A removed session, with its workspace or by retention, has no turn left.
      if (error instanceof Failure) return true;
      if (!(error instanceof StoreUnavailable)) this.#reports.ourFault(this.#begun.turn.id, 'error', error);
      this.#withdrawLater(past);
      return false;
    }
  }

  #withdrawLater(past: TurnPast): void {
    const { before, basis, turn, fence, remember, cause, span } = this.#begun;
    this.#parts.withdrawals.add({
      workspaceId: before.workspaceId,
      turn,
      basis,
      fence,
      remember,
      cause,
      past,
      reports: this.#reports,
      span,
    });
  }

  async fate(position: number, wanted: () => boolean): Promise<Fate | null | 'unknown'> {
    const { store, clock } = this.#parts;
    for (let tries = 0; ;) {
      let pauseMs: number = limits.remoteSilentMs;
      try {
        const output = await outputWithCalls(store, this.#place, position);
        if (output === null || output.text === null) return null;
        const terminal = terminalOf(output.turn, output.calls);
        if (terminal !== null) return { terminal, text: output.text, calls: output.calls ?? [] };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        pauseMs = retryMs(tries++);
      }
      if (!wanted()) return 'unknown';
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
  }

  /**
   * Sends the session's machine the end of the turn and stores it in one step; resolves with the session after that.
   * `fenced` also if a turn that is to be withdrawn is not the session's any more.
   */
  #close(wanted: Ending, cause: Cause): Promise<Closed | 'fenced'> {
    const { actor, turn } = this.#begun;
    const { clock, mark, visitors } = this.#parts;
    const isAborted = wanted.kind === 'seal' && wanted.turn.stopReason === 'aborted';
    const audit = isAborted
      ? cause.auditStep?.({ action: 'abort', session: actor.record, turnId: turn.id })
      : undefined;
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        // If another process has ended the turn, the session may have moved since, and must not be put back to its
        // state before the turn.
        if (wanted.kind === 'withdraw' && actor.context.activeTurnId !== turn.id) return 'fenced';
        // A take comes before each end that was not stored before it.
        const isSilenced = wanted.kind === 'seal' && silences(actor.record, turn.id);
        const ending = endingIn(actor.record, isSilenced ? silenced(wanted) : wanted);
        const at = clock.now();
        const decision = actor.machine.decide({ type: 'finished', at, turnId: turn.id });
        const moved = movedSession(actor.record, at, mark(), actor.machine.snapshot());
        const changes = ending.kind === 'seal' ? ending.changes : this.#undone(actor.record);
        const changed = changes === null ? moved : { ...moved, ...changes };
        const { session, settled } =
          ending.kind === 'seal'
            ? charges.sealSettlement(changed, turn, ending.turn, at)
            : charges.withdrawalSettlement(changed, turn);
        const move = sessionMoveOf(decision, actor.version + 1, at, cause, session, ending.past);
        let answer: Finished;
        try {
          answer = await this.#store(ending, session, actor.basis, move, settled, audit);
        } catch (error) {
          actor.undo();
          throw error;
        }
        if (answer.outcome === 'finished') {
          actor.committed(session, answer.version);
          actor.publish(decision, cause);
          if (turn.link !== undefined) visitors.noteMoved(session, cause);
          return { session: { record: session, version: answer.version }, isSilenced };
        }
        try {
          await actor.reload();
        } catch (error) {
          // If a later version has moved the session, a process of that version serves it, and seals its turn once the
          // lease has run out.
          if (answer.outcome !== 'fenced' && !(error instanceof UnreadableSnapshot)) throw error;
          return 'fenced';
        }
        if (answer.outcome === 'fenced') return 'fenced';
      }
      throw manyWriters('session');
    });
  }

  /** The fields of the session without the turn: messages of the desk may follow the turn's. */
  #undone(record: Session): Partial<Session> {
    const { before, turn } = this.#begun;
    const isLast = record.messageCount === turn.messageIndex + 1;
    if (!isLast) return { ...withoutEvents(record, turn, false), ...(record.turnEnd && { turnEnd: undefined }) };
    const { messageCount, lastActivityAt } = before;
    return { messageCount, lastActivityAt, eventCount: eventCountOf(before) };
  }

  #store(
    ending: Ending,
    session: Session,
    basis: Basis,
    move: Move,
    settled: readonly SettledLimit[] | undefined,
    audit: AuditEntry | undefined,
  ): Promise<Finished> {
    const { store, clock } = this.#parts;
    const { turn, fence, span } = this.#begun;
    const { version, mark } = basis;
    if (ending.kind === 'withdraw') {
      const step = {
        session,
        version,
        mark,
        move,
        fence,
        turn,
        nowMs: clock.now(),
        ...(ending.amends && { amends: ending.amends }),
        ...(settled && { settled }),
      };
      return tracedStep(span, 'withdraw', store, store.turns.withdraw(step));
    }
    const { message, tail, nowMs, cutAt, amends } = ending;
    const step: Unsealed<FinishTurn> = { session, version, mark, move, fence, turn: ending.turn, message, tail, nowMs };
    if (cutAt !== null) step.cutAt = cutAt;
    if (amends !== undefined) step.amends = amends;
    if (settled !== undefined) step.settled = settled;
    if (audit !== undefined) step.audit = audit;
    return tracedStep(span, 'finish', store, store.turns.finish(step));
  }
}

/** Whether a person's take has silenced the turn. */
const silences = ({ attendance }: Session, turnId: string): boolean =>
  (attendance?.context as AttendanceContext | undefined)?.silencedTurnId === turnId;

/** The end of a turn that a take has silenced: what was stored until then. */
function silenced(ending: Ending & { readonly kind: 'seal' }): Ending {
  const { status, stopReason, errorCode } = results.taken;
  const { pending: _, ...changes } = ending.changes ?? {};
  const { toolCalls } = ending.message;
  return {
    ...ending,
    turn: { ...ending.turn, status, stopReason, errorCode },
    message: {
      ...ending.message,
      status: 'partial',
      stopReason,
      errorCode,
      ...(toolCalls && { toolCalls: toolCalls.map((call) => cancelledIfPending(call, ending.nowMs)) }),
    },
    tail: noTail,
    past: silencedPast(ending),
    changes: { ...changes, pending: undefined },
  };
}

/** The turn's steps until its end as taken: it may have decided another end before. */
const silencedPast = ({ past, turn, nowMs }: Ending & { readonly kind: 'seal' }): TurnPast =>
  turn.stopReason === 'taken' || past.events.length >= limits.turnEventsKept
    ? past
    : { ...past, events: [...past.events, { type: 'silenced', at: nowMs }] };

/** The end with the number of its event, where events of the desk come before it. */
function endingIn(session: Session, ending: Ending): Ending {
  if (ending.kind !== 'seal' || session.turnEnd === undefined) return ending;
  return {
    ...ending,
    turn: endedIn(ending.turn, session),
    changes: { ...ending.changes, turnEnd: undefined },
  };
}

/** A tail that adds nothing, and is valid at any stored length. */
const noTail = { position: 0, text: '' };

const firstPoints = (text: string, points: number): string => text.slice(0, indexAfter(text, points));
