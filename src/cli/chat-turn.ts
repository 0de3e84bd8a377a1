/** One turn of `parley chat`, which Ctrl-C can abort. */
import type { View } from './chat-view.ts';
import type { Conversation } from './conversation.ts';
import { ApiFailure } from './failure.ts';

/**
 * `completed`, `aborted` and `failed` speak of the turn; after `over` the session or the key takes no more; `left`: the
 * person wanted out without waiting for the abort.
 */
export type TurnOutcome = 'completed' | 'aborted' | 'failed' | 'over' | 'left';

const overCodes = new Set(['session_ended', 'session_expired', 'session_not_found', 'invalid_api_key', 'revoked_api_key', 'expired_api_key', 'assistant_not_permitted']);

export class ChatTurn {
  readonly #conversation: Conversation;
  readonly #sessionId: string;
  readonly #view: View;
  readonly #giveUp = new AbortController();
  #turnId: string | null = null;
  #waiting = false;
  #interrupts = 0;
  #outcome: TurnOutcome = 'failed';

  constructor(conversation: Conversation, sessionId: string, view: View) {
    this.#conversation = conversation;
    this.#sessionId = sessionId;
    this.#view = view;
  }

  async run(message: string): Promise<TurnOutcome> {
    this.#view.begin();
    try {
      await this.#conversation.chat(this.#sessionId, message, this.#listener, this.#giveUp.signal);
      return this.#outcome;
    } catch (error) {
      return this.#ended(error);
    }
  }

  /** While it waits to be sent, the turn is given up; a reply is aborted; and whoever insists, leaves. */
  interrupt(): void {
    this.#interrupts++;
    if (this.#waiting || this.#interrupts > 1) this.#giveUp.abort();
    else void this.#abort();
  }

  /** Whether the turn waits for its time to be sent (or resumed). */
  wait(waiting: boolean): void {
    this.#waiting = waiting;
  }

  readonly #listener = {
    started: (turnId: string): void => {
      this.#turnId = turnId;
      if (this.#interrupts > 0) void this.#abort();
    },
    event: (event: Parameters<View['event']>[0], requestId: string | null): void => {
      this.#view.event(event, requestId);
      if (event.event === 'turn.completed') this.#outcome = 'completed';
      if (event.event === 'turn.aborted') this.#outcome = 'aborted';
      if (event.event === 'error') this.#outcome = overCodes.has((event.data as { code: string }).code) ? 'over' : 'failed';
    },
  };

  /** Until its first output a turn's id is known to its session alone. */
  async #abort(): Promise<void> {
    const { signal } = this.#giveUp;
    try {
      const turnId = this.#turnId ?? (await this.#conversation.session(this.#sessionId, signal)).active_turn_id ?? this.#turnId;
      if (turnId !== null) await this.#conversation.abort(this.#sessionId, turnId, signal);
    } catch (error) {
      if (!signal.aborted) this.#view.failed(error);
    }
  }

  #ended(error: unknown): TurnOutcome {
    if (this.#giveUp.signal.aborted) {
      this.#view.aborted();
      return this.#interrupts > 1 ? 'left' : 'aborted';
    }
    this.#view.failed(error);
    return error instanceof ApiFailure && overCodes.has(error.code) ? 'over' : 'failed';
  }
}
