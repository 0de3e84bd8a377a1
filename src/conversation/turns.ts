/** Turns of a conversation: begins, joins, aborts and reads them. Only `principal` identifies the caller. */
import { Failure } from '../base/errors.ts';
import type { LiveSession, TurnInFlight } from '../turn/in-flight.ts';
import type { WantedTurn } from '../turn/turns.ts';
import { limits } from '../base/limits.ts';
import { thenSync } from '../base/then-sync.ts';
import { AssistantModel } from '../assistant/model.ts';
import type { ModelFailure } from '../providers/model.ts';
import { LoggedReports } from '../turn/reports.ts';
import { refusedByDrain, type Services } from './services.ts';
import { StoreUnavailable, type Turn } from '../store/store.ts';
import { outputWithCalls, type CallAnswer } from '../turn/pending-tool-calls.ts';
import { terminalOf, TurnLog } from '../turn/log.ts';
import type { Begun } from '../turn/ports.ts';
import type { TurnRunner } from '../turn/runner.ts';
import type { Idempotency } from './idempotency.ts';
import { linkOf } from '../host/link-budget.ts';
import { useOf } from './link.ts';
import { causeByPrincipal, mayAnswer, type Principal } from './principal.ts';
import { releaseBasis } from '../host/versions.ts';
import { keyOf, reachActor, reachConversation, turnRefusal, type ReachedConversation } from './access-checks.ts';
import type { TurnAdditions } from '../assistant/additions.ts';
import type { Span } from '../base/tracing.ts';

/** A turn to read: with its runner if it is in flight in this process, otherwise from the store. */
export interface FoundTurn {
  readonly turnId: string;
  readonly messageId: string;
  readonly log: TurnLog;
  readonly runner: TurnInFlight | null;
  /** Whether a call speaks its reply. */
  readonly isSpoken: boolean;
  /** Unix seconds; null while the turn is in flight. */
  readonly endedAt: number | null;
  /** The turn's span; null if traces were off when it began. */
  readonly traceparent: string | null;
}

/** A message as the caller sends it. */
export interface SentMessage {
  readonly sessionId: string;
  /** Null for answers to tool calls. */
  readonly text: string | null;
  /** The answers to tool calls that wait (contract 13). */
  readonly answers?: readonly CallAnswer[] | undefined;
  /** The additions of a protocol adapter to the assistant's own settings. */
  readonly additions?: TurnAdditions;
  /** Whether a call speaks the reply. */
  readonly isSpoken?: boolean;
  readonly remember: Idempotency | null;
  readonly found?: WantedTurn['found'];
  readonly turnId?: string | undefined;
  /** Called when this request has begun a turn, before its first output; not for a turn that it joins. */
  readonly onBegun?: (turn: FoundTurn) => void;
  /** For the log and the history. */
  readonly requestId: string;
  /** The request's span; null while traces are off. */
  readonly span: Span | null;
}

/** The turn that answers a message; `replayed` if an earlier request with the same key began it. */
export interface AnsweringTurn {
  readonly turn: FoundTurn;
  readonly replayed: boolean;
}

/** A message that was accepted for a person (contract 23): no turn answers it. */
export interface AcceptedMessage {
  readonly acceptedId: string;
  readonly replayed: boolean;
}

/** The result of an earlier request, if it was accepted for a person; null if a turn answered it. */
const acceptedBefore = (resultId: string): AcceptedMessage | null =>
  resultId.startsWith('msg_') ? { acceptedId: resultId, replayed: true } : null;

/** The turn of a caller whose sessions are never at the desk. Throws 409 `session_taken` for any other session. */
export function turnOf<Answer extends AnsweringTurn>(answer: Answer | AcceptedMessage): Answer {
  if ('acceptedId' in answer) throw new Failure('session_taken');
  return answer;
}

/**
 * Begins a turn with the message, or joins the turn that an earlier request with the same key began. Resolves once the
 * provider has begun to answer, or the message is accepted for a person; throws every failure before that (contract 3, 6 to 9).
 */
