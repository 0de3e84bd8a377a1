/** Runs `parley chat`: finds key, assistant and session, talks, and tidies up. */
import { Parley } from '../client/parley.ts';
import type { Assistant, Session, VisitorField } from '../client/types.ts';
import { WheelClock, type Clock, type Timer } from '../base/clock.ts';
import { commandKey, type KeyOptions } from './api-key.ts';
import { chooseAssistant } from './assistant-choice.ts';
import { ChatTurn, type ChatTurnEnd } from './chat-turn.ts';
import { JsonView, TextView, type ChatView } from './chat-view.ts';
import { serverUrl } from './connection.ts';
import { greetingOf } from './greeting.ts';
import { failureLine, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { oneLine } from './output.ts';
import { Terminal } from './terminal.ts';
import { fieldValue, givenVisitor, wholeVisitor } from './visitor.ts';
import type { Retry } from '../client/requester.ts';

export interface ChatOptions extends KeyOptions {
  readonly assistant?: string;
  readonly session?: string;
  readonly once?: string;
  readonly visitor?: readonly string[];
  readonly keep?: boolean;
}

/** Rejects when a script's turn failed, or when the workspace has no assistant to talk to. */
export async function runChat(io: Io, options: ChatOptions): Promise<void> {
  if (options.session !== undefined && options.assistant !== undefined)
    throw new UsageFailure('Give --assistant or --session, not both: a session has its assistant.');
  const clock = new WheelClock();
  const url = serverUrl(options, io.env);
  const key = await commandKey('parley chat', options, io.env, url, clock);
  const terminal = new Terminal(io, { reads: options.once === undefined, bare: options.json === true });
  try {
    await new Chat(io, options, url, key.key, clock, terminal).run();
  } finally {
    await key.revoke((text) => terminal.note(text));
    terminal.close();
    clock.stop();
  }
}

class Chat {
  readonly #io: Io;
  readonly #options: ChatOptions;
  readonly #terminal: Terminal;
  readonly #parley: Parley;
  readonly #countdown: Countdown;
  readonly #interactive: boolean;
  #view: ChatView;
  #turn: ChatTurn | null = null;
  readonly #url: string;
  readonly #key: string;

  constructor(io: Io, options: ChatOptions, url: string, key: string, clock: Clock, terminal: Terminal) {
    this.#io = io;
    this.#options = options;
    this.#url = url;
    this.#key = key;
    this.#terminal = terminal;
    this.#interactive = terminal.interactive;
    this.#view = options.json ? new JsonView(io) : new TextView(terminal, '');
    this.#countdown = new Countdown(clock, (error, secondsLeft) => {
      this.#turn?.wait(secondsLeft > 0);
      this.#view.showWait(error, secondsLeft);
    });
    this.#parley = new Parley({
      url,
      key,
      onRetry: (retry) => {
        if (this.#turn?.retries(retry) ?? true) this.#countdown.start(retry);
      },
    });
  }

  async run(): Promise<void> {
    const resumed = this.#options.session === undefined ? null : await this.#parley.sessions.get(this.#options.session);
    const assistant = resumed
      ? await this.#parley.assistants.get(resumed.assistant_id)
      : await chooseAssistant(this.#parley, this.#options.assistant, {
          none: 'No assistant is published. Publish one with `parley assistants publish`.',
        });
    const session = resumed ?? (await this.#open(assistant));
    if (session === null) return;
    if (this.#interactive && !this.#options.json)
      this.#view = new TextView(this.#terminal, `${oneLine(assistant.name)}> `);
    if (this.#interactive)
      this.#view.note(`Session ${session.id}. Ctrl-C aborts a reply; at the prompt it ends the session.`);
    const greeting = resumed === null ? await greetingOf(this.#parley, assistant, session) : null;
    if (greeting) this.#view.showGreeting(greeting);
    let outcome: ChatTurnEnd = 'failed';
    try {
      outcome = await this.#talk(session.id);
    } finally {
      if (outcome !== 'over') await this.#leave(session.id);
    }
    if (outcome === 'over' || (outcome === 'failed' && !this.#interactive)) this.#io.exitCode = 1;
  }

  /** Creates a session after asking for the visitor fields; null if the person left instead. */
  async #open(assistant: Assistant): Promise<Session | null> {
    const items = this.#options.visitor ?? [];
    if (!this.#interactive)
      return this.#parley.sessions.create({ assistant_id: assistant.id, visitor: wholeVisitor(assistant, items) });
    const { visitor, missing } = givenVisitor(assistant, items);
    for (const field of missing) {
      const value = await this.#ask(field);
      if (value === null) return null;
      visitor[field.name] = value;
    }
    return this.#parley.sessions.create({ assistant_id: assistant.id, visitor });
  }

  /** Asks again until the answer fits the field; null if the person left. */
  async #ask(field: VisitorField): Promise<string | number | boolean | null> {
    const hint = field.type === 'boolean' ? ' (yes or no)' : '';
    for (;;) {
      const text = await this.#terminal.line(`${oneLine(field.label)}${hint}: `);
      if (text === null) return null;
      const value = text.trim() === '' ? null : fieldValue(field, text.trim());
      if (value !== null) return value;
    }
  }

  async #talk(sessionId: string): Promise<ChatTurnEnd> {
    if (this.#options.once !== undefined) return this.#say(sessionId, this.#options.once);
    for (;;) {
      const line = await this.#terminal.line('you> ');
      if (line === null) return 'completed';
      if (line.trim() === '') continue;
      const outcome = await this.#say(sessionId, line);
      if (outcome === 'over' || outcome === 'left' || (outcome === 'failed' && !this.#interactive)) return outcome;
    }
  }

  async #say(sessionId: string, message: string): Promise<ChatTurnEnd> {
    const turn = new ChatTurn(this.#parley, sessionId, this.#view);
    this.#turn = turn;
    this.#terminal.onInterrupt(() => turn.interrupt());
    try {
      return await turn.run(message);
    } finally {
      this.#countdown.stop();
      this.#turn = null;
      this.#terminal.onInterrupt(null);
    }
  }

  /** Ends the session, unless it must stay open. If that fails, the session expires by itself. */
  async #leave(sessionId: string): Promise<void> {
    const { keep, once, session } = this.#options;
    if (keep || (once !== undefined && session !== undefined)) {
      this.#view.note(`The session stays open; continue it with --session ${sessionId}`);
      return;
    }
    // A separate client, which does not share the conversation's waits; and it makes no second attempt.
    const giveUp = new AbortController();
    const parley = new Parley({ url: this.#url, key: this.#key, onRetry: ({ error }) => giveUp.abort(error) });
    await parley.sessions
      .end(sessionId, { signal: giveUp.signal })
      .catch((error: unknown) => this.#view.note(`The session could not be ended: ${failureLine(error)}`));
  }
}

/** Called every second of a wait with the whole seconds left, and with 0 at its end. */
type Waiting = (failure: Error, secondsLeft: number) => void;

/** Shows how long the client waits before it tries again. */
class Countdown {
  readonly #clock: Clock;
  readonly #waiting: Waiting;
  #failure: Error | null = null;
  #due = 0;
  #timer: Timer | null = null;

  constructor(clock: Clock, waiting: Waiting) {
    this.#clock = clock;
    this.#waiting = waiting;
  }

  start({ error, waitMs }: Pick<Retry, 'error' | 'waitMs'>): void {
    this.stop();
    this.#failure = error;
    this.#due = this.#clock.monotonic() + waitMs;
    this.#tick();
  }

  /** The wait has ended or was canceled. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#failure !== null) this.#waiting(this.#failure, 0);
    this.#failure = null;
  }

  #tick(): void {
    const left = this.#due - this.#clock.monotonic();
    if (left <= 0) return this.stop();
    this.#waiting(this.#failure!, Math.ceil(left / 1000));
    this.#timer = this.#clock.after(left % 1000 || 1000, () => this.#tick());
  }
}
