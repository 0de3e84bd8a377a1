/** Turns that another process runs: reading them as they grow, and waiting for one to be over. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Store, Turn, TurnPlace } from '../store.ts';
import { indexAfter } from '../text.ts';
import { terminalOf, TurnLog } from '../turn.ts';

export class ForeignTurns {
  readonly #store: Store;
  readonly #clock: Clock;
  /** One log for all readers of a turn in this process. */
  readonly #logs = new Map<string, TurnLog>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A log that grows as the store has more, for as long as anybody follows it. */
  async follow(place: TurnPlace): Promise<TurnLog> {
    const known = this.#logs.get(place.turnId);
    const log = known ?? new TurnLog();
    // A reader may come with a cursor that another process gave it, from beyond what was read here last.
    await this.#look(place, log);
    const other = this.#logs.get(place.turnId);
    if (other !== undefined) return other;
    if (log.terminal === null) {
      this.#logs.set(place.turnId, log);
      this.#again(place, log);
    }
    return log;
  }

  /** Resolves when the turn is over, or after `foreignStopMs`. */
  async stopped({ workspaceId, sessionId, turnId }: TurnPlace): Promise<void> {
    const until = this.#clock.monotonic() + limits.foreignStopMs;
    while (this.#clock.monotonic() < until) {
      const turn = await this.#store.turn(workspaceId, sessionId, turnId);
      if (turn === null || turn.status !== 'streaming') return;
      await new Promise<void>((resolve) => void this.#clock.after(limits.foreignPollMs, resolve));
    }
  }

  #again(place: TurnPlace, log: TurnLog): void {
    this.#clock.after(limits.foreignPollMs, () => {
      if (!log.followed) {
        this.#logs.delete(place.turnId);
        return;
      }
      this.#look(place, log).then(
        () => (log.terminal === null ? this.#again(place, log) : this.#logs.delete(place.turnId)),
        () => {
          this.#logs.delete(place.turnId);
          log.close({ type: 'failed', errorCode: 'api_error' });
        },
      );
    });
  }

  /** The turn is read before its text: one that is over has all its text by then. */
  async #look(place: TurnPlace, log: TurnLog): Promise<void> {
    const turn: Turn | null = await this.#store.turn(place.workspaceId, place.sessionId, place.turnId);
    if (turn !== null) {
      const text = await this.#store.output(place);
      const fresh = text.slice(indexAfter(text, log.length));
      if (fresh !== '') {
        log.append(fresh);
        log.take();
        log.commit(log.pieces.length);
      }
    }
    log.withdrawn = turn === null;
    const terminal = turn === null ? ({ type: 'failed', errorCode: 'assistant_unavailable' } as const) : terminalOf(turn);
    if (terminal !== null) log.close(terminal);
  }
}
