/** The store for tests and the simulation: it lasts as long as the process. */
import type { Clock } from '../base/clock.ts';
import type { Store } from './store.ts';
import { EmbeddedStore } from './embedded.ts';
import { applyChange, type Engine, type Row, type Write } from './engine.ts';
import { SortedMap } from './sorted.ts';

/** Rows in memory. They outlive `close`, so that one engine can be opened again as a later process would open it. */
export class MemoryEngine implements Engine {
  readonly name = 'memory';
  readonly #rows = new SortedMap<Uint8Array>();

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  get(key: string): Uint8Array | undefined {
    return this.#rows.get(key);
  }

  range(from: string, to: string, reverse: boolean): Iterable<Row> {
    return this.#rows.range(from, to, reverse);
  }

  async write(rows: Iterable<Write>): Promise<void> {
    for (const [key, change] of rows) {
      const value = applyChange(this.#rows.get(key), change);
      if (value === null) this.#rows.delete(key);
      else this.#rows.set(key, value);
    }
  }

  /** Lets only other promises go first: a simulation needs every order of events to follow from its seed. */
  async pause(): Promise<void> {}
}

export const memoryStore = (clock?: Clock): Store => new EmbeddedStore(new MemoryEngine(), clock);
