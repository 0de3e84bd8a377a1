/**
 * `parley-client/ai`: a transport for `useChat` of the AI SDK (versions 5 and 6). The session holds the conversation,
 * so only the last message is sent. `stop()` aborts the turn; a page that is closed leaves it running, and `resume:
 * true` continues it. Messages cannot be withdrawn: `regenerate()` and the editing of a message are refused, since
 * either would only send it a second time. Tool calls are parts of kind `dynamic-tool`: calls that the caller runs or
 * approves (version 6) are answered with `addToolOutput` and `addToolApprovalResponse`, then `sendMessage()`. The code
 * fits the SDK's types by structure, and imports nothing from it.
 */
import type { Parley } from './parley.ts';
import type { Turn } from './turn.ts';
import type { PendingToolCall, ToolResult, TurnEvent } from './types.ts';

/** The chunks of a reply, with the SDK's names. */
export type ReplyChunk =
  | { type: 'start'; messageId?: string }
  | { type: 'start-step' | 'finish-step' }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | {
      type: 'tool-input-available';
      toolCallId: string;
      toolName: string;
      input: unknown;
      dynamic: true;
      providerExecuted?: true;
    }
  | { type: 'tool-approval-request'; toolCallId: string; approvalId: string }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; dynamic: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string; dynamic: true }
  | { type: 'finish' }
  | { type: 'abort' }
  | { type: 'error'; errorText: string };

/** The fields of an SDK message that are read. */
export interface ChatMessage {
  readonly role: string;
  readonly parts: readonly { readonly type: string }[];
}

/**
 * The fields that are read of those that the SDK gives a transport; `messageId` names the message that the call
 * replaces.
 */
export interface SendOptions {
  readonly messages: readonly ChatMessage[];
  readonly trigger?: string | undefined;
  readonly messageId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface ParleyTransport {
  sendMessages(options: SendOptions): Promise<ReadableStream<ReplyChunk>>;
  /** Null while no reply is under way. */
  reconnectToStream(options?: object): Promise<ReadableStream<ReplyChunk> | null>;
}

export interface TransportOptions {
  sessionId: string;
}

export function parleyTransport(parley: Parley, { sessionId }: TransportOptions): ParleyTransport {
  return {
    async sendMessages({ messages, trigger, messageId, abortSignal }) {
      const message = messages.at(-1);
      const answers =
        message?.role === 'assistant' && trigger !== 'regenerate-message'
          ? await answersIn(message, parley, sessionId)
          : null;
      if (
        trigger === 'regenerate-message' ||
        message === undefined ||
        (answers === null && (messageId !== undefined || message.role !== 'user'))
      )
        throw new Error(saidOnce);
      const beginning = new AbortController();
      const stop = (): void => {
        beginning.abort(abortSignal!.reason);
        void stopActive(parley, sessionId).catch(() => {});
      };
      if (abortSignal?.aborted) throw abortSignal.reason;
      abortSignal?.addEventListener('abort', stop, { once: true });
      try {
        const turn = await parley.sessions.chat(sessionId, answers ?? textOf(message), { signal: beginning.signal });
        return chunksOf(turn, abortSignal, answers);
      } finally {
        abortSignal?.removeEventListener('abort', stop);
      }
    },
    async reconnectToStream(options = {}) {
      const { active_turn_id: turnId } = await parley.sessions.get(sessionId);
      if (turnId === null) return null;
      return chunksOf(parley.turns.resume(sessionId, turnId), (options as { abortSignal?: AbortSignal }).abortSignal);
    },
  };
}

const saidOnce = 'A session keeps what was said: nothing is regenerated, edited or sent again. Send a new message.';

const textOf = ({ parts }: ChatMessage): string =>
  parts.map((part) => (part.type === 'text' ? ((part as { text?: string }).text ?? '') : '')).join('');

/** The fields that are read of a part that is a call. */
interface ToolPart {
  readonly toolCallId?: string;
  readonly state?: string;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly approved?: boolean };
}

/** The answers that a message has to the calls that wait; null where none waits, or one has no answer yet. */
async function answersIn({ parts }: ChatMessage, parley: Parley, sessionId: string): Promise<ToolResult[] | null> {
  const { pending_tool_calls: pending } = await parley.sessions.get(sessionId);
  const answers = pending.flatMap(({ call_id, wants }): ToolResult[] => {
    const { state, output, errorText, approval } =
      (parts as readonly ToolPart[]).find(({ toolCallId }) => toolCallId === call_id) ?? {};
    if (wants === 'approval') return approval?.approved === undefined ? [] : [{ call_id, approved: approval.approved }];
    if (state === 'output-error') return [{ call_id, output: errorText ?? '' }];
    return state === 'output-available'
      ? [{ call_id, output: typeof output === 'string' ? output : JSON.stringify(output ?? null) }]
      : [];
  });
  return answers.length > 0 && answers.length === pending.length ? answers : null;
}

