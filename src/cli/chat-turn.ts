/** One turn of `parley chat`, which Ctrl-C can abort. */
import { ConnectionError, ParleyError, RateLimitError, TurnFailedError } from '../client/failure.ts';
import type { Parley } from '../client/parley.ts';
import type { Retry } from '../client/requester.ts';
import type { Turn } from '../client/turn.ts';
import type { TurnEvent } from '../client/types.ts';
import type { ChatView } from './chat-view.ts';

/**
 * `completed`, `aborted` and `failed` describe the turn; after `over` the session or the key takes no more turns;
 * `left`: the person left without waiting for the abort.
 */
export type ChatTurnEnd = 'completed' | 'aborted' | 'failed' | 'over' | 'left';

const overCodes = new Set<string | null>([
  'session_ended',
  'session_expired',
  'session_not_found',
  'invalid_api_key',
  'revoked_api_key',
  'expired_api_key',
  'assistant_not_permitted',
]);

export class ChatTurn {
  readonly #parley: Parley;
  readonly #sessionId: string;
  readonly #view: ChatView;
  readonly #giveUp = new AbortController();
  #turn: Turn | null = null;
  #waiting = false;
  #interrupts = 0;

  constructor(parley: Parley, sessionId: string, view: ChatView) {
    this.#parley = parley;
    this.#sessionId = sessionId;
    this.#view = view;
  }

  async run(message: string): Promise<ChatTurnEnd> {
    this.#view.begin();
    try {
      return await this.#follow(
        await this.#parley.sessions.chat(this.#sessionId, message, { signal: this.#giveUp.signal }),
      );
    } catch (error) {
      return this.#ended(error);
    }
  }

  /** Handles Ctrl-C: cancels a turn that waits to be sent, aborts a reply, and leaves at the second interrupt. */
  interrupt(): void {
    this.#interrupts++;
    if (this.#waiting || this.#interrupts > 1) this.#giveUp.abort();
    else void this.#abort();
  }

  /**
   * Whether the client may retry. A message that failed in the service is not sent again without the person: the error
   * is shown, because they may not want to wait a minute.
   */
  retries({ error }: Retry): boolean {
    if (this.#turn !== null || error instanceof RateLimitError || error instanceof ConnectionError) return true;
    this.#giveUp.abort(error);
    return false;
  }

  /** Sets whether the turn waits to be sent or resumed. */
  wait(waiting: boolean): void {
    this.#waiting = waiting;
  }

  async #follow(turn: Turn): Promise<ChatTurnEnd> {
    this.#turn = turn;
    if (this.#interrupts > 0) void this.#abort();
    let last: TurnEvent['type'] | null = null;
    for await (const { type, ...data } of turn) {
      last = type;
      this.#view.event({ event: type, id: idOf(turn), data }, turn.requestId);
    }
    return last === 'turn.aborted' ? 'aborted' : 'completed';
  }

  /** Only the session has the turn's id before the first output. */
  async #abort(): Promise<void> {
    const { signal } = this.#giveUp;
    try {
      const turnId = this.#turn?.id ?? (await this.#parley.sessions.get(this.#sessionId, { signal })).active_turn_id;
      if (turnId !== null) await this.#parley.turns.resume(this.#sessionId, turnId).abort({ signal });
    } catch (error) {
      if (!signal.aborted) this.#view.showFailure(error);
    }
  }

  #ended(error: unknown): ChatTurnEnd {
    const { aborted, reason } = this.#giveUp.signal;
    if (aborted && !(reason instanceof ParleyError)) {
      this.#view.showAbort();
      return this.#interrupts > 1 ? 'left' : 'aborted';
    }
    if (error instanceof TurnFailedError) {
      const { code, message, requestId } = error;
      this.#view.event({ event: 'error', id: idOf(this.#turn), data: { code, message } }, requestId);
    } else {
      this.#view.showFailure(error);
    }
    return error instanceof ParleyError && overCodes.has(error.code) ? 'over' : 'failed';
  }
}

const idOf = (turn: Turn | null): string | null => (turn === null || turn.cursor === null ? null : String(turn.cursor));