export async function converse(
  principal: Principal,
  sent: SentMessage,
  services: Services,
): Promise<AnsweringTurn | AcceptedMessage> {
  const { host, clock } = services;
  // The session is not read first on a shared store: the step that begins the turn is compared with the stored session
  // in any case.
  const startedAt = clock.monotonic();
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    const reaching = reachConversation(principal, sent.sessionId, services);
    const reached = reaching instanceof Promise ? await reaching : reaching;
    const { actor: session } = reached;
    if (reached.assistant === null || services.draining) return joinOnly(principal, sent, services);
    const started = await host.turns.begin(session, wantedTurn(principal, reached, sent, services));
    if (started.kind === 'started') {
      sent.onBegun?.(turnInFlight(started.runner));
      return { turn: await awaitAnswer(started.runner, startedAt, services), replayed: false };
    }
    if (started.kind === 'outdated') {
      host.assistants.doubt(session.record.assistantId);
      continue;
    }
    if (started.kind === 'accepted') return { acceptedId: started.messageId, replayed: false };
    const accepted = acceptedBefore(started.remembered.resultId);
    if (accepted !== null) return accepted;
    const joined = await join(session, started.remembered.resultId, services);
    if (joined !== null) return { turn: linked(joined, sent.span), replayed: true };
  }
  throw new Failure('service_unavailable');
}

/**
 * Joins a turn if none may begin. A repeat is answered before every check that could refuse it (contract 6): the key
 * is looked up in the mailbox, after the session's earlier events.
 */
async function joinOnly(
  principal: Principal,
  { sessionId, remember, span }: SentMessage,
  services: Services,
): Promise<AnsweringTurn | AcceptedMessage> {
  const actor = await reachActor(principal, sessionId, services);
  const earlier =
    remember && (await actor.mailbox.post(() => services.host.sessions.earlier(principal.workspaceId, remember)));
  const accepted = earlier && acceptedBefore(earlier.resultId);
  if (accepted) return accepted;
  const joined = earlier && (await join(actor, earlier.resultId, services));
  if (joined) return { turn: linked(joined, span), replayed: true };
  throw services.draining ? refusedByDrain() : new Failure('assistant_not_found');
}

/** Links the span of a request that did not begin the turn to the turn's. */
export function linked(turn: FoundTurn, span: Span | null): FoundTurn {
  if (span !== null && turn.traceparent !== null) span.link(turn.traceparent);
  return turn;
}

/** Describes the turn that the principal's message requests. */
export function wantedTurn(
  principal: Principal,
  { actor, assistant, answering }: ReachedConversation,
  sent: SentMessage,
  services: Services,
): WantedTurn {
  const cause = causeByPrincipal(principal, sent.requestId);
  const use = useOf(principal, assistant, services);
  const { record } = actor;
  // A tool learns who the visitor is now: the site may have withdrawn its signature since the last message.
  const session = use === undefined ? record : { ...record, link: linkOf(use, null, record.link?.signedFields) };
  return {
    message: sent.text,
    ...(sent.answers && {
      answers: sent.answers,
      mayAnswer: sent.answers.every((answer) => mayAnswer(principal, actor.record, answer)),
    }),
    assistantRefusal: turnRefusal(actor.record, assistant, cause, services),
    takesSlot: principal.channel === 'api',
    keyId: keyOf(principal) ?? undefined,
    use,
    remember: sent.remember,
    found: sent.found,
    turnId: sent.turnId,
    cause,
    historyTokensMax: answering.model.historyTokensMax,
    assistantVersion: answering.version?.number,
    chosenBy: answering.version === undefined ? undefined : record,
    recalls: answering.release?.recalls,
    release: releaseBasis(answering),
    model: new AssistantModel(answering, session, services, sent),
    reports: new LoggedReports(sent.requestId, sent.sessionId, services),
    span:
      sent.span?.child({
        kind: 'turn',
        workspaceId: actor.record.workspaceId,
        assistantId: assistant.record.id,
        assistantName: assistant.record.name,
        sessionId: sent.sessionId,
      }) ?? null,
  };
}

function awaitAnswer(runner: TurnRunner, startedAt: number, services: Services): FoundTurn | Promise<FoundTurn> {
  const { metrics, clock } = services;
  const turn = turnInFlight(runner);
  return thenSync(awaitBeginning(turn, services), () => {
    if (runner.log.shown > 0) metrics.firstOutput.observe((clock.monotonic() - startedAt) / 1000);
    return turn;
  });
}

/**
 * The turn that an earlier request with the same key began; null if that turn was removed, so that this request begins
 * a new one (contract 6).
 */
async function join(actor: LiveSession, turnId: string, services: Services): Promise<FoundTurn | null> {
  const { host } = services;
  const turn = await findTurn(actor, turnId, services);
  if (turn === null || host.turns.withdraws(actor, turnId)) return null;
  const { id: sessionId, workspaceId } = actor.record;
  if (
    turn.runner === null &&
    !(await host.remote.awaitBeginning({ workspaceId, sessionId, turnId }, turn.log, turn.endedAt))
  )
    return null;
  await awaitBeginning(turn, services);
  return turn;
}

/**
 * Waits for the first output: a reply gets status 200 only once the provider has begun to answer; a failure before that
 * has its own status (contract 3). An abort is no failure.
 */
