/**
 * The visitor's conversation: the session is created with the first message and found again after a reload; requests
 * that the network loses are retried until they succeed. It knows nothing of the page.
 */
import { newIdempotencyKey } from '../../client/clock.ts';
import {
  conversation,
  type Conversation,
  type ConversationMessage,
  type ConversationStatus,
} from '../../client/conversation.ts';
import { ConnectionError, ParleyError, RateLimitError } from '../../client/failure.ts';
import { Parley } from '../../client/parley.ts';
import type { Attendance, Link, PendingToolCall, ToolResult, Visitor } from '../../client/types.ts';
import { onWake } from '../../client/wake.ts';
import { after, now, wallClock } from './clock.ts';
import { ownedBy, recall, type Memories, type Pending, type Remembered } from './memory.ts';
import type { Rating } from './rating.ts';
import { showSession } from './tabs.ts';

export type VisitorFields = Record<string, string | number | boolean>;

/** The reason why the conversation cannot continue. `offline` and `waiting` end by themselves. */
export type Trouble =
  | { readonly kind: 'offline' }
  /** A limit: until this time, in milliseconds. */
  | { readonly kind: 'waiting' | 'limited'; readonly at: number }
  | { readonly kind: 'over' | 'closed' }
  | { readonly kind: 'failed'; readonly error: Error };

export interface Scene {
  /** `busy` from the sending of a message to the end of its reply, also while the connection is away. */
  readonly status: 'loading' | 'idle' | 'busy' | 'over';
  readonly messages: readonly ConversationMessage[];
  /** The calls of tools that wait for the visitor's word; none while something is under way. */
  readonly approvals: readonly PendingToolCall[];
  readonly trouble: Trouble | null;
  /** The party that answers; null before that is known. */
  readonly attendance: Attendance | null;
  /** Whether there is a session, and so something to leave behind. */
  readonly begun: boolean;
}

/** The visitor as the site has named him or her, and whether there is a conversation to show. */
export interface Admission {
  /** The site's JWT; null without one. */
  readonly identity: string | null;
  /** The visitor whom it names; null for anybody. */
  readonly signed: Visitor | null;
  /**
   * Present while there is no conversation: `asked` until the service has said who the visitor is, else the reason. Null
   * for a conversation.
   */
  readonly shut: 'asked' | Trouble | null;
}

export interface ChatListener {
  changed(): void;
  /** A reply has come to its end, or a message of a person has arrived. */
  replied(message: ConversationMessage): void;
  /**
   * The message was not taken, and is the visitor's to change or to send again; `field` is the visitor field that is
   * wrong.
   */
  returned(text: string, field: string | null): void;
  failed(error: Error): void;
  /** The visitor asks for another attempt while there is no conversation. */
  retried(): void;
}

export interface ChatOptions {
  readonly url: string;
  readonly link: Link;
  /** The origin of the site that frames this page; null if the page is not framed. */
  readonly host: string | null;
  readonly memory: Memories;
  readonly listener: ChatListener;
  readonly admission: Admission;
  /** Returns the fields that the visitor has filled in. */
  fields(): VisitorFields;
}

/** A visitor's token is renewed once less than this is left of its 30 days, in seconds. */
const renewSeconds = 29 * 86_400;
const nothing: readonly never[] = [];
/** Time after which the events of a session that could not be had are asked for again, in milliseconds. */
const rewatchMs = 30_000;
const retryMs = [2000, 4000, 8000, 15_000, 30_000];
const gone = new Set(['session_not_found', 'invalid_token']);
const over = new Set(['session_ended', 'session_expired']);
const closed = new Set(['assistant_disabled', 'assistant_not_published', 'assistant_not_found']);
const noMemory: Memories = { changed() {}, arrived() {}, read: () => null, write() {} };
const nobody: ChatListener = { changed() {}, replied() {}, returned() {}, failed() {}, retried() {} };

