/**
 * Turns of a call's session that a chat began, in this process or in another: they are read along, and nothing of them
 * is spoken (contract 18).
 */
import type { CallEvent } from '../../../machines/call.ts';
import type { Session } from '../../store/store.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { TurnLog } from '../../turn/log.ts';
import type { Services } from '../services.ts';
import { endMessage } from './messages.ts';

export interface ChatTurn {
  readonly turnId: string;
  readonly messageId: string;
  readonly log: TurnLog;
}

export interface ChatTurnsOptions {
  readonly services: Services;
  /** The call's time, which is not set with the wall clock. */
  now(): number;
  readonly session: Session;
  /** Whether the turn is one of the call's own. */
  owns(turnId: string): boolean;
  /** Whether the call has no turn: the beginning of one is refused while the session runs another. */
  isFree(): boolean;
  /** Tells the client. */
  tell(message: object): void;
  /** Sends the machine an event. */
  send(event: CallEvent): void;
}

export class ChatTurns {
  readonly #options: ChatTurnsOptions;
  /** The turn that was found last, that which is read, and those behind it. */
  #turn: ChatTurn | null = null;
  #reading: ChatTurn | null = null;
  readonly #waiting: ChatTurn[] = [];
  #reader: TurnReader | null = null;
  #closed = false;

  constructor(options: ChatTurnsOptions) {
    this.#options = options;
  }

  /** Whether a turn is read along whose end was not told. */
  get isReading(): boolean {
    return this.#reading !== null || this.#waiting.length > 0;
  }

  /** Whether the turn is of the call, or was taken up before. */
  knows(turnId: string): boolean {
    return (
      [this.#turn, this.#reading, ...this.#waiting].some((turn) => turn?.turnId === turnId) ||
      this.#options.owns(turnId)
    );
  }

  /** The session runs a turn: tells of it from its beginning, unless it is known. */
  found(turn: ChatTurn): void {
    if (this.#closed || this.knows(turn.turnId)) return;
    this.#turn = turn;
    this.#waiting.push(turn);
    this.busy();
    // The turn before is over. Where that is known here, its end is read first.
    if ((this.#reading?.log.terminal ?? null) === null) this.#next();
  }

  #next(): void {
    this.#reader?.stop();
    this.#reading = this.#waiting.shift() ?? null;
    if (this.#reading === null) this.foundNone();
    else void this.#read(this.#reading);
  }

  /** The session runs no turn. */
  foundNone(): void {
    const { send, now } = this.#options;
    if (!this.isReading) send({ type: 'elsewhere.over', at: now() });
  }

  /** The call waits for the end of the turn that is read along. */
  busy(): void {
    const { send, now, isFree } = this.#options;
    if (isFree()) send({ type: 'elsewhere', at: now(), owed: false, typed: false });
  }

  close(): void {
    this.#closed = true;
    this.#reader?.stop();
  }

  async #read(turn: ChatTurn): Promise<void> {
    const { tell, services } = this.#options;
    const text = await this.#said(turn.turnId);
    if (this.#closed || this.#reading !== turn) return;
    tell({ type: 'turn.started', turn_id: turn.turnId, message_id: turn.messageId, text, spoken: false });
    this.#reader = new TurnReader(turn.log, 0, this.#sink(turn), services.clock);
    this.#reader.start();
  }

  /** The person's message. */
  async #said(turnId: string): Promise<string> {
    const { session, services } = this.#options;
    const page = await services.store.sessions
      .messages(session.workspaceId, session.id, { limit: 4, after: null, order: 'desc' })
      .catch(() => null);
    return page?.items.find((message) => message.turnId === turnId && message.role === 'user')?.content ?? '';
  }

  #sink(turn: ChatTurn): Sink {
    const { tell } = this.#options;
    return {
      delta: (text) => {
        tell({ type: 'message.delta', message_id: turn.messageId, text });
        return true;
      },
      terminal: (terminal) => {
        tell(endMessage(terminal, turn, null));
        this.#next();
      },
      mark: () => true,
      cut: () => this.#next(),
      heartbeat: () => true,
      onDrain: () => {},
    };
  }
}
