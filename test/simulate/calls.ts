/**
 * Checks of tool calls: their sender and time, their outcome, and the reports of it to clients and models (contract 13;
 * T1, T2, T3).
 */
import { isDeepStrictEqual } from 'node:util';
import { resultText } from '../../src/providers/model/history.ts';
import type { ModelMessage } from '../../src/providers/model.ts';
import type { Message, PendingCall, Store, ToolCall } from '../../src/store/store.ts';
import { promptOf, type Asked, type History, type Reached, type StepEntry } from './history.ts';
import type { Oracle } from './oracle.ts';
import { reachesMax } from './tool.ts';
import { grouped } from './world.ts';

/**
 * Returns the violations. What a failover forgets, clients, tools and models may have seen: there only what holds of
 * any one of them is checked.
 */
export async function checkCalls(
  oracle: Oracle,
  history: History,
  store: Store,
  workspaceId: string,
): Promise<string[]> {
  const forgets = oracle.forgotten.length > 0;
  const rest = forgets
    ? []
    : [
        ...checkAnswers(oracle, history),
        ...checkTold(oracle, history),
        ...checkShown(oracle, history),
        ...checkWaiting(history),
      ];
  return [
    ...checkReached(oracle, history, forgets),
    ...(await checkStored(oracle, store, workspaceId)),
    ...checkProtocol(history),
    ...checkSigned(oracle, history),
    ...rest,
  ];
}

/**
 * Each call reached its tool as often as it may, from the process that had stored it before, after it was approved, and
 * stands in the transcript.
 */
function checkReached({ calls, state }: Oracle, { reached, asked }: History, forgets: boolean): string[] {
  const wrong: string[] = [];
  const answers = answersOf(asked);
  for (const [callId, sent] of grouped(reached, (one) => one.callId)) {
    const { turnId, name } = sent[0]!;
    const fault = (what: string): unknown => wrong.push(`calls: ${callId} (${name}) of ${turnId} ${what}`);
    // A failover may forget an approval: the call waits again, and another turn sends it once it is approved once more.
    const most = Math.max(
      ...Array.from(forgets ? grouped(sent, (one) => one.turnId).values() : [sent], (times) => times.length),
    );
    if (most > reachesMax(name)) fault(`reached the tool ${most} times`);
    for (const { host, after } of sent)
      if (!calls.sending.get(callId)?.some((one) => one.host === host && one.at < after))
        fault(`was sent by ${host}, which had not stored it`);
    const approvals = (answers.get(callId) ?? []).filter(({ answer }) => answer.approved === true);
    if (name === 'wait' && !approvals.some(({ chat }) => chat.sentMs <= sent[0]!.atMs))
      fault('was sent, and nobody had approved it');
    if (isLate(calls.sealed, sent)) fault('was sent again when its turn was sealed');
    if (forgets) continue;
    const status = state.calls.get(callId)?.call.status;
    if (status === undefined || status === 'running' || status === 'pending' || status === 'declined')
      fault(`reached the tool, and is ${status ?? 'not'} in the transcript`);
  }
  return wrong;
}

/** Whether a call that had been sent already was sent once more after its turn was sealed. */
const isLate = (sealed: ReadonlyMap<string, number>, [, ...again]: readonly Reached[]): boolean =>
  again.some(({ turnId, after }) => (sealed.get(turnId) ?? Infinity) < after);

interface Answer {
  readonly call_id: string;
  readonly output?: string;
  readonly approved?: boolean;
}

/** All answers that clients have sent, by call. */
const answersOf = (asked: readonly Asked[]): Map<string, { answer: Answer; chat: Asked }[]> =>
  grouped(
    asked.flatMap((chat) => ((chat.body?.tool_results ?? []) as Answer[]).map((answer) => ({ answer, chat }))),
    ({ answer }) => answer.call_id,
  );

/**
 * Sessions and messages agree on what waits, nothing runs any more, and each call is stored as the last step left it.
 */
async function checkStored({ state }: Oracle, store: Store, workspaceId: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const [id, { turnIds, session }] of state.sessions) {
    const found = (await store.sessions.read(workspaceId, id))?.record;
    if (!isDeepStrictEqual(found?.pending, session.pending))
      wrong.push(
        `waits: ${id} is stored with ${JSON.stringify(found?.pending)} waiting, not ${JSON.stringify(session.pending)}`,
      );
    const messages: Message[] = await store.sessions.recentMessages(
      workspaceId,
      id,
      found?.messageCount ?? 0,
      Number.MAX_SAFE_INTEGER,
      10_000,
    );
    for (const { turnId, toolCalls = [] } of messages.filter(({ role }) => role === 'assistant')) {
      const waiting = toolCalls.filter(({ status }) => status === 'pending').map(({ id: callId }) => callId);
      const due = turnId === turnIds.at(-1) ? (session.pending?.calls ?? []).map((call) => call.id) : [];
      if (waiting.join() !== due.join())
        wrong.push(`waits: ${waiting.join()} wait in ${turnId}, and ${due.join()} in ${id}`);
      for (const call of toolCalls) {
        if (call.status === 'running') wrong.push(`calls: ${call.id} of ${turnId} runs when all is over`);
        if (!isDeepStrictEqual(call, state.calls.get(call.id)?.call))
          wrong.push(
            `calls: ${call.id} of ${turnId} is stored as ${JSON.stringify(call)}, not ${JSON.stringify(state.calls.get(call.id)?.call)}`,
          );
      }
    }
  }
  return wrong;
}

