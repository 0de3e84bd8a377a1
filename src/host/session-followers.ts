/** Callbacks of this process for sessions that it follows, by session. Called when a notice says that one has moved. */
export class SessionFollowers {
  readonly #followers = new Map<string, Set<() => void>>();

  /** Calls back with each move of the session that the store notifies; returns a function that stops it. */
  follow(sessionId: string, moved: () => void): () => void {
    const followers = this.#followers.get(sessionId) ?? new Set();
    this.#followers.set(sessionId, followers.add(moved));
    return () => {
      if (followers.delete(moved) && followers.size === 0) this.#followers.delete(sessionId);
    };
  }

  wake(sessionId: string): void {
    for (const moved of [...(this.#followers.get(sessionId) ?? [])]) moved();
  }

  wakeAll(): void {
    for (const sessionId of [...this.#followers.keys()]) this.wake(sessionId);
  }
}
