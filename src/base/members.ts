/** Objects in flight: a list to which objects are added, and from which they are removed, all the time. */

export interface Member {
  /** The object's place in its list; -1 while it is in none. An object is in one list at most. */
  place: number;
}

/**
 * The members, in no order. Not a `Set`: V8 makes a new table whenever a set's table is full of removed members, and
 * the old table refers to the new one and to all that were members then. Once one of these tables is in the old
 * generation, all later ones and their members survive every collection of the young generation, although nothing uses
 * them any more.
 */
export class Members<T extends Member> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Has no effect on an object that is a member already. */
  add(member: T): void {
    if (!this.#has(member)) member.place = this.#members.push(member) - 1;
  }

  /** Has no effect on an object that is no member. */
  delete(member: T): void {
    if (!this.#has(member)) return;
    const { place } = member;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = -1;
  }

  /** The members now; later additions and removals do not change the array. */
  all(): T[] {
    return [...this.#members];
  }

  #has(member: T): boolean {
    return member.place >= 0 && this.#members[member.place] === member;
  }
}
