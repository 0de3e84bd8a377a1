/** Tool calls that wait for the caller (contract 13): a chat answers, approves or declines them. */
import type { TurnTools } from '../assistant/tools.ts';
import { Failure } from '../base/errors.ts';
import { StoreUnavailable } from '../store/store.ts';
import type {
  AmendedMessage,
  AnsweredCalls,
  Message,
  OutputAfter,
  PendingCall,
  Session,
  Store,
  ToolCall,
  Turn,
  TurnPlace,
} from '../store/store.ts';

/** A message with tool calls. */
type WithCalls = Message & { readonly toolCalls: readonly ToolCall[] };

/** Calls of an earlier message that were approved, as the step that began the turn has stored them. */
export interface Approved extends AmendedMessage {
  readonly message: WithCalls;
  readonly ids: readonly string[];
}

/** A caller's answer to a call that waits: its result, or whether it is approved. */
export type CallAnswer =
  | { readonly callId: string; readonly output: string }
  | { readonly callId: string; readonly approved: boolean };

/**
 * The tool calls that a turn answers, and their message after that: approved calls are `running`, so that the step that
 * begins the turn stores them before they are sent.
 */
export interface AnsweredMessage {
  readonly calls: AnsweredCalls;
  readonly message: WithCalls;
}

/** The chat with the answers. */
interface Answering {
  readonly answers?: readonly CallAnswer[];
  /** Whether the chat's caller may give these answers. */
  readonly mayAnswer?: boolean;
  readonly model: { readonly tools: Pick<TurnTools, 'admitApproved'> };
}

/**
 * Answers the tool calls of a session that wait, or declines them if the chat has no answers; null without waiting
 * calls and answers. Throws 422 `tool_results` unless each call that waits has one answer of the kind that it waits
 * for, from a caller who may give it.
 */
export async function answeredCalls(
  store: Store,
  { workspaceId, id, pending }: Session,
  { answers, mayAnswer = true, model }: Answering,
  nowMs: number,
): Promise<AnsweredMessage | null> {
  const waiting = pending?.calls ?? [];
  const answerById = new Map(answers?.map((answer) => [answer.callId, answer]));
  const fits = waiting.every(
    ({ id: callId, wants }) => (wants === 'result' ? 'output' : 'approved') in (answerById.get(callId) ?? {}),
  );
  if (answers !== undefined && (waiting.length === 0 || answers.length !== waiting.length || !fits || !mayAnswer))
    throw new Failure('invalid_field', { field: 'tool_results' });
  if (pending === undefined) return null;
  const message = await messageAt(store, workspaceId, id, pending.index);
  if (message?.toolCalls === undefined)
    throw new StoreUnavailable('The store has lost the message with the tool calls that wait.');
  const toolCalls = await Promise.all(
    message.toolCalls.map((call) =>
      call.status === 'pending' ? answered(call, answerById.get(call.id), model, nowMs) : call,
    ),
  );
  const ids = waiting.map((call) => call.id);
  const approved = toolCalls
    .filter(({ id: callId, status }) => status === 'running' && ids.includes(callId))
    .map((call) => call.id);
  return { calls: { index: pending.index, ids, approved }, message: { ...message, toolCalls } };
}

/** The message whose tool calls wait, with each of them declined; null without one. */
export async function declinedCalls(store: Store, session: Session, nowMs: number): Promise<AmendedMessage | null> {
  const declining = { model: { tools: { admitApproved: () => Promise.resolve(null) } } };
  const declined = await answeredCalls(store, session, declining, nowMs);
  return declined && { index: declined.calls.index, message: declined.message };
}

async function answered(
  call: ToolCall,
  answer: CallAnswer | undefined,
  model: Answering['model'],
  nowMs: number,
): Promise<ToolCall> {
  if (answer !== undefined && 'output' in answer)
    return { ...call, status: 'completed', output: answer.output, endedAtMs: nowMs };
  if (answer === undefined || !answer.approved)
    return { ...call, status: 'declined', error: 'declined', endedAtMs: nowMs };
  const refusal = await model.tools.admitApproved(call.name);
  return refusal === null
    ? { ...call, status: 'running', sent: true }
    : { ...call, status: 'failed', error: refusal, didNotAct: true, endedAtMs: nowMs };
}

