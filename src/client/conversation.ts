/**
 * `parley-client/conversation`: a session as a store for a page or a React hook. It loads the transcript, continues a
 * reply that is under way, follows a person of the desk who answers, and survives lost connections; `getSnapshot`
 * returns the same object until something changes.
 */
import type { ParleyError } from './failure.ts';
import type { Parley } from './parley.ts';
import type { Turn } from './turn.ts';
import type { OnceOptions } from './requester.ts';
import type { Attendance, Feedback, Message, PendingToolCall, SessionEvent, StopReason, ToolResult } from './types.ts';

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
  /** Name of the person of the desk who wrote it; absent for other messages. */
  readonly by?: string;
  /** The rating of a reply when it was read; absent without one. */
  readonly rating?: Feedback['rating'];
}

/**
 * `loading` before the transcript is there; `sending` until the assistant begins; `replying` while it speaks; `over`
 * once the session has ended.
 */
export type ConversationStatus = 'loading' | 'idle' | 'sending' | 'replying' | 'over';

export interface ConversationSnapshot {
  readonly status: ConversationStatus;
  readonly messages: readonly ConversationMessage[];
  /** The calls of tools that wait for `answer`; the next message declines them. */
  readonly pending: readonly PendingToolCall[];
  /** The party that answers; null before the session was read. */
  readonly attendance: Attendance | null;
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
  /**
   * Follows the session's events, so that messages come without being asked for. It begins by itself once a person was
   * asked for or answers. Resolves at the end of the session; rejects where the events cannot be had, and may be called
   * again.
   */
  watch(): Promise<void>;
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
  #snapshot: ConversationSnapshot = { status: 'loading', messages: [], pending: [], attendance: null, error: null };
  #loaded: Promise<void> | null = null;
  #watched: Promise<void> | null = null;
  #turn: Turn | null = null;
  /** Whether the reply is to be stopped as soon as it begins. */
  #unwanted = false;
  #sent = 0;

  constructor(parley: Parley, sessionId: string, known: readonly ConversationMessage[] | null) {
    this.#parley = parley;
    this.#sessionId = sessionId;
    if (known === null) return;
    this.#snapshot = { ...this.#snapshot, status: 'idle', messages: known };
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

  readonly watch = (): Promise<void> =>
    (this.#watched ??= this.#watch().catch((error: unknown) => {
      this.#watched = null;
      throw error;
    }));

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
    this.#change({ status: 'sending', messages: [...this.#snapshot.messages, ...own], error: null });
    const mark = (more: Partial<ConversationMessage>): void => {
      for (const { id } of own) this.#replace(id, more);
    };
    await this.#step(async () => {
      try {
        this.#turn = await this.#parley.sessions.chat(this.#sessionId, said, { ...options, signal: this.#signal });
      } catch (error) {
        mark({ status: 'failed' });
        throw error;
      }
      mark({ status: 'completed' });
      if (this.#turn.id === '') {
        // A person answers.
        for await (const event of this.#turn) if (event.type === 'message.accepted') mark({ id: event.message_id });
        return this.#beginWatch();
      }
      if (this.#unwanted) void this.abort();
      await this.#follow(this.#turn, '');
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
      attendance: session.attendance,
      error: null,
    });
    if (session.attendance.state !== 'assistant') this.#beginWatch();
    if (turnId !== null) void this.#step(() => this.#resume(turnId, messages));
  }

  /** Continues a reply that was under way before, after its text in the transcript. */
  async #resume(turnId: string, messages: readonly ConversationMessage[]): Promise<void> {
    const last = messages.at(-1);
    const partial = last?.status === 'streaming' ? last.content : '';
    if (last?.status === 'streaming') this.#change({ messages: messages.slice(0, -1) });
    const after = partial === '' ? null : [...partial].length;
    this.#turn = this.#parley.turns.resume(this.#sessionId, turnId, { signal: this.#signal, after });
    await this.#follow(this.#turn, partial);
  }

  /** Shows the reply as it comes, behind the messages that are there. */
  async #follow(turn: Turn, partial: string): Promise<void> {
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
      const { id } = reply;
      reply = { ...reply, ...more };
      this.#replace(id, reply);
    };
    this.#change({ status: 'replying', pending: [], messages: [...this.#snapshot.messages, reply] });
    try {
      for await (const event of turn) {
        if (event.type === 'message.delta') show({ content: reply.content + event.text });
        else if (event.type === 'turn.completed') {
          this.#change({ pending: event.tool_calls ?? [] });
          show({ id: event.message_id, status: 'completed', stopReason: event.stop_reason });
        } else if ('message_id' in event)
          show({
            id: event.message_id,
            ...(event.type === 'turn.aborted' && { status: 'partial', stopReason: event.stop_reason }),
          });
        if (event.type === 'turn.aborted' && event.stop_reason === 'taken') this.#beginWatch();
      }
    } catch (error) {
      // After a lost connection the turn may still be running on the server.
      const { code } = error as Partial<ParleyError>;
      show({ status: 'partial', stopReason: code == null ? null : code === 'session_expired' ? 'expired' : 'error' });
      throw error;
    }
  }

  #beginWatch(): void {
    this.watch().catch(() => {});
  }

  async #watch(): Promise<void> {
    // All of them: what happened between the reading and the opening would be missing.
    const events = this.#parley.sessions.events(this.#sessionId, { after: 0, signal: this.#signal });
    for await (const event of events) {
      await this.#loaded;
      this.#note(event);
    }
  }

  /** Takes an event of the session; turns that are known are followed as replies. */
  #note(event: SessionEvent): void {
    const { status, messages } = this.#snapshot;
    const isKnown = (turnId: string): boolean =>
      this.#turn?.id === turnId || messages.some((message) => message.turnId === turnId);
    if (event.type === 'attendance.changed') return this.#change({ attendance: event.attendance });
    if (event.type === 'session.ended') return this.#change({ status: 'over' });
    if (event.type === 'turn.started' && status === 'idle' && !isKnown(event.turn_id)) return void this.refresh();
    if (event.type !== 'message.created') return;
    const { message } = event;
    // The greeting is there with the session.
    const isNew = message.turn_id === null && message.role !== 'assistant';
    if (!isNew || messages.some(({ id }) => id === message.id)) return;
    // The event of a message may come before the answer to its request.
    const own = messages.findLast(
      ({ id, role, content }) =>
        status !== 'idle' && role === message.role && content === message.content && id === `sent-${this.#sent}`,
    );
    if (own === undefined) this.#change({ messages: [...messages, shown(message)] });
    else this.#replace(own.id, shown(message));
  }

  /** Changes a message where it stands. */
  #replace(id: string, more: Partial<ConversationMessage>): void {
    const messages = this.#snapshot.messages.map((message) => (message.id === id ? { ...message, ...more } : message));
    this.#change({ messages });
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
  by,
}: Message): ConversationMessage => ({
  id,
  role,
  content,
  status,
  stopReason: stop_reason,
  createdAt: created_at,
  ...(role === 'assistant' && turn_id !== null && { turnId: turn_id }),
  ...(feedback && { rating: feedback.rating }),
  ...(by !== undefined && { by: by.name }),
});