export class Chat {
  #options: ChatOptions;
  parley: Parley;
  /** The greeting of a session that was opened here, if it was not known before. */
  #greeted: readonly ConversationMessage[] = nothing;
  /** Messages of a call; one that was read from the service since has the same id, or for what was said before it. */
  spoken: readonly ConversationMessage[] = nothing;
  #visitor: Visitor | null = null;
  #session: string | null = null;
  #talk: Conversation | null = null;
  #leave: ((end: () => void) => void) | null = null;
  #pending: Pending | null = null;
  #delivering = false;
  #trouble: Trouble | null = null;
  /** The conversation's failure that was handled last. */
  #seen: Error | null = null;
  #replying = false;
  /** Messages of people and notices that are shown; null before the conversation was read. */
  #unasked: number | null = null;
  /** The conversation whose events are followed. */
  #watching: Conversation | null = null;
  /** Whether to read the conversation again once the message that is being sent is done with. */
  #stale = false;
  #retries = 0;
  #cancelRetry: (() => void) | null = null;
  #unwatch = (): void => {};

  constructor(options: ChatOptions) {
    this.#options = options;
    const { memory, admission } = options;
    if (admission.shut !== null) this.#options = { ...options, memory: noMemory };
    const known = recall(this.#options.memory, admission.signed);
    this.parley = this.#client((this.#visitor = known?.visitor ?? admission.signed));
    if (admission.shut !== null) return;
    memory.changed = () => this.#noteOther();
    // The conversation was read before the message of the other tab had arrived.
    memory.arrived = () => void (this.#delivering || this.#talk?.refresh());
    this.#unwatch = onWake(() => {
      // An attempt under way may have begun earlier, and fail: the next one follows soon.
      this.#retries = 0;
      if (this.#cancelRetry !== null) void this.retry();
    });
    if (known !== null) this.#goOn(known);
  }

  get scene(): Scene {
    const { shut } = this.#options.admission;
    if (shut !== null)
      return {
        status: shut === 'asked' || shut.kind !== 'failed' ? 'loading' : 'over',
        messages: nothing,
        approvals: nothing,
        trouble: shut === 'asked' ? null : shut,
        attendance: null,
        begun: false,
      };
    const {
      status = 'idle',
      messages = this.#greeting(),
      pending: approvals = nothing,
      attendance = null,
    } = this.#talk?.getSnapshot() ?? {};
    const pending = this.#pending;
    const shown = messages.filter(
      ({ status, content, stopReason }) =>
        status !== 'failed' && status !== 'sending' && (content !== '' || stopReason !== 'tool_calls'),
    );
    if (this.#greeted.every(({ id }) => messages.every((message) => message.id !== id)))
      shown.unshift(...this.#greeted);
    shown.push(...this.spoken.filter(({ id }) => messages.every((message) => message.id !== id)));
    if (pending !== null && !this.#arrived())
      shown.push({
        id: 'pending',
        role: 'user',
        content: pending.text,
        status: 'sending',
        stopReason: null,
        createdAt: null,
      });
    const lost = status === 'idle' && this.#trouble?.kind === 'offline';
    const busy = pending !== null || this.#delivering || lost || status === 'sending' || status === 'replying';
    return {
      status: busy ? 'busy' : status,
      messages: shown,
      approvals: busy || status !== 'idle' ? nothing : approvals,
      trouble: this.#trouble,
      attendance,
      begun: this.#session !== null,
    };
  }

  /** Sends a message; the first one opens the session. */
  async send(text: string): Promise<void> {
    this.#pending = { text, key: newIdempotencyKey(), before: this.#sent().length };
    await this.#deliver();
  }

  /** Asks for a person, in a session that is opened if needed. */
  async ask(): Promise<void> {
    try {
      await this.parley.sessions.ask(await this.session());
    } catch (error) {
      this.#fail(error as Error);
      this.#options.listener.changed();
    }
  }

  /** Answers all that waits for the visitor's word. After a failure it waits again, or another page has answered. */
  approve(answers: readonly ToolResult[]): void {
    void this.#talk?.answer(answers);
  }

  /** Retries after a failure: reads the conversation again, and sends a message that had not arrived. */
  async retry(): Promise<void> {
    if (this.#options.admission.shut !== null) return this.#options.listener.retried();
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#stale = this.#delivering;
    if (this.#delivering) return;
    if (this.#talk !== null) await this.#talk.refresh();
    else if (this.#pending !== null) await this.#deliver();
    else this.#clear();
  }

  /** Stops the reply; a message that waits for the connection is the visitor's again. */
  abort(): void {
    if (this.#pending === null || this.#delivering) return void this.#talk?.abort();
    this.#giveBack();
    this.#options.listener.changed();
  }

  /** Rates a reply of the conversation, or takes the rating back. Rejects if that fails. */
  async rate(turnId: string, rating: Rating | null): Promise<void> {
    const session = this.#session!;
    if (rating === null) await this.parley.turns.unrate(session, turnId);
    else await this.parley.turns.rate(session, turnId, rating);
  }

  /** Leaves the conversation, and ends its session unless another tab shows it; the next message opens another. */
  renew(): void {
    const session = this.#talk?.getSnapshot().status === 'over' ? null : this.#session;
    const { parley } = this;
    this.#forget(() => session !== null && void parley.sessions.end(session).catch(() => {}));
    this.#options.listener.changed();
  }

  /** The signed visitor is the same, with a fresh token. */
  renewed(admission: Admission): void {
    this.#options = { ...this.#options, admission };
    this.parley = this.#client((this.#visitor = admission.signed));
  }

  /** Drops the conversation here: another chat takes its place, and this one reports and stores nothing more. */
  leave(): void {
    this.#options = { ...this.#options, memory: noMemory, listener: nobody };
    this.#unwatch();
    this.#forget();
  }

  /** Resolves with the session, which is opened if needed, for calls other than a message. Rejects if opening fails. */
  async session(): Promise<string> {
    if (this.#session !== null) return this.#session;
    // The reason is on the page already.
    if (this.#options.admission.shut !== null) throw Object.assign(new Error(), { said: '' });
    const session = await this.parley.sessions.create({ visitor: this.#options.fields() });
    this.#open(session.id, this.#greeting());
    void this.#greet(session.id);
    return session.id;
  }

  #client(visitor: Visitor | null): Parley {
    const { url, link, host, admission } = this.#options;
    const onVisitor = (visitor: Visitor): void => {
      this.#visitor = visitor;
      this.#remember();
    };
    return new Parley({
      url,
      clock: wallClock,
      link: { slug: link.slug, visitor, onVisitor, identity: () => admission.identity, ...(host !== null && { host }) },
      onRetry: ({ error, waitMs }) => this.#noteRetry(error, waitMs),
    });
  }

  #goOn({ visitor, session, pending }: Remembered): void {
    this.#pending = pending;
    this.#open(session, null);
    if (visitor.expires_at - now() / 1000 < renewSeconds) this.parley.visitor().catch(() => {});
  }

  /**
   * Another tab has begun or left a conversation: this tab keeps its own, and adopts the other one only if it has none.
   */
  #noteOther(): void {
    if (this.#session !== null) return this.#remember();
    if (this.#pending !== null || this.#delivering) return;
    const found = ownedBy(this.#options.admission.signed, this.#options.memory.read(true));
    if (found === null) return;
    this.parley = this.#client((this.#visitor = found.visitor));
    this.#goOn({ ...found, pending: null });
    this.#options.listener.changed();
  }

  #greeting(): ConversationMessage[] {
    const { greeting } = this.#options.link;
    return greeting === null
      ? []
      : [
          {
            id: 'greeting',
            role: 'assistant',
            content: greeting,
            status: 'completed',
            stopReason: null,
            createdAt: null,
          },
        ];
  }

  /** Reads the greeting of a new session where it was not known before: its variables may need a session. */
  async #greet(session: string): Promise<void> {
    if (this.#options.link.greeting !== null) return;
    const page = await this.parley.sessions
      .transcript(session, { limit: 1 })
      .page()
      .catch(() => null);
    const first = page?.data[0];
    if (this.#session !== session || first === undefined || first.turn_id !== null) return;
    const { id, role, content, status, stop_reason: stopReason, created_at: createdAt } = first;
    this.#greeted = [{ id, role, content, status, stopReason, createdAt }];
    this.#options.listener.changed();
  }

  /** Returns the visitor's messages that the service has. */
  #sent(): ConversationMessage[] {
    return (
      this.#talk?.getSnapshot().messages.filter(({ role, status }) => role === 'user' && status === 'completed') ?? []
    );
  }

  /**
   * The message may have arrived, with only its response lost. Another page of the visitor's may have sent one as well.
   */
  #arrived(): boolean {
    const pending = this.#pending;
    return (
      pending !== null &&
      this.#sent()
        .slice(pending.before)
        .some(({ content }) => content === pending.text)
    );
  }

  #open(session: string, known: readonly ConversationMessage[] | null): void {
    this.#session = session;
    this.#talk = conversation(this.parley, session, known);
    this.#replying = false;
    this.#unasked = null;
    if (this.#options.link.desk) this.#watch();
    const unsubscribe = this.#talk.subscribe(() => this.#look());
    const leaves = showSession(session);
    this.#leave = (end) => {
      unsubscribe();
      leaves(end);
    };
    this.#remember();
  }

  async #deliver(): Promise<void> {
    const pending = this.#pending!;
    this.#delivering = true;
    this.#trouble = null;
    this.#options.listener.changed();
    try {
      if (this.#talk === null) {
        const session = await this.parley.sessions.create(
          { visitor: this.#options.fields() },
          { idempotencyKey: pending.key },
        );
        // The visitor may have begun anew meanwhile.
        if (this.#pending !== pending) return;
        this.#open(session.id, this.#greeting());
        void this.#greet(session.id);
      }
      this.#remember();
      await this.#talk!.send(pending.text, { idempotencyKey: pending.key });
      // Not sent: the conversation was being read, and has the reply to another page's message.
      if (this.#pending === pending && this.#talk?.getSnapshot().status === 'replying') this.#giveBack();
    } catch (error) {
      if (this.#pending === pending) this.#fail(error as Error);
    } finally {
      this.#delivering = false;
      this.#options.listener.changed();
    }
    if (this.#stale) await this.retry();
  }

  /** Follows the conversation's own changes. */
  #look(): void {
    const { status, messages, attendance, error } = this.#talk!.getSnapshot();
    if ((attendance?.state ?? 'assistant') !== 'assistant') this.#watch();
    if (this.#arrived()) {
      this.#pending = null;
      this.#remember();
    }
    const reply = messages.findLast(({ role }) => role === 'assistant');
    // A reply may continue if only the connection was lost.
    const isLost = this.#replying && error instanceof ConnectionError;
    if (this.#replying && !isLost && status !== 'replying' && reply !== undefined)
      this.#options.listener.replied(reply);
    this.#reportUnasked(messages, status);
    this.#replying = isLost || status === 'replying';
    if (error !== null && error !== this.#seen) this.#fail(error);
    else if (error === null && status === 'over') this.#end('over');
    else if (error === null && status !== 'loading' && status !== 'sending') this.#clear();
    this.#seen = error;
    if (error === null && status === 'idle' && this.#pending !== null && !this.#delivering) void this.#deliver();
    this.#options.listener.changed();
  }

  #reportUnasked(messages: readonly ConversationMessage[], status: ConversationStatus): void {
    const unasked = messages.filter(({ role }) => role === 'person' || role === 'notice');
    if (this.#unasked !== null)
      for (const message of unasked.slice(this.#unasked)) this.#options.listener.replied(message);
    this.#unasked = status === 'loading' ? null : unasked.length;
  }

  /** Follows the events of the session, so that a person's messages come unasked. */
  #watch(): void {
    const talk = this.#talk!;
    if (this.#watching === talk) return;
    this.#watching = talk;
    talk.watch().catch(() =>
      after(rewatchMs, () => {
        if (this.#talk !== talk) return;
        this.#watching = null;
        this.#watch();
      }),
    );
  }

  /** Shows that the client itself retries. */
  #noteRetry(error: Error, waitMs: number): void {
    if (error instanceof ConnectionError) this.#trouble = { kind: 'offline' };
    // A wait of a second or two is not shown: the turn before is just ending.
    else if (error instanceof RateLimitError && waitMs > 3000) this.#trouble = { kind: 'waiting', at: now() + waitMs };
    this.#options.listener.changed();
  }

  #clear(): void {
    this.#retries = 0;
    this.#trouble = null;
  }

  #fail(error: Error): void {
    const { code = null, field } = error as Partial<ParleyError>;
    if (!(error instanceof ConnectionError) || this.#retries === 0) this.#options.listener.failed(error);
    if (error instanceof ConnectionError) return this.#noteLoss();
    if (code !== null && gone.has(code)) {
      const wasSending = this.#pending !== null;
      this.#end('over');
      this.#forget();
      // A conversation of an earlier visit is dropped silently.
      if (wasSending) this.#trouble = { kind: 'over' };
    } else if (code !== null && over.has(code)) this.#end('over');
    else if (code !== null && closed.has(code)) this.#end('closed');
    else if (code === 'turn_in_progress' || field === 'tool_results') {
      this.#giveBack();
      void this.retry();
    } else if (error instanceof RateLimitError) {
      this.#giveBack();
      this.#trouble = { kind: 'limited', at: now() + error.retryAfterSeconds * 1000 };
    } else if (this.#pending !== null && field?.startsWith('visitor.')) this.#giveBack(field.slice('visitor.'.length));
    else {
      this.#giveBack();
      this.#trouble = { kind: 'failed', error };
    }
  }

  #end(kind: 'over' | 'closed'): void {
    this.#giveBack();
    this.#trouble = { kind };
  }

  /** The connection is away: it is tried again when the device says that it is back, and now and then. */
  #noteLoss(): void {
    this.#trouble = { kind: 'offline' };
    this.#cancelRetry ??= after(retryMs[Math.min(this.#retries++, retryMs.length - 1)]!, () => {
      this.#cancelRetry = null;
      void this.retry();
    });
  }

  #giveBack(field: string | null = null): void {
    const pending = this.#pending;
    this.#pending = null;
    this.#remember();
    if (pending !== null) this.#options.listener.returned(pending.text, field);
  }

  /** `end` ends the session. */
  #forget(end: () => void = () => {}): void {
    this.#leave?.(end);
    this.#talk?.leave();
    this.#cancelRetry?.();
    this.#talk = this.#leave = this.#session = this.#pending = this.#trouble = this.#cancelRetry = this.#seen = null;
    this.#replying = false;
    this.spoken = this.#greeted = nothing;
    this.#remember();
  }

  /**
   * Remembers the session, if there is one. A signed visitor's is stored without token and text: the next
   * person at the browser cannot read it.
   */
  #remember(): void {
    const { memory, admission } = this.#options;
    const [visitor, session, pending] = [this.#visitor, this.#session, this.#pending];
    if (session === null || visitor === null) memory.write(null);
    else if (admission.signed === null) memory.write({ visitor, session, pending });
    else memory.write({ visitor: { ...visitor, token: '' }, session, pending: null });
  }
}
