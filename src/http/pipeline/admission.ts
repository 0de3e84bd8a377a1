/**
 * Admits a few requests per iteration of the event loop while many are under way. Of many that arrive together (the
 * clients of a crowd whose turns ended at one beat) the first are then answered while others wait; otherwise each step
 * would run for all of them before the next step ran for any, and all would be answered at the end. Likewise the bodies
 * parsed in an iteration are bounded in bytes, or one: parsing a large body takes milliseconds.
 */
import { atTurnEnd } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';

/** Below it every request begins at once. */
const runningFew = 16;
const perTurn = 8;

/**
 * Entries that were taken are removed together, since to remove one moves all others: all at the end, and this many
 * from a queue that never empties.
 */
const takenMax = 1024;

class Queue<T> {
  #entries: T[] = [];
  #taken = 0;

  get size(): number {
    return this.#entries.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#entries[this.#taken];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  /** Removes the first entry. */
  take(): void {
    this.#taken++;
    if (this.size > 0 && this.#taken <= takenMax) return;
    this.#entries.splice(0, this.#taken);
    this.#taken = 0;
  }
}

interface WaitingBody {
  readonly bytes: number;
  parse(): void;
}

export class Admission {
  #running = 0;
  readonly #waiting = new Queue<() => void>();
  /** Bytes of the bodies that are parsed in this turn. */
  #parsedBytes = 0;
  readonly #bodies = new Queue<WaitingBody>();

  /** Returns if the request may begin now; otherwise resolves when it may. */
  enter(): Promise<void> | void {
    if (this.#running < runningFew && this.#waiting.size === 0) this.#running++;
    else {
      if (this.#waiting.size === 0) atTurnEnd(() => this.#admit());
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
  }

  /** A request is answered, or its stream has begun. */
  leave(): void {
    this.#running--;
  }

  /** Returns if a body of so many bytes may be parsed now; otherwise resolves when it may, after those that wait. */
  body(bytes: number): Promise<void> | void {
    if (this.#bodies.size > 0 || !this.#fits(bytes)) return new Promise((parse) => this.#bodies.push({ bytes, parse }));
    if (this.#parsedBytes === 0) atTurnEnd(() => this.#parse());
    this.#parsedBytes += bytes;
  }

  #fits(bytes: number): boolean {
    return this.#parsedBytes === 0 || this.#parsedBytes + bytes <= limits.parsedBytesPerTurn;
  }

  #parse(): void {
    this.#parsedBytes = 0;
    for (let next = this.#bodies.first; next !== undefined && this.#fits(next.bytes); next = this.#bodies.first) {
      this.#bodies.take();
      this.#parsedBytes += next.bytes;
      next.parse();
    }
    if (this.#parsedBytes > 0) atTurnEnd(() => this.#parse());
  }

  #admit(): void {
    for (let left = Math.min(perTurn, this.#waiting.size); left > 0; left--) {
      const begin = this.#waiting.first!;
      this.#waiting.take();
      this.#running++;
      begin();
    }
    if (this.#waiting.size > 0) atTurnEnd(() => this.#admit());
  }
}