/** A call is answered by one turn that stands, with what one client has sent. */
function checkAnswers({ state, calls }: Oracle, { asked }: History): string[] {
  const wrong: string[] = [];
  const chats = grouped(
    asked.filter(({ body }) => body?.tool_results !== undefined),
    ({ body }) => promptOf(body),
  );
  for (const [callId, turnIds] of calls.answering) {
    const standing = turnIds.filter((id) => state.turns.has(id));
    if (standing.length > 1) wrong.push(`waits: ${callId} was answered by ${standing.join(' and ')}`);
  }
  for (const { turn, prompt } of state.turns.values()) {
    if (turn.answered === undefined) continue;
    const { ids, approved } = turn.answered;
    const stored = ids.map((id) => state.calls.get(id)!.call);
    const took = ({ body }: Asked): boolean =>
      stored.every((call) =>
        isTaken(
          call,
          (body.tool_results as Answer[]).find(({ call_id }) => call_id === call.id),
          approved,
        ),
      );
    const declined = stored.every(({ status }) => status === 'declined');
    if (turn.unasked ? !chats.get(prompt)?.some(took) : !declined)
      wrong.push(`waits: ${turn.id} left ${JSON.stringify(stored)}, which no client has said`);
  }
  return wrong;
}

function isTaken(
  { id, status, output, wants }: ToolCall,
  answer: Answer | undefined,
  approved: readonly string[],
): boolean {
  if (wants === 'result') return status === 'completed' && answer?.output === output;
  return answer?.approved === true
    ? status !== 'declined' && (approved.includes(id) || status === 'failed')
    : answer?.approved === false && status === 'declined';
}

/** A provider refuses a history in which a call has no result, two, or one of another call. */
function checkProtocol({ said }: History): string[] {
  const wrong: string[] = [];
  for (const { messages } of said) {
    const due: string[] = [];
    let last = '';
    for (const message of messages) {
      if (message.role === 'user' && last === 'tool')
        wrong.push(`provider: the user speaks behind a result: ${message.content}`);
      last = message.role;
      if (message.role === 'tool') {
        if (due.shift() !== message.callId) wrong.push(`provider: ${message.callId} has a result out of its place`);
        continue;
      }
      if (due.length > 0) wrong.push(`provider: ${due.splice(0).join()} have no result`);
      due.push(...(message.calls ?? []).map(({ id }) => id));
    }
    if (due.length > 0) wrong.push(`provider: ${due.join()} have no result at the end`);
    const ids = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
    if (new Set(ids).size < ids.length) wrong.push(`provider: a call is in a history twice: ${ids.join()}`);
  }
  return wrong;
}

/** A provider refuses a call without the fields that it put on it, in this turn and in each later one (R4). */
function checkSigned({ state }: Oracle, { said }: History): string[] {
  const wrong: string[] = [];
  const callOf = new Map<string, string>();
  for (const { id, opaque } of said.flatMap(({ messages }) =>
    messages.flatMap((message) => (message.role === 'tool' ? [] : (message.calls ?? []))),
  )) {
    const signature = opaque?.call?.['signature'] as string | undefined;
    const known = callOf.get(signature ?? '') ?? id;
    if (signature === undefined) wrong.push(`provider: ${id} has lost its signature`);
    else if (known !== id) wrong.push(`provider: ${id} has the signature of ${known}`);
    else callOf.set(signature, id);
    const stored = state.calls.get(id);
    if (stored !== undefined && !isDeepStrictEqual(stored.call.opaque, opaque))
      wrong.push(
        `provider: ${id} is stored with ${JSON.stringify(stored.call.opaque)}, and was told with ${JSON.stringify(opaque)}`,
      );
  }
  return wrong;
}

