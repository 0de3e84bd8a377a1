/** Turns whose process died: their stored output becomes the partial message, and the session is free again. */
import { sessionKind, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { estimateInputTokens, estimateTokens } from '../providers/model.ts';
import { cutHistory, modelMessages } from '../providers/model/history.ts';
import { firstIndexOf, messageOf } from '../store/records.ts';
import {
  StoreUnavailable,
  type AmendedMessage,
  type Finished,
  type FinishTurn,
  type Store,
  type TakenOver,
  type Session,
  type ToolCall,
  type Turn,
  type TurnPlace,
  type Versioned,
} from '../store/store.ts';
import { codePoints } from '../base/text.ts';
import { cancelledIfPending, messageAt, reopened, withCalls } from './pending-tool-calls.ts';
import { readFor } from './histories.ts';
import { openActor } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { sessionMoveOf } from '../actors/history.ts';
import { endSettlement, type Settlement } from '../host/link-budget.ts';
import { sealSettlement, withdrawalSettlement } from './charges.ts';
import { withoutCharges } from '../store/records/charges.ts';
import { endedIn, withoutEvents } from '../store/records/events.ts';
import type { Takeovers } from './takeovers.ts';
import { endWith, type TracedStep, type Tracer } from '../base/tracing.ts';
import type { Withdrawals, WithdrawalsOptions } from './withdrawals.ts';

/**
 * The end of a turn that another process seals: by the reason of a request to stop it, otherwise by the state of its
 * session.
 */
const endings = {
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  taken: { status: 'aborted', stopReason: 'taken', errorCode: null },
  ended: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  died: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const;

export interface OrphansOptions extends WithdrawalsOptions {
  readonly withdrawals: Withdrawals;
  readonly takeovers: Takeovers;
  /** Null while traces are off. */
  readonly tracer: Tracer | null;
}

/** States in order of precedence: an ended session does not expire. */
const overStates = ['ended', 'expired'] as const;

/**
 * Seals the session's turn if its lease has run out; resolves with the session after that. A living turn of another
 * process is left alone, and so is a turn that this process withdraws. A turn without output, without tool calls that
 * may have been sent and without a request to stop is withdrawn: its chat was never answered with a stream. A tool call
 * without a stored result is `unknown`: no process sends it again (contract 13). If another writer moves the session
 * meanwhile, it is read again and the turn sealed under the same fence. If the store does not accept the seal, the next
 * attempt uses the same fence too: otherwise the turn would be locked for another lease.
 */
export async function sealOrphan(
  options: OrphansOptions,
  session: Versioned<Session>,
  turnId: string,
): Promise<Versioned<Session>> {
  const { clock, withdrawals, takeovers } = options;
  if (withdrawals.has(session.record.id, turnId)) return session;
  const nowMs = clock.now();
  const again = takeovers.has(turnId);
  const untilMs = takeovers.begin(turnId, nowMs, limits.leaseMs);
  if (untilMs === null) return session;
  let done = false;
  try {
    const sealed = await seizeAndSeal(options, session, turnId, nowMs, untilMs);
    done = sealed.done;
    return sealed.session;
  } catch (error) {
    // The session can be read although its turn still cannot be sealed.
    if (again && error instanceof StoreUnavailable) return session;
    throw error;
  } finally {
    takeovers.end(turnId, done);
  }
}

/** Resolves with the session after the step; `done` unless the turn still must be sealed under the seized fence. */
async function seizeAndSeal(
  options: OrphansOptions,
  stored: Versioned<Session>,
  turnId: string,
  nowMs: number,
  untilMs: number,
): Promise<{ session: Versioned<Session>; done: boolean }> {
  const { store, owner } = options;
  const { id: sessionId, workspaceId } = stored.record;
  const place = { workspaceId, sessionId, turnId };
  const seized = await store.turns.takeOver(place, owner, untilMs, nowMs);
  const turn = seized && (await store.turns.read(workspaceId, sessionId, turnId));
  if (!seized || !turn) return { session: stored, done: true };

  const output = await store.turns.output(place);
  // The provider's token count died with the process, so the tokens are estimated (see `estimateTokens`), within the
  // assistant's budget.
  const assistant = await store.catalog.read('assistant', workspaceId, stored.record.assistantId);
  const tokensMax = assistant?.record.model.historyTokensMax ?? limits.historyTokensMax;
  const { charactersMax, messagesMax } = readFor(tokensMax);
  // The message that began the turn was sent at any budget.
  const messages = await store.sessions.recentMessages(
    workspaceId,
    sessionId,
    turn.messageIndex,
    charactersMax + limits.frontBodyBytesMax,
    messagesMax + 1,
  );
  const inputTokens = estimateInputTokens(cutHistory(modelMessages(messages), tokensMax).messages);
  // The owner of a turn that a call had requested early has shown it to nobody.
  const hidden = turn.spoken === true && (await store.turns.outputAfter(place, 0)) === null;
  const calls = await callsLeft(store, place, turn, nowMs);
  const orphan = {
    hidden,
    seized,
    turn: {
      ...turn,
      inputTokens,
      outputTokens: estimateTokens(output),
      ...(calls.count !== null && { calls: calls.count }),
    },
    output,
    calls,
    reopened: await reopened(store, workspaceId, turn),
  };
  let session: Versioned<Session> | null = stored;
  for (let attempt = 0; session !== null && attempt < limits.decisionAttemptsMax; attempt++) {
    const { record, finished } = await seal(options, session, orphan);
    if (finished.outcome === 'finished') return { session: { record, version: finished.version }, done: true };
    session = await store.sessions.read(workspaceId, sessionId);
    if (finished.outcome === 'fenced') return { session: session ?? stored, done: true };
  }
  return { session: session ?? stored, done: session === null };
}

/** A turn that was taken over, with its tokens counted and its stored output. */
interface Orphan {
  readonly seized: TakenOver;
  readonly turn: Turn;
  readonly output: string;
  readonly hidden: boolean;
  readonly calls: CallsLeft;
  /** The earlier message as it was before the turn answered its calls; null if it answered none. */
  readonly reopened: AmendedMessage | null;
}

/** The calls of a turn whose process died: those without a stored result are `unknown`. */
interface CallsLeft {
  readonly made: readonly ToolCall[];
  /** The earlier message with the tool calls that the turn was approved to send; null without one. */
  readonly amends: AmendedMessage | null;
  /** Null without tool calls. */
  readonly count: Turn['calls'] | null;
}

async function callsLeft(store: Store, place: TurnPlace, { answered }: Turn, nowMs: number): Promise<CallsLeft> {
  const lost = (call: ToolCall): ToolCall =>
    call.status === 'running' ? { ...call, status: 'unknown', error: 'unknown', endedAtMs: nowMs } : call;
  const made = (await store.turns.calls(place)).map((call) => lost(cancelledIfPending(call, nowMs)));
  const approved = answered?.approved ?? [];
  const message =
    approved.length === 0 ? undefined : await messageAt(store, place.workspaceId, place.sessionId, answered!.index);
  const sent =
    made.filter((call) => call.sent).length +
    (message?.toolCalls ?? []).filter(({ id, sent }) => sent && approved.includes(id)).length;
  return {
    made,
    amends: message?.toolCalls === undefined ? null : { index: answered!.index, message: withCalls(message, lost) },
    count: made.length === 0 && sent === 0 ? null : { made: made.length, sent },
  };
}

/** Decides from the session's state how the turn ended, and stores that end. */
async function seal(
  { store, clock, inspector, mark, tracer }: OrphansOptions,
  stored: Versioned<Session>,
  { seized, turn, output, hidden, calls, reopened }: Orphan,
): Promise<{ record: Session; finished: Finished }> {
  const { id: sessionId, workspaceId, machine: snapshot } = stored.record;
  const { stop, ...fence } = seized;
  const nowMs = clock.now();
  const machine = openActor<SessionEvent, SessionOutcome>(
    sessionKind,
    { snapshot },
    { kind: 'session', id: sessionId, workspaceId },
    inspector,
  );
  const decision = machine.decide({ type: 'finished', at: nowMs, turnId: turn.id });
  // If the session's deadline passed while no process ran it, the session expires, and that ends its turn.
  const ending =
    endings[stop ?? overStates.find((state) => state === decision.from || state === decision.to) ?? 'died'];
  // A call runs in the process that runs its turn, and ends with it.
  const { call, turnEnd: _end, ...rest } = stored.record;
  const moved = {
    ...rest,
    ...(call !== undefined && call.turnId !== turn.id && { call }),
    mark: mark(),
    machine: machine.snapshot(),
  };
  const move = sessionMoveOf(decision, stored.version + 1, nowMs, nobody, moved);
  const basis = { version: stored.version, mark: stored.record.mark, move };
  if (ending === endings.died && ((output === '' && calls.count === null) || hidden)) {
    // Messages of the desk may follow the turn's.
    const isLast = moved.messageCount === turn.messageIndex + 1;
    const { session: record, ...settled } = withdrawalSettlement(
      { ...moved, ...(isLast && { messageCount: firstIndexOf(turn) }), ...withoutEvents(stored.record, turn, isLast) },
      turn,
    );
    const step = {
      session: record,
      ...basis,
      turn,
      fence,
      ...settled,
      ...(reopened && { amends: reopened }),
      nowMs,
    };
    const finished = await inTraceOf(turn, 'withdraw', store, store.turns.withdraw(step), tracer);
    if (finished.outcome === 'finished') machine.publish(decision, finished.version, nobody);
    return { record, finished };
  }
  const over: Settlement =
    machine.state === 'expired' ? endSettlement(moved, turn.id, moved.expiresAt * 1000) : { session: moved };
  const { session, settled = [] } = sealSettlement(over.session, turn, turn, nowMs);
  const message = messageOf(turn, turn.messageId, 'assistant', output, {
    status: 'partial',
    stopReason: ending.stopReason,
    errorCode: ending.errorCode,
    ...(turn.spoken && { voice: { audioMs: 0, heard: 'sent', cutBy: null } as const }),
    ...(calls.made.length > 0 && { toolCalls: calls.made }),
  });
  const { pending: _, ...settledSession } = session;
  const step: FinishTurn = {
    session: settledSession,
    ...basis,
    turn: { ...endedIn(withoutCharges(turn), stored.record), ...ending, endedAt: secondsOf(nowMs), certain: true },
    message,
    tail: { position: codePoints(output), text: '' },
    fence,
    settled: [...(over.settled ?? []), ...settled],
    ...(calls.amends && { amends: calls.amends }),
    nowMs,
  };
  const finished = await inTraceOf(turn, 'finish', store, store.turns.finish(step), tracer);
  if (finished.outcome === 'finished') machine.publish(decision, finished.version, nobody);
  return { record: settledSession, finished };
}

/** Traces a step of the store below the turn's span, which has died with the turn's process. */
function inTraceOf<T>(
  { traceparent }: Turn,
  step: TracedStep,
  { name: store }: Store,
  sent: Promise<T>,
  tracer: Tracer | null,
): Promise<T> {
  if (tracer !== null && traceparent !== undefined)
    endWith(tracer.begin({ kind: 'step', step, store }, { parent: traceparent }), sent);
  return sent;
}
