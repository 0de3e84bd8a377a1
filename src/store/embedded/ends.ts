/** Names with the time at which each ends, in the order of these times: a sorted set in memory. */

interface Entry {
  readonly name: string;
  readonly endMs: number;
}

export class Ends {
  readonly #ends = new Map<string, number>();
  /** The first to end stands first. */
  readonly #sorted: Entry[] = [];

  get size(): number {
    return this.#ends.size;
  }

  get(name: string): number | undefined {
    return this.#ends.get(name);
  }

  /** The end of the name that is the `index`th to end; of the last one, if `index` is -1. */
  at(index: number): number | undefined {
    return this.#sorted.at(index)?.endMs;
  }

  set(name: string, endMs: number): void {
    this.delete(name);
    this.#ends.set(name, endMs);
    this.#sorted.splice(this.#place({ name, endMs }), 0, { name, endMs });
  }

  delete(name: string): void {
    const endMs = this.#ends.get(name);
    if (endMs === undefined) return;
    this.#sorted.splice(this.#place({ name, endMs }), 1);
    this.#ends.delete(name);
  }

  /** Removes the entries that have ended; returns their names. */
  drop(nowMs: number): string[] {
    if (this.#sorted.length === 0 || this.#sorted[0]!.endMs > nowMs) return [];
    const over = this.#sorted.splice(0, this.#place({ name: '', endMs: nowMs + 1 }));
    for (const { name } of over) this.#ends.delete(name);
    return over.map(({ name }) => name);
  }

  /** Removes the entries that end after `latestMs`; returns their names. */
  dropAfter(latestMs: number): string[] {
    if (this.#sorted.length === 0 || this.#sorted.at(-1)!.endMs <= latestMs) return [];
    const later = this.#sorted.splice(this.#place({ name: '', endMs: latestMs + 1 }));
    for (const { name } of later) this.#ends.delete(name);
    return later.map(({ name }) => name);
  }

  /** Position of an entry, or the position at which it would be inserted. */
  #place({ name, endMs }: Entry): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#sorted[middle]!;
      if (entry.endMs < endMs || (entry.endMs === endMs && entry.name < name)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