/** Models get of each tool call the stored result; a turn that was withdrawn may have given another. */
function checkTold({ state, calls }: Oracle, { said }: History): string[] {
  const wrong = new Set<string>();
  const results = said.flatMap(({ messages }) =>
    messages.filter((message): message is Extract<ModelMessage, { role: 'tool' }> => message.role === 'tool'),
  );
  for (const { callId, content } of results) {
    const known = state.calls.get(callId)?.call;
    const isOpen = calls.answering.get(callId)?.some((id) => !state.turns.has(id)) ?? false;
    if (!isOpen && (known === undefined || resultText(known) !== content))
      wrong.add(
        `provider: a model was told ${JSON.stringify(content)} of ${callId}, which is ${JSON.stringify(known)}`,
      );
  }
  return [...wrong];
}

const shownOf = ({
  id,
  name,
  arguments: given,
  wants,
}: Pick<ToolCall, 'id' | 'name' | 'arguments'> & { wants?: string }) => ({
  call_id: id,
  name,
  arguments: given,
  wants,
});

/** Every reader of a turn gets the tool calls of its message, each once, and the same pending ones. */
function checkShown({ state, calls }: Oracle, { asked }: History): string[] {
  const wrong: string[] = [];
  for (const { client, sentMs, stream } of asked) {
    if (stream === null) continue;
    const fault = (what: string): unknown =>
      wrong.push(`shown: ${client} at ${sentMs} ms was told by ${stream.turnId} ${what}`);
    const open = new Set<string>();
    for (const { event, data } of stream.events) {
      if (event === 'tool.started') {
        if (open.has(data.call_id)) fault(`twice that ${data.call_id} starts`);
        open.add(data.call_id);
        if (!calls.sending.has(data.call_id)) fault(`that ${data.call_id} starts, which was not stored`);
      } else if (event === 'tool.ended') {
        const { status, error } = state.calls.get(data.call_id)?.call ?? {};
        if (status !== data.status || error !== data.error)
          fault(`${JSON.stringify(data)}, and the call is ${status} ${error}`);
      } else if (event === 'turn.completed' && state.turns.get(stream.turnId)?.finished) {
        const due = [...state.calls.values()]
          .filter(({ turnId, call }) => turnId === stream.turnId && call.wants !== undefined)
          .map(({ call }) => shownOf(call));
        if (!isDeepStrictEqual(data.tool_calls ?? [], due))
          fault(`${JSON.stringify(data.tool_calls)} waits, not ${JSON.stringify(due)}`);
      }
    }
  }
  return wrong;
}

/** The calls that waited in a session from a time on. */
interface Waited {
  readonly version: number;
  readonly fromMs: number;
  readonly told: unknown;
}

/** The session's view has a tool call that was pending at some time during the request. */
function checkWaiting({ entries, asked }: History): string[] {
  const wrong: string[] = [];
  const waited = new Map<string, Waited[]>();
  for (const entry of entries) {
    if (entry.type !== 'step') continue;
    const moved = movedBy(entry);
    // A step that is sent again is answered as before.
    if (moved === null || moved.version <= (waited.get(moved.session.id)?.at(-1)?.version ?? 0)) continue;
    const { session, version } = moved;
    const { state, context } = session.machine as { state: string; context: { activeTurnId: string | null } };
    const isOver = state === 'ended' || state === 'expired' || context.activeTurnId !== null;
    const told = isOver ? [] : ((session.pending?.calls ?? []) as PendingCall[]).map(shownOf);
    waited.set(session.id, [...(waited.get(session.id) ?? []), { version, fromMs: entry.nowMs, told }]);
  }
  for (const { client, host, method, path, status, json, sentMs, answeredMs } of asked) {
    if (method !== 'GET' || status !== 200 || json?.object !== 'session') continue;
    const known = waited.get(json.id) ?? [];
    // A change in the millisecond in which it was asked for may have come after that.
    const first = Math.max(
      0,
      known.findLastIndex(({ fromMs }) => fromMs < sentMs),
    );
    const possible = known.slice(first).filter(({ fromMs }, index) => index === 0 || fromMs <= answeredMs!);
    // A clock that is ahead may show a live session as expired.
    if (json.status === 'expired' && json.pending_tool_calls.length === 0) continue;
    if (!possible.some(({ told }) => isDeepStrictEqual(told, json.pending_tool_calls))) {
      wrong.push(
        `waits: ${client} at ${sentMs} ms was told by ${host} at ${path} that ${JSON.stringify(json.pending_tool_calls)} wait, not ${JSON.stringify(possible.map(({ told }) => told))}`,
      );
    }
  }
  return wrong;
}

const moves: ReadonlySet<string> = new Set([
  'createSession',
  'beginTurn',
  'saveSession',
  'finishTurn',
  'withdrawTurn',
  'attendSession',
]);

/** The session as the step has left it, and its version; null if it left none. */
function movedBy({ verb, args, answer }: StepEntry): { session: any; version: number } | null {
  const version = typeof answer === 'number' ? answer : answer?.version;
  return moves.has(verb) && version !== undefined
    ? { session: verb === 'saveSession' ? args[0] : args[0].session, version }
    : null;
}
