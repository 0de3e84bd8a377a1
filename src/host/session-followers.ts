/**
 * The readers of sessions in this process, by session: each is called when a notice says that its session has moved.
 * Both numbers of readers are bounded.
 */
import { limits } from '../base/limits.ts';

export class SessionFollowers {
  readonly #followers = new Map<string, Set<() => void>>();
  #count = 0;

  get size(): number {
    return this.#count;
  }

  /**
   * Calls back with each move of the session that the store notifies; returns a function that stops it. Null while the
   * session or the process has as many followers as it may have.
   */
  follow(sessionId: string, moved: () => void): (() => void) | null {
    const followers = this.#followers.get(sessionId) ?? new Set();
    if (followers.size >= limits.sessionStreamsMax || this.#count >= limits.streamsOfSessionsMax) return null;
    this.#followers.set(sessionId, followers.add(moved));
    this.#count++;
    return () => {
      if (!followers.delete(moved)) return;
      this.#count--;
      if (followers.size === 0) this.#followers.delete(sessionId);
    };
  }

  wake(sessionId: string): void {
    for (const moved of [...(this.#followers.get(sessionId) ?? [])]) moved();
  }

  wakeAll(): void {
    for (const sessionId of [...this.#followers.keys()]) this.wake(sessionId);
  }
}
