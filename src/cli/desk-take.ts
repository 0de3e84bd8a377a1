/** Runs `parley desk take`: shows a session from its beginning on, and sends what the person types. */
import { pause, realClock } from '../client/clock.ts';
import { Parley } from '../client/parley.ts';
import type { SessionEvents } from '../client/session-events.ts';
import type { Attendance, List, Session, SessionEvent } from '../client/types.ts';
import { inWorkspace, operatorToken, serverUrl, type ConnectionOptions, type ConsoleConnection } from './connection.ts';
import type { DeskSession } from './desk-list.ts';
import { released, returned, sendText, sessionPath, step } from './desk-session.ts';
import { CommandFailure, failureLine } from './exit.ts';
import type { Io } from './io.ts';
import { renderAttendance, renderEvent } from './message-view.ts';
import { print } from './output.ts';
import { Terminal } from './terminal.ts';

export type TakeOptions = ConnectionOptions;

export const takeSession = (io: Io, selected: string | undefined, options: TakeOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const id = selected ?? (await longestWaiting(connection));
    const { body } = await step(connection, sessionPath(connection, id), 'take');
    const url = `${serverUrl(options, io.env)}/console/api${connection.workspace}`;
    const parley = new Parley({ url, key: operatorToken(options, io.env) });
    const terminal = new Terminal(io, { reads: true, bare: options.json === true });
    try {
      await new Attending(io, connection, body, terminal, options.json === true).run(parley);
    } finally {
      terminal.close();
    }
  });

async function longestWaiting({ client, workspace }: ConsoleConnection): Promise<string> {
  const { body } = await client.get<List<DeskSession>>(`${workspace}/desk`, { limit: 1 });
  const [first] = body.data;
  if (first?.attendance.state !== 'waiting') throw new CommandFailure('Nobody waits for a person.');
  return first.id;
}

/** A person who has a session: events are printed as they come, lines are sent as they are typed. */
class Attending {
  readonly #io: Io;
  readonly #connection: ConsoleConnection;
  readonly #id: string;
  readonly #path: string;
  readonly #name: string | undefined;
  readonly #terminal: Terminal;
  readonly #isJson: boolean;
  readonly #since: number;
  /** Ids of messages that were sent from here: in a terminal they are on the screen as they were typed. */
  readonly #typed = new Set<string>();
  /** Ids of messages of people whose events have come. */
  readonly #seen = new Set<string>();
  /** Whether the event of the take has come. */
  #hasBegun = false;
  /** Called after each event. */
  #onShown = (): void => {};
  /** The message that is being sent. */
  #sending: Promise<unknown> = Promise.resolve();
  /** Whether the person gives the session up, or has lost it. */
  #isOver = false;

  constructor(io: Io, connection: ConsoleConnection, session: Session, terminal: Terminal, isJson: boolean) {
    this.#io = io;
    this.#connection = connection;
    this.#id = session.id;
    this.#path = sessionPath(connection, session.id);
    this.#name = session.attendance.person?.name;
    this.#since = session.attendance.since;
    this.#terminal = terminal;
    this.#isJson = isJson;
  }