const awaitBeginning = ({ runner, log }: FoundTurn, services: Services): void | Promise<void> =>
  thenSync<Begun | null, void>(runner && runner.begun, (answer) => {
    const kind = answer?.kind;
    if (kind === 'withdrawn') throw withdrawnRefusal(answer?.failure);
    if (kind === 'late') throw new Failure('api_error');
    if (kind === 'unavailable') throw services.draining ? refusedByDrain() : new Failure('service_unavailable');
    if (log.shown === 0 && log.terminal?.type === 'failed' && log.terminal.errorCode === 'session_expired')
      throw new Failure('session_expired');
  });

/** The refusal of a chat whose turn is withdrawn: 422 if the provider refused a field of the request. */
function withdrawnRefusal(failure: ModelFailure | undefined): Failure {
  if (failure === 'format') return new Failure('not_supported', { field: 'response_format' });
  return failure === 'forced'
    ? new Failure('not_supported', { field: 'tool_choice' })
    : new Failure('assistant_unavailable');
}

/** A turn of the session, for reading. Throws 404 `turn_not_found`; `StoreUnavailable` while its fate is not known. */
export async function reachTurn(
  principal: Principal,
  sessionId: string,
  turnId: string,
  services: Services,
): Promise<FoundTurn> {
  const actor = await reachActor(principal, sessionId, services);
  const turn = await findTurn(actor, turnId, services);
  if (turn === null) throw new Failure('turn_not_found');
  // The chat of a turn that waits to be withdrawn was answered 503, so its stored output must not be read, unless a
  // repeat of that chat was answered with the turn since, which keeps it. The turn is not removed yet: another process
  // may take it over and seal it.
  const waits = services.host.turns.withdraws(actor, turnId);
  if (waits && (await services.store.turns.read(principal.workspaceId, sessionId, turnId))?.claimed !== true)
    throw new StoreUnavailable('The turn waits to be withdrawn. Repeat the request.');
  return turn;
}

/**
 * Aborts a turn of the session and returns the turn after that; a finished turn stays as it is. Throws 404
 * `turn_not_found`.
 */
export async function abortTurn(
  principal: Principal,
  sessionId: string,
  turnId: string,
  requestId: string,
  services: Services,
): Promise<Turn> {
  const { store, host } = services;
  const actor = await reachActor(principal, sessionId, services);
  const read = async (): Promise<Turn> => {
    const turn = await store.turns.read(principal.workspaceId, sessionId, turnId);
    if (turn === null) throw new Failure('turn_not_found');
    return turn;
  };
  if ((await findTurn(actor, turnId, services)) === null) throw new Failure('turn_not_found');
  await host.sessions.abort(actor, turnId, causeByPrincipal(principal, requestId));
  return read();
}

/** The session's turn, live in this process or another, or stored; null if the session does not have it. */
export async function findTurn(
  actor: LiveSession,
  turnId: string,
  { store, host }: Pick<Services, 'store' | 'host'>,
): Promise<FoundTurn | null> {
  const { runner } = actor;
  if (runner?.turnId === turnId) return runner.isHidden ? null : turnInFlight(runner);
  const { id: sessionId, workspaceId } = actor.record;
  const turn = await store.turns.read(workspaceId, sessionId, turnId);
  if (turn === null) return null;
  const place = { workspaceId, sessionId, turnId };
  const isSpoken = turn.spoken === true;
  const followed = async (): Promise<FoundTurn> => ({
    runner: null,
    isSpoken,
    turnId,
    messageId: turn.messageId,
    log: await host.remote.follow(place),
    endedAt: null,
    traceparent: turn.traceparent ?? null,
  });
  // A turn that a call has requested early is hidden from all others.
  if (turn.status === 'streaming')
    return isSpoken && (await store.turns.outputAfter(place, 0)) === null ? null : followed();
  // The end and the text are read in one step: a failover between two reads would combine the end of one state with the
  // text of another.
  const stored = await outputWithCalls(store, place, 0);
  if (stored === null) return null;
  const terminal = terminalOf(stored.turn, stored.calls);
  if (terminal === null) return followed();
  return {
    runner: null,
    isSpoken,
    turnId,
    messageId: turn.messageId,
    log: TurnLog.replay(stored.text ?? '', terminal, stored.calls),
    endedAt: stored.turn.endedAt,
    traceparent: turn.traceparent ?? null,
  };
}

const turnInFlight = (runner: TurnInFlight): FoundTurn => ({
  runner,
  isSpoken: runner.isSpoken,
  turnId: runner.turnId,
  messageId: runner.messageId,
  log: runner.log,
  endedAt: null,
  traceparent: runner.traceparent,
});
