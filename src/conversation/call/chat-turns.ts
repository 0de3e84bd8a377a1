/** Turns of a call's session that a chat began: they are read along, and nothing of them is spoken (contract 18). */
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { TurnLog } from '../../turn/turn.ts';
import type { Session } from '../../store/store.ts';
import type { Services } from '../services.ts';
import { endMessage } from './messages.ts';

interface ChatTurn {
  readonly turnId: string;
  readonly messageId: string;
  readonly log: TurnLog;
}

export class ChatTurns {
  readonly #services: Services;
  readonly #session: Session;
  readonly #send: (message: object) => void;
  readonly #over: () => void;
  #turn: ChatTurn | null = null;
  #reader: TurnReader | null = null;

  constructor(services: Services, session: Session, send: (message: object) => void, over: () => void) {
    this.#services = services;
    this.#session = session;
    this.#send = send;
    this.#over = over;
  }

  /** Takes up a turn; false if it is read already. */
  follow(turnId: string, messageId: string, log: TurnLog): boolean {
    if (this.#turn?.turnId === turnId) return false;
    this.#turn = { turnId, messageId, log };
    return true;
  }

  /** Tells of the turn from its beginning. */
  begin(): void {
    const turn = this.#turn!;
    void this.#said(turn.turnId).then((text) => {
      this.#send({ type: 'turn.started', turn_id: turn.turnId, message_id: turn.messageId, text, spoken: false });
      this.#reader = new TurnReader(turn.log, 0, this.#sink(turn), this.#services.clock);
      this.#reader.start();
    });
  }

  close(): void {
    this.#reader?.stop();
  }

  /** The person's message. */
  async #said(turnId: string): Promise<string> {
    const { workspaceId, id } = this.#session;
    const page = await this.#services.store.sessions.messages(workspaceId, id, { limit: 4, after: null, order: 'desc' }).catch(() => null);
    return page?.items.find((message) => message.turnId === turnId && message.role === 'user')?.content ?? '';
  }

  #sink(turn: ChatTurn): Sink {
    return {
      delta: (text) => {
        this.#send({ type: 'message.delta', message_id: turn.messageId, text });
        return true;
      },
      terminal: (terminal) => {
        this.#send(endMessage(terminal, turn, null));
        this.#over();
      },
      mark: () => true,
      cut: () => this.#over(),
      heartbeat: () => true,
      onDrain: () => {},
    };
  }
}
