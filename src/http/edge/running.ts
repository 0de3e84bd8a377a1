import type { Clock } from '../../base/clock.ts';
import { SlotList, type SlotListItem } from '../../base/slot-list.ts';

/** Work that keeps an edge from ending until it ends or is cut. */
export interface Cuttable extends SlotListItem {
  cut(): void;
}

/** All open work of one edge: exchanges without a complete answer, and open sockets. */
export class Running {
  readonly #items = new SlotList<Cuttable>();
  #emptied: (() => void) | null = null;
  /** True once the edge is closing: from then on answers close their connections. */
  draining = false;

  add(item: Cuttable): void {
    this.#items.add(item);
  }

  delete(item: Cuttable): void {
    this.#items.delete(item);
    if (this.#items.size === 0) this.#emptied?.();
  }

  /** Resolves when no open work is left, or once `graceMs` milliseconds have passed and the rest has been cut. */
  drain(clock: Clock, graceMs: number): Promise<void> {
    this.draining = true;
    if (this.#items.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.after(graceMs, () => {
        for (const item of this.#items.all()) item.cut();
        resolve();
      });
      this.#emptied = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