  async run(parley: Parley): Promise<void> {
    const left = new AbortController();
    const events = parley.sessions.events(this.#id, { after: 0, signal: left.signal });
    this.#note(`You have the conversation ${this.#id}. ${choices}`);
    this.#terminal.onInterrupt(this.#terminal.interactive ? () => this.#askForChoice() : null);
    const followed = this.#follow(events).finally(() => this.#terminal.end());
    try {
      await this.#read();
      const waited = pause(realClock, caughtUpMs, left.signal).catch(() => {});
      if (!this.#terminal.interactive) await Promise.race([this.#caughtUp(), followed, waited]);
    } finally {
      left.abort();
      await followed.catch((error: unknown) => {
        if (error !== left.signal.reason) throw error;
      });
    }
    if (!this.#isOver) this.#note(`The conversation ${this.#id} stays yours. ${later(this.#id)}`);
  }

  /** Prints events until the session ends, or somebody else answers. */
  async #follow(events: SessionEvents): Promise<void> {
    for await (const event of events) {
      await this.#show(event, events.cursor);
      this.#noteShown(event);
      const end = await this.#endAfter(event);
      if (end === null) continue;
      this.#isOver = true;
      return this.#note(end);
    }
  }

  async #show(event: SessionEvent, number: number | null): Promise<void> {
    if (this.#isJson) return print(this.#io, JSON.stringify({ number, ...event }));
    if (event.type === 'message.created' && event.message.role === 'person' && this.#terminal.interactive) {
      await this.#sending;
      if (this.#typed.has(event.message.id)) return;
    }
    if (event.type === 'message.created' || (event.type === 'attendance.changed' && !this.#isOver))
      this.#terminal.above(() => this.#terminal.write(`${renderEvent(event)}\n`));
  }

  #noteShown(event: SessionEvent): void {
    if (event.type === 'message.created' && event.message.role === 'person') this.#seen.add(event.message.id);
    if (event.type === 'attendance.changed' && this.#isOwn(event.attendance))
      this.#hasBegun ||= event.attendance.since >= this.#since;
    this.#onShown();
  }

  /** Resolves once the transcript has been printed, and with it all that was sent from here. */
  async #caughtUp(): Promise<void> {
    while (!this.#hasBegun || [...this.#typed].some((id) => !this.#seen.has(id)))
      await new Promise<void>((resolve) => (this.#onShown = resolve));
  }

  /** Returns the sentence that ends the command; null to continue. */
  async #endAfter(event: SessionEvent): Promise<string | null> {
    if (event.type === 'session.ended') return `The session has ${event.status}.`;
    if (event.type !== 'attendance.changed' || this.#isOver || this.#isOwn(event.attendance)) return null;
    // The event may be one from before the take.
    const { body } = await this.#connection.client.get<Session>(this.#path);
    if (this.#isOwn(body.attendance) || body.status !== 'open') return null;
    return `You do not have the conversation any more: ${renderAttendance(body.attendance)}.`;
  }

  #isOwn({ state, person }: Attendance): boolean {
    return state === 'person' && person?.name === this.#name;
  }

  /** Sends lines until the person leaves, the input ends or the session is another's. */
  async #read(): Promise<void> {
    for (let line = await this.#line(); line !== null; line = await this.#line()) {
      const text = line.trim();
      if (text === '/return') return this.#give('return', returned);
      if (text === '/release') return this.#give('release', released);
      if (text.startsWith('/') && !text.startsWith('//')) this.#note(`There is no ${text}. ${choices}`);
      else if (text !== '') await this.#send(text.replace(/^\/\//, '/'));
    }
  }

  #line(): Promise<string | null> {
    return this.#terminal.line(`${this.#name}> `);
  }

  async #give(verb: 'return' | 'release', said: string): Promise<void> {
    this.#isOver = true;
    await step(this.#connection, this.#path, verb);
    this.#note(said);
  }

  /** Notes a refusal in a terminal; it ends a script. */
  async #send(text: string): Promise<void> {
    const sent = sendText(this.#connection, this.#id, text).then(({ body }) => this.#typed.add(body.id));
    this.#sending = sent.catch(() => {});
    try {
      await sent;
    } catch (error) {
      if (!this.#terminal.interactive) throw error;
      this.#note(`parley: Not sent: ${failureLine(error)}`);
    }
  }

  /** The first Ctrl-C states the choice, the next one leaves. */
  #askForChoice(): void {
    this.#note(`${choices} Ctrl-C again leaves, and the conversation stays yours.`);
    this.#terminal.onInterrupt(null);
  }

  #note(text: string): void {
    if (!this.#isJson) this.#terminal.above(() => this.#terminal.note(text));
  }
}

/** Milliseconds for which the end of a script's input waits for the events up to it. */
const caughtUpMs = 5000;

const choices = '/return gives it to the assistant, /release to the next person.';

const later = (id: string): string => `Give it up with \`parley desk return ${id}\` or \`parley desk release ${id}\`.`;
