/**
 * `parley-client/conversation`: a session as a store for a page or a React hook. It loads the transcript, continues a
 * reply that is under way, and survives lost connections; `getSnapshot` returns the same object until something
 * changes.
 */
import type { ParleyError } from './failure.ts';
import type { Parley } from './parley.ts';
import type { Turn } from './turn.ts';
import type { OnceOptions } from './requester.ts';
import type { Feedback, Message, PendingToolCall, StopReason, ToolResult } from './types.ts';

/** A message as it is shown: of the transcript, or on its way there. */
export interface ConversationMessage {
  /** The message's own id, or a local one while it has none. */
  readonly id: string;
  readonly role: Message['role'];
  readonly content: string;
  readonly status: Message['status'] | 'sending' | 'failed';
  /** The reason why a reply ended; null while it runs, and for the visitor's own messages. */
  readonly stopReason: StopReason | null;
  /** Unix seconds; null for a message that was sent or begun here. */
  readonly createdAt: number | null;
  /** The turn of a reply; absent for other messages. */
  readonly turnId?: string;
  /** The rating of a reply when it was read; absent without one. */
  readonly rating?: Feedback['rating'];
}

/**
 * `loading` before the transcript is there; `sending` until the assistant begins; `replying` while it speaks; `over`
 * once the session is.
 */
export type ConversationStatus = 'loading' | 'idle' | 'sending' | 'replying' | 'over';

export interface ConversationSnapshot {
  readonly status: ConversationStatus;
  readonly messages: readonly ConversationMessage[];
  /** The calls of tools that wait for `answer`; the next message declines them. */
  readonly pending: readonly PendingToolCall[];
  /** The failure of the last step; null if it succeeded. */
  readonly error: Error | null;
}

export interface Conversation {
  /** Calls `listener` after each change, and loads the conversation at the first one. The function returned ends it. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): ConversationSnapshot;
  /**
   * Sends a message and follows the reply to its end. Never rejects: a failure is in the snapshot. Ignored unless the
   * status is `idle`.
   */
  send(message: string, options?: Pick<OnceOptions, 'idempotencyKey'>): Promise<void>;
  /** Answers every call that waits, and follows the reply as `send` does. */
  answer(results: readonly ToolResult[], options?: Pick<OnceOptions, 'idempotencyKey'>): Promise<void>;
  /** Stops the reply, also one that has not begun. */
  abort(): Promise<void>;
  /**
   * Reads the session again and continues a reply that is under way: after a failed connection, or if somebody else may
   * have sent a message. Failed messages are then no longer shown. Ignored while a step runs.
   */
  refresh(): Promise<void>;
  /** Ends the session. */
  end(): Promise<void>;
  /** Leaves the conversation: the turn runs on, and the snapshot does not change any more. */
  leave(): void;
}

/**
 * The store of one session. A session that was created here has known messages (none at first), so nothing is loaded.
 */
export const conversation = (
  parley: Parley,
  sessionId: string,
  known: readonly ConversationMessage[] | null = null,
): Conversation => new Talk(parley, sessionId, known);

const overCodes = new Set<unknown>(['session_ended', 'session_expired', 'session_not_found']);

class Talk implements Conversation {
  readonly #parley: Parley;
  readonly #sessionId: string;
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<() => void>();
  #snapshot: ConversationSnapshot = { status: 'loading', messages: [], pending: [], error: null };
  #loaded: Promise<void> | null = null;
  #turn: Turn | null = null;
  /** Whether the reply is to be stopped as soon as it begins. */
  #unwanted = false;
  #sent = 0;

  constructor(parley: Parley, sessionId: string, known: readonly ConversationMessage[] | null) {
    this.#parley = parley;
    this.#sessionId = sessionId;
    if (known === null) return;
    this.#snapshot = { status: 'idle', messages: known, pending: [], error: null };
    this.#loaded = Promise.resolve();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    void this.#load();
    return () => void this.#listeners.delete(listener);
  };

  readonly getSnapshot = (): ConversationSnapshot => this.#snapshot;

