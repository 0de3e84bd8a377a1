/**
 * Turns of a call's session that a chat began, in this process or in another: the client reads along, and nothing is
 * spoken (contract 18).
 */
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { TurnLog } from '../../turn/log.ts';
import { endMessage } from './messages.ts';
import type { CallPort } from './port.ts';

export interface ChatTurn {
  readonly turnId: string;
  readonly messageId: string;
  readonly log: TurnLog;
}

export interface ChatTurnsOptions {
  readonly port: Pick<CallPort, 'services' | 'session' | 'now' | 'context' | 'send' | 'tell'>;
  /** Whether the turn is one of the call's. */
  owns(turnId: string): boolean;
}

export class ChatTurns {
  readonly #options: ChatTurnsOptions;
  /** The newest turn, the turn that is read, and the turns after it. */
  #turn: ChatTurn | null = null;
  #reading: ChatTurn | null = null;
  readonly #waiting: ChatTurn[] = [];
  #reader: TurnReader | null = null;
  #closed = false;

  constructor(options: ChatTurnsOptions) {
    this.#options = options;
  }

  /** Whether the client waits for the end of a turn. */
  get isReading(): boolean {
    return this.#reading !== null || this.#waiting.length > 0;
  }

  /** Whether the turn is one of the call's, or was added before. */
  knows(turnId: string): boolean {
    return (
      [this.#turn, this.#reading, ...this.#waiting].some((turn) => turn?.turnId === turnId) ||
      this.#options.owns(turnId)
    );
  }

  /** Adds a turn that the session runs: the client reads it from its beginning. */
  found(turn: ChatTurn): void {
    if (this.#closed || this.knows(turn.turnId)) return;
    this.#turn = turn;
    this.#waiting.push(turn);
    this.busy();
    // The turn before has ended. If its log has the end, the client reads it first.
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
    const { port } = this.#options;
    if (!this.isReading) port.send({ type: 'elsewhere.over', at: port.now });
  }

  /** Lets the call wait for the end of the turn, unless it has a turn: the session refuses that one. */
  busy(): void {
    const { port } = this.#options;
    if (port.context.turn === 'none') port.send({ type: 'elsewhere', at: port.now, owed: false, typed: false });
  }

  close(): void {
    this.#closed = true;
    this.#reader?.stop();
  }

  async #read(turn: ChatTurn): Promise<void> {
    const { port } = this.#options;
    const text = await this.#messageOf(turn.turnId);
    if (this.#closed || this.#reading !== turn) return;
    port.tell({ type: 'turn.started', turn_id: turn.turnId, message_id: turn.messageId, text, spoken: false });
    this.#reader = new TurnReader(turn.log, 0, this.#sink(turn), port.services.clock);
    this.#reader.start();
  }

  /** Text of the person's message. */
  async #messageOf(turnId: string): Promise<string> {
    const { session, services } = this.#options.port;
    const page = await services.store.sessions
      .messages(session.workspaceId, session.id, { limit: 4, after: null, order: 'desc' })
      .catch(() => null);
    return page?.items.find((message) => message.turnId === turnId && message.role === 'user')?.content ?? '';
  }

  #sink(turn: ChatTurn): Sink {
    const { port } = this.#options;
    return {
      delta: (text) => {
        port.tell({ type: 'message.delta', message_id: turn.messageId, text });
        return true;
      },
      terminal: (terminal) => {
        port.tell(endMessage(terminal, turn, null));
        this.#next();
      },
      mark: () => true,
      cut: () => this.#next(),
      heartbeat: () => true,
      onDrain: () => {},
    };
  }
}
