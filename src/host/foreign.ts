/** Turns that another process runs: reading them as they grow, and waiting for one to be over. */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { OutputAfter, Store, TurnPlace } from '../store.ts';
import { textBehind } from '../text.ts';
import { terminalOf, TurnLog, type Terminal } from '../turn.ts';

/** One log for all readers of a turn in this process. */
interface Followed {
  readonly place: TurnPlace;
  readonly log: TurnLog;
  /** Until the next look; null while one is under way. */
  timer: Timer | null;
  /** A notice came while a look was under way, which may have been too early to see what it told of. */
  moved: boolean;
}

export class ForeignTurns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #followed = new Map<string, Followed>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A log that grows as the store has more, for as long as anybody follows it. */
  async follow(place: TurnPlace): Promise<TurnLog> {
    const known = this.#followed.get(place.turnId);
    const log = known?.log ?? new TurnLog();
    // A reader may come with a cursor that another process gave it, from beyond what was read here last.
    await this.#look(place, log);
    if (known !== undefined && log.terminal === forgotten) {
      // Who comes now must not be shown what stands in no transcript.
      this.#leave(known);
      return this.follow(place);
    }
    const other = this.#followed.get(place.turnId);
    if (other !== undefined) return other.log;
    if (log.terminal === null) {
      const followed: Followed = { place, log, timer: null, moved: false };
      this.#followed.set(place.turnId, followed);
      this.#rest(followed, limits.foreignPollMs);
    }
    return log;
  }

  /** Looks at once: the turn has more, or is over. */
  wake(turnId: string): void {
    const followed = this.#followed.get(turnId);
    if (followed === undefined) return;
    if (followed.timer === null) followed.moved = true;
    else void this.#visit(followed);
  }

  wakeAll(): void {
    for (const turnId of this.#followed.keys()) this.wake(turnId);
  }

  /** Resolves when the turn is over, or after so long. */
  async stopped({ workspaceId, sessionId, turnId }: TurnPlace, withinMs: number): Promise<void> {
    const until = this.#clock.monotonic() + withinMs;
    while (this.#clock.monotonic() < until) {
      const turn = await this.#store.turn(workspaceId, sessionId, turnId);
      if (turn === null || turn.status !== 'streaming') return;
      await new Promise<void>((resolve) => void this.#clock.after(limits.foreignPollMs, resolve));
    }
  }

  #rest(followed: Followed, waitMs: number): void {
    followed.timer = this.#clock.after(waitMs, () => {
      if (followed.log.followed) void this.#visit(followed);
      else this.#leave(followed);
    });
  }

  #leave(followed: Followed): void {
    followed.timer?.cancel();
    const { turnId } = followed.place;
    if (this.#followed.get(turnId) === followed) this.#followed.delete(turnId);
  }

  async #visit(followed: Followed): Promise<void> {
    const { place, log } = followed;
    followed.timer?.cancel();
    followed.timer = null;
    let grown = false;
    try {
      do {
        followed.moved = false;
        grown = await this.#look(place, log);
      } while (followed.moved && log.terminal === null);
    } catch {
      log.close({ type: 'failed', errorCode: 'api_error' });
    }
    if (log.terminal === null) this.#rest(followed, grown ? limits.foreignPollMs : limits.foreignSilentMs);
    else this.#leave(followed);
  }

  /** Takes over what is new: whether anything was. Several looks at a time take over each piece once. */
  async #look(place: TurnPlace, log: TurnLog): Promise<boolean> {
    const from = log.length;
    const found = await this.#store.outputAfter(place, from);
    // Behind what other looks took over while this one was under way; null where it saw less than that.
    const fresh = textBehind(found?.text ?? '', log.length - from);
    if (fresh) {
      log.append(fresh);
      log.take();
      log.commit(log.pieces.length);
    }
    log.withdrawn = found === null;
    const terminal = found === null ? gone(log) : endOf(found, fresh !== null);
    if (terminal !== null) log.close(terminal);
    return Boolean(fresh);
  }
}

/** For a turn that a failover forgot, wholly or in its last text: no verdict on the assistant, and no end of what was read. */
const forgotten: Terminal = { type: 'failed', errorCode: 'api_error' };

/** A turn that is gone was withdrawn; if it had output already, it was forgotten. */
const gone = (log: TurnLog): Terminal => (log.length === 0 ? { type: 'failed', errorCode: 'assistant_unavailable' } : forgotten);

/** How the turn ended; null while it streams. Its end is that of what was read only if its text `reaches` so far. */
function endOf({ turn, text }: OutputAfter, reaches: boolean): Terminal | null {
  if (text === null) return forgotten;
  const terminal = terminalOf(turn);
  return terminal !== null && !reaches ? forgotten : terminal;
}