  readonly send = (message: string, options: Pick<OnceOptions, 'idempotencyKey'> = {}): Promise<void> =>
    this.#say(
      message,
      [
        {
          id: `sent-${++this.#sent}`,
          role: 'user',
          content: message,
          status: 'sending',
          stopReason: null,
          createdAt: null,
        },
      ],
      options,
    );

  readonly answer = (
    results: readonly ToolResult[],
    options: Pick<OnceOptions, 'idempotencyKey'> = {},
  ): Promise<void> => this.#say(results, [], options);

  readonly abort = async (): Promise<void> => {
    const { status } = this.#snapshot;
    if (this.#turn === null && status !== 'sending') return;
    this.#unwanted = true;
    const options = { signal: this.#signal };
    try {
      // The turn has an id before the assistant begins, but only the session has it.
      const id = this.#turn?.id ?? (await this.#parley.sessions.get(this.#sessionId, options)).active_turn_id;
      if (id !== null) await this.#parley.turns.resume(this.#sessionId, id).abort(options);
    } catch (error) {
      this.#change({ error: error as Error });
    }
  };

  readonly refresh = async (): Promise<void> => {
    if (this.#snapshot.status === 'idle') this.#loaded = null;
    await this.#load();
  };

  readonly end = async (): Promise<void> => {
    await this.#load();
    try {
      await this.#parley.sessions.end(this.#sessionId, { signal: this.#signal });
      this.#change({ status: 'over', error: null });
    } catch (error) {
      this.#change({ error: error as Error });
    }
  };

  readonly leave = (): void => this.#leaving.abort();

  get #signal(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Sends a message, shown as `own`, or the answers to calls. */
  async #say(
    said: string | readonly ToolResult[],
    own: readonly ConversationMessage[],
    options: Pick<OnceOptions, 'idempotencyKey'>,
  ): Promise<void> {
    await this.#load();
    if (this.#snapshot.status !== 'idle') return;
    this.#unwanted = false;
    const { messages } = this.#snapshot;
    const withOwn = (status: ConversationMessage['status']) => [...messages, ...own.map((one) => ({ ...one, status }))];
    this.#change({ status: 'sending', messages: withOwn('sending'), error: null });
    await this.#step(async () => {
      try {
        this.#turn = await this.#parley.sessions.chat(this.#sessionId, said, { ...options, signal: this.#signal });
      } catch (error) {
        this.#change({ messages: withOwn('failed') });
        throw error;
      }
      if (this.#unwanted) void this.abort();
      await this.#follow(this.#turn, withOwn('completed'), '');
    });
  }

  /** Loads once; after a failure, again at the next call that needs it. */
  #load(): Promise<void> {
    return (this.#loaded ??= this.#read().catch((error: Error) => {
      this.#loaded = null;
      this.#change({ error });
    }));
  }

  async #read(): Promise<void> {
    const options = { signal: this.#signal };
    const session = await this.#parley.sessions.get(this.#sessionId, options);
    const transcript = await this.#parley.sessions.transcript(this.#sessionId).all(options);
    const messages = transcript.map(shown);
    // The turn may have ended between the two answers.
    const active = transcript.findLast(
      ({ turn_id, role }) => turn_id === session.active_turn_id && role === 'assistant',
    );
    const turnId = active === undefined || active.status === 'streaming' ? session.active_turn_id : null;
    this.#change({
      status: session.status !== 'open' ? 'over' : turnId === null ? 'idle' : 'replying',
      messages,
      pending: session.pending_tool_calls,
      error: null,
    });
    if (turnId !== null) void this.#step(() => this.#resume(turnId, messages));
  }

  /** Continues a reply that was under way before, after its text in the transcript. */
  async #resume(turnId: string, messages: readonly ConversationMessage[]): Promise<void> {
    const last = messages.at(-1);
    const partial = last?.status === 'streaming' ? last.content : '';
    const before = last?.status === 'streaming' ? messages.slice(0, -1) : messages;
    const after = partial === '' ? null : [...partial].length;
    this.#turn = this.#parley.turns.resume(this.#sessionId, turnId, { signal: this.#signal, after });
    await this.#follow(this.#turn, before, partial);
  }

  /** Shows the reply as it comes, behind the messages that are there. */
  async #follow(turn: Turn, before: readonly ConversationMessage[], partial: string): Promise<void> {
    let reply: ConversationMessage = {
      id: turn.id,
      turnId: turn.id,
      role: 'assistant',
      content: partial,
      status: 'streaming',
      stopReason: null,
      createdAt: null,
    };
    const show = (more: Partial<ConversationMessage>): void => {
      reply = { ...reply, ...more };
      this.#change({ status: 'replying', messages: [...before, reply] });
    };
    this.#change({ pending: [] });
    show({});
    try {
      for await (const event of turn) {
        if (event.type === 'message.delta') show({ content: reply.content + event.text });
        else if (event.type === 'turn.completed') {
          this.#change({ pending: event.tool_calls ?? [] });
          show({ id: event.message_id, status: 'completed', stopReason: event.stop_reason });
        } else if ('message_id' in event)
          show({
            id: event.message_id,
            ...(event.type === 'turn.aborted' && { status: 'partial', stopReason: 'aborted' }),
          });
      }
    } catch (error) {
      // After a lost connection the turn may still be running on the server.
      const { code } = error as Partial<ParleyError>;
      show({ status: 'partial', stopReason: code == null ? null : code === 'session_expired' ? 'expired' : 'error' });
      throw error;
    }
  }

  /** Runs one step at a time. */
  async #step(run: () => Promise<void>): Promise<void> {
    let error: Error | null = null;
    try {
      await run();
    } catch (thrown) {
      error = thrown as Error;
    }
    this.#turn = null;
    const over = overCodes.has((error as Partial<ParleyError> | null)?.code) || this.#snapshot.status === 'over';
    this.#change({ status: over ? 'over' : 'idle', error });
  }

  #change(more: Partial<ConversationSnapshot>): void {
    if (this.#signal.aborted) return;
    // An ended session stays ended, also if its last turn still sends events.
    const status = this.#snapshot.status === 'over' ? 'over' : (more.status ?? this.#snapshot.status);
    this.#snapshot = { ...this.#snapshot, ...more, status };
    for (const listener of this.#listeners) listener();
  }
}

const shown = ({
  id,
  role,
  content,
  status,
  stop_reason,
  created_at,
  turn_id,
  feedback,
}: Message): ConversationMessage => ({
  id,
  role,
  content,
  status,
  stopReason: stop_reason,
  createdAt: created_at,
  ...(role === 'assistant' && turn_id !== null && { turnId: turn_id }),
  ...(feedback && { rating: feedback.rating }),
});
