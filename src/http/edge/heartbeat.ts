/**
 * Pings the peer of a socket, and drops a peer that leaves pings unanswered, also if it sends other data (contract 8).
 */
import type { Clock, Timer } from '../../base/clock.ts';

/**
 * Pings in a row without an answer before the peer is dropped. They are counted, not timed: after a pause of the whole
 * process the answers are read before the next ping.
 */
const unansweredMax = 3;

export class Heartbeat {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #ping: () => void;
  readonly #drop: () => void;
  #unanswered = 0;
  #timer: Timer;

  /** `silentMs`: how long a peer may answer no ping. */
  constructor(clock: Clock, silentMs: number, ping: () => void, drop: () => void) {
    this.#clock = clock;
    this.#everyMs = silentMs / unansweredMax;
    this.#ping = ping;
    this.#drop = drop;
    this.#timer = this.#next();
  }

  /** The peer has answered a ping. */
  noteAnswer(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    this.#timer.cancel();
  }

  #next(): Timer {
    return this.#clock.after(this.#everyMs, () => {
      if (this.#unanswered === unansweredMax) return this.#drop();
      this.#unanswered++;
      this.#ping();
      this.#timer = this.#next();
    });
  }
}
