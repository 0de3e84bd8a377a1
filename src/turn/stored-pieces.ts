/** The pieces of a spoken reply that wait for the store (contract 18). */
export class Supply {
  readonly #waiting: { readonly points: number; readonly resolve: (stored: boolean) => void }[] = [];

  /** Resolves once the first `points` code points are stored, or with false if they never will be. */
  stored(points: number): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.push({ points, resolve }));
  }

  /** The store has so many code points. */
  keep(points: number): void {
    const waits = this.#waiting.findIndex((piece) => piece.points > points);
    // All at once: to take the first of 100,000 pieces moves the others.
    for (const { resolve } of this.#waiting.splice(0, waits === -1 ? Infinity : waits)) resolve(true);
  }

  /** The store takes no more. */
  end(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }
}
