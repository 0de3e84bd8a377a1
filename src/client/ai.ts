/**
 * `parley-client/ai`: a transport for `useChat` of the AI SDK (versions 5 and 6). The session holds the conversation, so only
 * the last message is sent. `stop()` aborts the turn; a page that is closed leaves it running, and `resume: true` goes on
 * with it. Messages cannot be taken back: `regenerate()` and the editing of a message are refused, since either would only say it a second
 * time. The SDK's types are met by their structure, so nothing of it is imported.
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

/** The fields that are read of those that the SDK gives a transport; `messageId` names the message that the call replaces. */
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
      if (trigger === 'regenerate-message' || messageId !== undefined || message?.role !== 'user') throw new Error(saidOnce);
      const beginning = new AbortController();
      const stop = (): void => {
        beginning.abort(abortSignal!.reason);
        void stopActive(parley, sessionId).catch(() => {});
      };
      if (abortSignal?.aborted) throw abortSignal.reason;
      abortSignal?.addEventListener('abort', stop, { once: true });
      try {
        const turn = await parley.sessions.chat(sessionId, textOf(message), { signal: beginning.signal });
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

const saidOnce = 'A session keeps what was said: nothing is regenerated, edited or sent again. Send a new message.';

const textOf = ({ parts }: ChatMessage): string =>
  parts.map((part) => (part.type === 'text' ? (part as { text?: string }).text ?? '' : '')).join('');

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
