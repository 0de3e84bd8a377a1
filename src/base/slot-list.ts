/** A list of objects in flight: adds and removes an object in constant time. */

export interface SlotListItem {
  /** Index of the object in its list; -1 while no list has it. An object is in one list at most. */
  slot: number;
}

/**
 * The items, in no order. Not a `Set`: V8 makes a new table whenever a set's table is full of removed items, and
 * the old table refers to the new one and to all its items at that time. Once one of these tables is in the old
 * generation, all later ones and their items survive every collection of the young generation, although nothing uses
 * them any more.
 */
export class SlotList<T extends SlotListItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Has no effect on an object that is in the list already. */
  add(item: T): void {
    if (!this.#has(item)) item.slot = this.#items.push(item) - 1;
  }

  /** Has no effect on an object that is not in the list. */
  delete(item: T): void {
    if (!this.#has(item)) return;
    const { slot } = item;
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#items[slot] = last;
      last.slot = slot;
    }
    item.slot = -1;
  }

  /** The items now; later additions and removals do not change the array. */
  all(): T[] {
    return [...this.#items];
  }

  #has(item: T): boolean {
    return item.slot >= 0 && this.#items[item.slot] === item;
  }
}
