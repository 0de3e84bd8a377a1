/** Shows how long the client waits before it tries again. */
import type { Retry } from '../client/requester.ts';
import type { Clock, Timer } from '../clock.ts';

/** Called every second of a wait with the whole seconds left, and with 0 when it is over. */
export type Waiting = (failure: Error, secondsLeft: number) => void;

export class Countdown {
  readonly #clock: Clock;
  readonly #waiting: Waiting;
  #failure: Error | null = null;
  #due = 0;
  #timer: Timer | null = null;

  constructor(clock: Clock, waiting: Waiting) {
    this.#clock = clock;
    this.#waiting = waiting;
  }

  start({ error, waitMs }: Pick<Retry, 'error' | 'waitMs'>): void {
    this.stop();
    this.#failure = error;
    this.#due = this.#clock.monotonic() + waitMs;
    this.#tick();
  }

  /** The wait is over, or was given up. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#failure !== null) this.#waiting(this.#failure, 0);
    this.#failure = null;
  }

  #tick(): void {
    const left = this.#due - this.#clock.monotonic();
    if (left <= 0) return this.stop();
    this.#waiting(this.#failure!, Math.ceil(left / 1000));
    this.#timer = this.#clock.after(left % 1000 || 1000, () => this.#tick());
  }
}
