/**
 * `parley-client/ai`: a transport for `useChat` of the AI SDK (versions 5 and 6). The session holds the conversation, so only
 * the last message is sent. `stop()` aborts the turn; a page that is closed leaves it running, and `resume: true` goes on
 * with it. The SDK's types are met by their structure, so nothing of it is imported.
 */
import type { Parley } from './parley.ts';
import type { Turn } from './turn.ts';

/** The chunks of a reply, with the SDK's names. */
export type ReplyChunk =
  | { type: 'start'; messageId?: string }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'finish' }
  | { type: 'abort' }
  | { type: 'error'; errorText: string };

/** The fields of an SDK message that are read. */
export interface ChatMessage {
  readonly role: string;
  readonly parts: readonly { readonly type: string }[];
}

export interface ParleyTransport {
  sendMessages(options: { messages: readonly ChatMessage[]; abortSignal?: AbortSignal | undefined }): Promise<ReadableStream<ReplyChunk>>;
  /** Null while no reply is under way. */
  reconnectToStream(options?: object): Promise<ReadableStream<ReplyChunk> | null>;
}

export interface TransportOptions {
  sessionId: string;
}

export function parleyTransport(parley: Parley, { sessionId }: TransportOptions): ParleyTransport {
  return {
    async sendMessages({ messages, abortSignal }) {
      const beginning = new AbortController();
      const stop = (): void => {
        beginning.abort(abortSignal!.reason);
        void stopActive(parley, sessionId).catch(() => {});
      };
      if (abortSignal?.aborted) throw abortSignal.reason;
      abortSignal?.addEventListener('abort', stop, { once: true });
      try {
        const turn = await parley.sessions.chat(sessionId, textOf(messages.at(-1)), { signal: beginning.signal });
        return chunksOf(turn, abortSignal);
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

const textOf = (message: ChatMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? (part as { text?: string }).text ?? '' : '')).join('');

/** Until its first output only the session has the turn's id. */
async function stopActive(parley: Parley, sessionId: string): Promise<void> {
  const { active_turn_id: turnId } = await parley.sessions.get(sessionId);
  if (turnId !== null) await parley.turns.resume(sessionId, turnId).abort();
}

/** The turn's events as chunks. A reader that cancels leaves the turn running; the signal, which `stop()` aborts, stops it. */
function chunksOf(turn: Turn, signal: AbortSignal | undefined): ReadableStream<ReplyChunk> {
  const chunks = reply(turn);
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

async function* reply(turn: Turn): AsyncGenerator<ReplyChunk, void, undefined> {
  const id = turn.id;
  let speaking = false;
  try {
    for await (const event of turn) {
      if (event.type === 'turn.started') yield { type: 'start', messageId: event.message_id };
      if (event.type === 'message.delta') {
        if (!speaking) yield { type: 'text-start', id };
        speaking = true;
        yield { type: 'text-delta', id, delta: event.text };
      }
      if (event.type !== 'turn.completed' && event.type !== 'turn.aborted') continue;
      if (speaking) yield { type: 'text-end', id };
      yield { type: event.type === 'turn.completed' ? 'finish' : 'abort' };
    }
  } catch (error) {
    if (speaking) yield { type: 'text-end', id };
    yield { type: 'error', errorText: (error as Error).message };
  }
}
