/** The pieces of a spoken reply that wait for the store (contract 18). */
export class StoredPieces {
  readonly #waiting: { readonly points: number; readonly resolve: (stored: boolean) => void }[] = [];

  /** Resolves once the first `points` code points are stored, or with false if they never will be. */
  stored(points: number): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.push({ points, resolve }));
  }

  /** Resolves the pieces within the first `points` code points, which the store has. */
  keep(points: number): void {
    const waits = this.#waiting.findIndex((piece) => piece.points > points);
    // Removed all at once: removing the first of 100,000 pieces moves the others.
    for (const { resolve } of this.#waiting.splice(0, waits === -1 ? Infinity : waits)) resolve(true);
  }

  /** Rejects the rest: the store takes no more. */
  end(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }
}
