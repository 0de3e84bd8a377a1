/** The retry table (contract 10): whether a failed attempt is followed by another, and after what wait. */
import type { Clock } from './clock.ts';
import { ConnectionError, ParleyError, RateLimitError } from './failure.ts';

/**
 * When a request may be retried: `always` for a request that takes effect once, however often it is sent; `unanswered`
 * for one that would take effect twice, so only if no answer came; `stream` for a turn's events, which are requested
 * until new ones come.
 */
export type Repeats = 'always' | 'unanswered' | 'stream';

const attemptsMax = 3;
const waitsMax = 10;
/** Milliseconds for which an absent service, and a stream without a new event, are retried. */
const patienceMs = 60_000;
const backoffMs = 500;
const backoffMsMax = 8_000;

/** The history of one call. */
export class Patience {
  readonly #clock: Clock;
  readonly #repeats: Repeats;
  readonly #retryAfterMaxSeconds: number;
  /** Attempts that failed so far. */
  attempts = 0;
  #waits = 0;
  #faults = 0;
  #backoffs = 0;
  /** The first of the failures that end `patienceMs` later. */
  #since: number | null = null;

  constructor(clock: Clock, repeats: Repeats, retryAfterMaxSeconds: number) {
    this.#clock = clock;
    this.#repeats = repeats;
    this.#retryAfterMaxSeconds = retryAfterMaxSeconds;
  }

  /** A stream broke off. Returns whether it is the first time, when the next attempt need not wait. */
  cut(): boolean {
    const first = this.#since === null;
    this.#since ??= this.#clock.now();
    return first;
  }

  get streams(): boolean {
    return this.#repeats === 'stream';
  }

  /** Milliseconds left for retries; Infinity before the first failure that the limit counts from. */
  get leftMs(): number {
    return this.#since === null ? Infinity : this.#since + patienceMs - this.#clock.now();
  }

  /** Returns the wait before the next attempt in milliseconds; throws a failure that is not retried. */
  waitAfter(error: ParleyError): number {
    this.attempts++;
    const unanswered = error instanceof ConnectionError && !error.answered;
    const waitMs = this.#repeats === 'unanswered' && !unanswered ? null : this.#waitAfter(error);
    if (waitMs !== null) return waitMs;
    if (!this.streams || this.leftMs > 0) throw error;
    throw new ConnectionError(
      `The stream was cut, and no new event came through ${patienceMs / 1000} seconds of attempts.`,
      { cause: error },
    );
  }

  #waitAfter(error: ParleyError): number | null {
    if (error instanceof RateLimitError) return this.#waitOut(error.retryAfterSeconds);
    const lost = error instanceof ConnectionError;
    if ((lost && !this.streams) || error.status === 500)
      return ++this.#faults < attemptsMax && error.retryable ? this.#backoff() : null;
    if (!lost && !(error.status === 503 && error.retryable)) return null;
    this.#since ??= this.#clock.now();
    const { leftMs } = this;
    const leastMs = (error.retryAfterSeconds ?? 0) * 1000;
    return leftMs <= 0 || leastMs > leftMs ? null : Math.min(Math.max(this.#backoff(), leastMs), leftMs);
  }

  #waitOut(seconds: number): number | null {
    if (seconds > this.#retryAfterMaxSeconds || this.#waits++ >= waitsMax) return null;
    // A wait that the service asks for is no attempt.
    if (this.#since !== null) this.#since += seconds * 1000;
    return seconds * 1000;
  }

  /** Exponential with full jitter. */
  #backoff(): number {
    return this.#clock.random() * Math.min(backoffMsMax, backoffMs * 2 ** this.#backoffs++);
  }
}