/** The calls of a turn that wait, or waited, for the caller. */
export const pendingOf = (calls: readonly ToolCall[]): PendingCall[] =>
  calls.flatMap(({ id, name, arguments: input, wants }) =>
    wants === undefined ? [] : [{ id, name, arguments: input, wants }],
  );

/** The call as a turn that is cut leaves it: no call waits for the caller. */
export const cancelledIfPending = (call: ToolCall, endedAtMs: number): ToolCall =>
  call.status === 'pending' ? { ...call, status: 'cancelled', error: 'cancelled', endedAtMs } : call;

/** The message with some of its calls changed. */
export const withCalls = (message: Message, change: (call: ToolCall) => ToolCall): WithCalls => ({
  ...message,
  toolCalls: message.toolCalls?.map(change) ?? [],
});

/**
 * An earlier message whose calls wait again, because the turn that answered them is withdrawn; `null` if the turn
 * answered none, or the message is not stored any more.
 */
export async function reopened(
  store: Store,
  workspaceId: string,
  { sessionId, answered }: Pick<Turn, 'sessionId' | 'answered'>,
): Promise<AmendedMessage | null> {
  if (answered === undefined) return null;
  const message = await messageAt(store, workspaceId, sessionId, answered.index);
  if (message?.toolCalls === undefined) return null;
  const waits = (call: ToolCall): ToolCall => (answered.ids.includes(call.id) ? asAsked(call) : call);
  return { index: answered.index, message: withCalls(message, waits) };
}

/** The call as it was before it was answered. */
function asAsked({ sent: _, didNotAct: __, ...call }: ToolCall): ToolCall {
  return { ...call, status: 'pending', error: null, output: null, endedAtMs: null };
}

/** The session's message at an index; undefined if it has none there. */
export async function messageAt(
  store: Store,
  workspaceId: string,
  sessionId: string,
  index: number,
): Promise<Message | undefined> {
  const [message] = await store.sessions.recentMessages(workspaceId, sessionId, index + 1, Number.MAX_SAFE_INTEGER, 1);
  return message;
}

/**
 * The tool calls of an earlier message that a turn's readers see before its text: those that it sends, and those that
 * were approved but may not be sent any more.
 */
const toldOf = ({ toolCalls = [] }: Pick<Message, 'toolCalls'>, isTold: (call: ToolCall) => boolean): ToolCall[] =>
  toolCalls.filter(isTold).map(({ wants: _, ...call }) => ({ ...call, position: 0 }));

const isUnsent = ({ ids }: AnsweredCalls, { id, wants, status, sent }: ToolCall): boolean =>
  ids.includes(id) && wants === 'approval' && status === 'failed' && !sent;

/** The approved calls that are not sent, for the readers of the turn that answers them. */
export const refusedCalls = (message: Message | undefined, answered: AnsweredCalls): readonly ToolCall[] =>
  toldOf(message ?? {}, (call) => isUnsent(answered, call));

/**
 * An answered message that changes no more, because none of the calls that were approved runs: who looks often keeps
 * it.
 */
export interface SettledMessage {
  message?: Message | undefined;
}

/**
 * Reads a turn and its text after a position, with all tool calls that its readers see: approved calls are in an
 * earlier message, and stand before the turn's text.
 */
export async function outputWithCalls(
  store: Store,
  place: TurnPlace,
  position: number,
  settled: SettledMessage = {},
): Promise<OutputAfter | null> {
  const output = await store.turns.outputAfter(place, position);
  const answered = output?.turn.answered;
  if (!output || answered === undefined) return output;
  // A turn without calls and text may still be withdrawn, so that its readers see nothing.
  const isCertain =
    answered.approved.length > 0 ||
    output.turn.status !== 'streaming' ||
    position > 0 ||
    output.text !== '' ||
    (output.calls?.length ?? 0) > 0;
  const message = isCertain
    ? (settled.message ?? (await messageAt(store, place.workspaceId, place.sessionId, answered.index)))
    : undefined;
  if (message?.toolCalls?.every(({ status }) => status !== 'running')) settled.message = message;
  const shown = toldOf(message ?? {}, (call) => answered.approved.includes(call.id) || isUnsent(answered, call));
  return shown.length === 0 ? output : { ...output, calls: [...shown, ...(output.calls ?? [])] };
}