/** Stops the active turn: until its first output only the session has its id. */
async function stopActive(parley: Parley, sessionId: string): Promise<void> {
  const { active_turn_id: turnId } = await parley.sessions.get(sessionId);
  if (turnId !== null) await parley.turns.resume(sessionId, turnId).abort();
}

/**
 * The turn's events as chunks. A reader that cancels leaves the turn running; the signal, which `stop()` aborts, stops
 * it.
 */
function chunksOf(
  turn: Turn,
  signal: AbortSignal | undefined,
  answers: readonly ToolResult[] | null = null,
): ReadableStream<ReplyChunk> {
  const chunks = reply(turn, answers);
  const stop = (): void => void turn.abort().catch(() => {});
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (!done) return controller.enqueue(value);
      signal?.removeEventListener('abort', stop);
      controller.close();
    },
    async cancel() {
      await chunks.return();
    },
  });
}

/** Streams a reply. A turn that answers tool calls continues in the message that has them. */
async function* reply(turn: Turn, answers: readonly ToolResult[] | null): AsyncGenerator<ReplyChunk, void, undefined> {
  const calls = new Set(answers?.map(({ call_id }) => call_id));
  let texts = 0;
  let id: string | null = null;
  try {
    for await (const event of turn) {
      if (event.type === 'message.delta') {
        if (id === null) {
          id = texts++ === 0 ? turn.id : `${turn.id}-${texts}`;
          yield { type: 'text-start', id };
        }
        yield { type: 'text-delta', id, delta: event.text };
        continue;
      }
      if (id !== null) yield { type: 'text-end', id };
      id = null;
      yield* chunksAt(event, calls, answers !== null);
    }
  } catch (error) {
    if (id !== null) yield { type: 'text-end', id };
    yield { type: 'error', errorText: (error as Error).message };
  }
}

/**
 * The chunks of an event other than text. `calls` are those that the message has already: the SDK would show one that
 * began again twice.
 */
function chunksAt(
  event: Exclude<TurnEvent, { type: 'message.delta' }>,
  calls: Set<string>,
  goesOn: boolean,
): ReplyChunk[] {
  switch (event.type) {
    case 'turn.started':
      return [goesOn ? { type: 'start' } : { type: 'start', messageId: event.message_id }, { type: 'start-step' }];
    case 'tool.started':
      return begun(event, calls);
    case 'tool.ended': {
      const { call_id: toolCallId, status, error, output } = event;
      const ended: ReplyChunk =
        status === 'completed'
          ? { type: 'tool-output-available', toolCallId, output: output ?? null, dynamic: true }
          : { type: 'tool-output-error', toolCallId, errorText: error ?? status, dynamic: true };
      return [...begun(event, calls), ended];
    }
    case 'turn.completed':
      return [...(event.tool_calls ?? []).flatMap(asked), { type: 'finish-step' }, { type: 'finish' }];
    case 'turn.aborted':
      return [{ type: 'abort' }];
    // A person answers later, in the session's own stream.
    case 'message.accepted':
      return [{ type: 'start' }, { type: 'finish' }];
  }
}

/** A call that the server runs; one that was not sent begins with its end. */
function begun(
  { call_id, name, arguments: given }: { call_id: string; name: string; arguments?: unknown },
  calls: Set<string>,
): ReplyChunk[] {
  if (calls.has(call_id)) return [];
  calls.add(call_id);
  return [
    {
      type: 'tool-input-available',
      toolCallId: call_id,
      toolName: name,
      input: given ?? {},
      dynamic: true,
      providerExecuted: true,
    },
  ];
}

/** A call that the caller runs or approves. */
function asked({ call_id, name, arguments: given, wants }: PendingToolCall): ReplyChunk[] {
  const call: ReplyChunk = {
    type: 'tool-input-available',
    toolCallId: call_id,
    toolName: name,
    input: given ?? {},
    dynamic: true,
  };
  return wants === 'approval'
    ? [call, { type: 'tool-approval-request', toolCallId: call_id, approvalId: call_id }]
    : [call];
}
