/**
 * While many requests are under way, a few begin in each turn of the event loop. Of many that come at once (the clients of a crowd whose
 * turns ended at one beat) the first are then answered while others wait; otherwise each step would be made for all of them before the
 * next one is made for any, and all would be answered at the end.
 */
import { atTurnEnd } from '../clock.ts';

/** Below it every request begins at once. */
const runningFew = 16;
const perTurn = 8;

export class Admission {
  #running = 0;
  #waiting: (() => void)[] = [];

  /** Returns if the request may begin now; otherwise resolves when it may. */
  enter(): Promise<void> | void {
    if (this.#running < runningFew && this.#waiting.length === 0) this.#running++;
    else {
      if (this.#waiting.length === 0) atTurnEnd(() => this.#admit());
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
  }

  /** A request is answered, or its stream has begun. */
  left(): void {
    this.#running--;
  }

  #admit(): void {
    for (const resolve of this.#waiting.splice(0, perTurn)) {
      this.#running++;
      resolve();
    }
    if (this.#waiting.length > 0) atTurnEnd(() => this.#admit());
  }
}
