/** The turns of a process, as its live actors. */
import { SlotList } from '../base/slot-list.ts';
import type { TurnRunner } from './runner.ts';

/**
 * The turns of this process as live actors: turns in flight, and turns that another process has taken over, until their
 * end is known here. They are neither discarded nor passivated: each ends.
 */
export class LiveTurns {
  readonly inFlight = new SlotList<TurnRunner>();
  readonly #followed = new SlotList<TurnRunner>();
  /** Followers of the turns that begin, by session. */
  readonly #told = new Map<string, Set<(runner: TurnRunner) => void>>();

  /**
   * Calls back with each turn of the session that begins in this process, before it has any output; returns a function
   * that stops it.
   */
  onBegun(sessionId: string, tell: (runner: TurnRunner) => void): () => void {
    const followers = this.#told.get(sessionId) ?? new Set();
    this.#told.set(sessionId, followers.add(tell));
    return () => {
      if (followers.delete(tell) && followers.size === 0) this.#told.delete(sessionId);
    };
  }

  begun(sessionId: string, runner: TurnRunner): void {
    for (const tell of this.#told.get(sessionId) ?? []) tell(runner);
  }

  get size(): number {
    return this.inFlight.size + this.#followed.size;
  }

  residents(): TurnRunner[] {
    return [...this.inFlight.all(), ...this.#followed.all()];
  }

  /** Removes a turn that this process no longer runs. */
  leave(runner: TurnRunner): void {
    this.inFlight.delete(runner);
    if (runner.hasEnded) return;
    this.#followed.add(runner);
    void runner.ended.then(() => this.#followed.delete(runner));
  }

  followed(turnId: string): TurnRunner | undefined {
    return this.#followed.all().find((runner) => runner.turnId === turnId);
  }

  /** The owning process's view of a turn is authoritative: messages of other processes do not change it. */
  find(): undefined {}

  discard(): void {}

  clear(): void {}
}
