/** Turns that another process runs: this process reads them as they grow, and waits for their ends. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { StoreUnavailable, type OutputAfter, type Store, type TurnPlace } from '../store/store.ts';
import { textBehind } from '../base/text.ts';
import { outputWithCalls, type SettledMessage } from './pending-tool-calls.ts';
import { terminalOf, TurnLog, type TurnEnd } from './log.ts';

/**
 * Milliseconds within which the owner of a turn knows whether its end is stored, or has withdrawn it: more than a step
 * may take.
 */
export const remoteBegunMs = 2_500;
/** Milliseconds beyond its lease within which a turn is sealed that its owner has abandoned. */
export const remoteSealMs = 1_500;

/** A turn that is followed, with one log for all its readers in this process. */
interface Followed {
  readonly place: TurnPlace;
  readonly log: TurnLog;
  /** The message whose calls the turn has answered. */
  readonly settled: SettledMessage;
  /** Set until the next poll; null while a poll is under way. */
  timer: Timer | null;
  /** A notice came while a poll was under way; the poll may have read the turn before the change. */
  moved: boolean;
  /** The time since which the store has not answered, in monotonic milliseconds; null while it answers. */
  awayAt: number | null;
  /** Called once the store has been away for longer than a request may wait. */
  readonly gaveUp: Set<() => void>;
}

export class RemoteTurns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #followed = new Map<string, Followed>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A log that grows with the stored turn for as long as it has followers. */
  async follow(place: TurnPlace): Promise<TurnLog> {
    const followed = this.#followed.get(place.turnId);
    const log = followed?.log ?? new TurnLog();
    // A reader may come with a cursor from another process, beyond the text that this process has read.
    const settled = followed?.settled ?? {};
    await this.#look(place, log, settled);
    if (followed !== undefined && log.terminal === forgotten) {
      // The log holds text that a failover lost. A new reader must not see text that is in no transcript.
      this.#leave(followed);
      return this.follow(place);
    }
    const other = this.#followed.get(place.turnId);
    if (other !== undefined) return other.log;
    if (log.terminal === null) {
      const followed: Followed = { place, log, settled, timer: null, moved: false, awayAt: null, gaveUp: new Set() };
      this.#followed.set(place.turnId, followed);
      this.#rest(followed, limits.remotePollMs);
    }
    return log;
  }

  /** Polls at once: the turn has more output, or has ended. */
  wake(turnId: string): void {
    const followed = this.#followed.get(turnId);
    if (followed === undefined) return;
    if (followed.timer === null) followed.moved = true;
    else void this.#visit(followed);
  }

  wakeAll(): void {
    for (const turnId of this.#followed.keys()) this.wake(turnId);
  }

  /**
   * Waits until a turn that was found in the store has certainly begun; resolves with false if it was withdrawn. The
   * store may have text of the turn although its owner got no answer: the owner then answers 503 and withdraws it. More
   * text shows that the owner of a streaming turn is alive. The lease of a dead owner runs out, and the turn is sealed
   * or withdrawn soon after. `endedAt` is when the turn ended, null if it streamed when it was found. The owner of a
   * turn that has just ended has `remoteBegunMs` to withdraw it. After that the turn is claimed, so that its owner can
   * no longer withdraw it. Rejects with `StoreUnavailable` if the store does not answer.
   */
  async awaitBeginning(place: TurnPlace, log: TurnLog, endedAt: number | null): Promise<boolean> {
    await this.#awaitMove(place.turnId, log, Infinity, () => log.shown > 0);
    const first = log.shown;
    const { leaseMs } = this.#store;
    if (leaseMs === null || log.withdrawn) return !log.withdrawn;
    await this.#awaitMove(place.turnId, log, leaseMs + remoteSealMs, () => log.shown > first);
    if (log.withdrawn || log.shown > first || log.terminal === null) return !log.withdrawn;
    const sinceMs = endedAt === null ? 0 : this.#clock.now() - (endedAt + 1) * 1000;
    if (sinceMs < remoteBegunMs)
      await new Promise<void>((resolve) => void this.#clock.after(remoteBegunMs - Math.max(0, sinceMs), resolve));
    return this.#store.turns.claim(place);
  }

  /**
   * Resolves once `isThere` is true, the log is final, or `withinMs` has passed. Rejects once polls have failed for
   * `redisCallMs`.
   */
  #awaitMove(turnId: string, log: TurnLog, withinMs: number, isThere: () => boolean): Promise<void> {
    const isOver = (): boolean => isThere() || log.terminal !== null || log.cutOff;
    if (isOver()) return Promise.resolve();
    const gaveUp = this.#followed.get(turnId)?.gaveUp;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        timer?.cancel();
        leave();
        gaveUp?.delete(fail);
      };
      const end = (): void => {
        stop();
        resolve();
      };
      const fail = (): void => {
        stop();
        reject(new StoreUnavailable('The turn that the request joined cannot be read. Repeat the request.'));
      };
      const leave = log.follow(() => void (isOver() && end()));
      const timer = withinMs === Infinity ? null : this.#clock.after(withinMs, end);
      gaveUp?.add(fail);
    });
  }

  /** Resolves when the turn has ended, or after `withinMs`. */
  async awaitStop({ workspaceId, sessionId, turnId }: TurnPlace, withinMs: number): Promise<void> {
    const until = this.#clock.monotonic() + withinMs;
    while (this.#clock.monotonic() < until) {
      const turn = await this.#store.turns.read(workspaceId, sessionId, turnId);
      if (turn === null || turn.status !== 'streaming') return;
      await new Promise<void>((resolve) => void this.#clock.after(limits.remotePollMs, resolve));
    }
  }

  #rest(followed: Followed, waitMs: number): void {
    followed.timer = this.#clock.after(waitMs, () => {
      if (followed.log.followed) void this.#visit(followed);
      else this.#pause(followed);
    });
  }

  /** Stops polling a log without followers, after a pause: a new reader may have sent other output first. */
  #pause(followed: Followed): void {
    this.#leave(followed);
    followed.log.onFollowed = () => {
      this.#followed.set(followed.place.turnId, followed);
      void this.#visit(followed);
    };
  }

  #leave(followed: Followed): void {
    followed.timer?.cancel();
    const { turnId } = followed.place;
    if (this.#followed.get(turnId) === followed) this.#followed.delete(turnId);
  }

  async #visit(followed: Followed): Promise<void> {
    const { place, log, settled } = followed;
    followed.timer?.cancel();
    followed.timer = null;
    let grown = false;
    const askedAt = this.#clock.monotonic();
    try {
      do {
        followed.moved = false;
        grown = await this.#look(place, log, settled);
        followed.awayAt = null;
      } while (followed.moved && log.terminal === null);
    } catch (error) {
      // Polls continue while the store is away: only the store knows the turn's end. A fault in the program is not
      // repaired by a retry.
      if (error instanceof StoreUnavailable) this.#away(followed, askedAt);
      else log.cut();
    }
    if (log.terminal === null && !log.cutOff) this.#rest(followed, grown ? limits.remotePollMs : limits.remoteSilentMs);
    else this.#leave(followed);
  }

  /** Requests that wait for the turn get 503 within two seconds; its readers continue to wait. */
  #away(followed: Followed, askedAt: number): void {
    followed.awayAt ??= askedAt;
    if (this.#clock.monotonic() - followed.awayAt < limits.redisCallMs - limits.remoteSilentMs) return;
    for (const fail of [...followed.gaveUp]) fail();
  }

  /**
   * Appends new text and the turn's end to the log; resolves with whether there was new text. Concurrent polls append
   * each piece once.
   */
  async #look(place: TurnPlace, log: TurnLog, settled: SettledMessage): Promise<boolean> {
    const from = log.length;
    const output = await outputWithCalls(this.#store, place, from, settled);
    // The text beyond the output that other polls appended meanwhile; null if this poll read less.
    const fresh = textBehind(output?.text ?? '', log.length - from);
    if (fresh || output?.calls !== undefined) log.add(fresh ?? '', output?.calls ?? none);
    log.withdrawn = output === null;
    const terminal = output === null ? gone(log) : terminalEnd(output, fresh !== null);
    if (terminal !== null) log.close(terminal);
    return Boolean(fresh);
  }
}

const none: readonly never[] = [];

/**
 * The end of a turn that a failover lost, wholly or in its last text: the assistant did not fail, and the text that was
 * read has no end.
 */
const forgotten: TurnEnd = { type: 'failed', errorCode: 'api_error' };

/** A turn that is not stored any more was withdrawn; if it had output already, a failover lost it. */
const gone = (log: TurnLog): TurnEnd =>
  log.length === 0 ? { type: 'failed', errorCode: 'assistant_unavailable' } : forgotten;

/**
 * The end of the turn; null while it streams. The stored end belongs to the text that was read only if the stored text
 * `reaches` that far.
 */
function terminalEnd({ turn, text, calls }: OutputAfter, reaches: boolean): TurnEnd | null {
  if (text === null) return forgotten;
  const terminal = terminalOf(turn, calls);
  return terminal !== null && !reaches ? forgotten : terminal;
}
