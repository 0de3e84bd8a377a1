/** One request and its answer, with bounds on the waiting. */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { ModelFailure } from '../model.ts';
import { failureOfStatus } from './failures.ts';
import type { Connection, ConnectionUser } from './connection.ts';
import type { ResponseHead } from './head.ts';
import type { Pool } from './pool.ts';
import type { Target } from './target.ts';

export interface ProviderBounds {
  /** From the name look-up to the end of the TLS handshake, in milliseconds. */
  readonly connectMs: number;
  /** From the request to `outputBegan`, in milliseconds. */
  readonly firstOutputMs: number;
  /** Between two pieces of the answer after `outputBegan`, in milliseconds. */
  readonly idleMs: number;
  /** How many bytes of an unwanted body are read so that its connection can be reused. */
  readonly errorBytesMax: number;
}

/** Receives one answer: a head, data, then `ended`; or `failed` at any point. Gets no call after `release` or `cancel`. */
export interface ProviderListener {
  /** The answer's status is 2xx. Content type and coding are in lower case, empty if absent. */
  head(contentType: string, contentEncoding: string): void;
  /** The bytes are overwritten after the call. */
  data(chunk: Buffer): void;
  ended(): void;
  /** `status` is the answer's status if that is the failure, else null. */
  failed(failure: ModelFailure, status: number | null): void;
}

export interface ProviderCall {
  /** The caller reports that the first output has come: from now on the idle bound applies. */
  outputBegan(): void;
  /** The caller needs no more; the rest is discarded within a bound, so that the connection can be kept. */
  release(): void;
  /** Closes the connection at once. */
  cancel(): void;
  /** Stops reading the answer until `resume`; bytes that have arrived already may still be reported. */
  hold(): void;
  resume(): void;
}

/** `open` calls the listener, `draining` discards data, `closed` is over. */
export class Exchange implements ConnectionUser, ProviderCall {
  readonly #clock: Clock;
  readonly #bounds: ProviderBounds;
  readonly #listener: ProviderListener;
  readonly #pool: Pool;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #connection: Connection | null = null;
  /** Sends the request once more; null when that is not allowed any more. */
  #repeat: (() => void) | null = null;
  #sentAt = 0;
  #timer: Timer;
  #timerDue: number;
  #began = false;
  #held = false;
  #quietSince: number;
  #drained = 0;

  constructor(clock: Clock, bounds: ProviderBounds, pool: Pool, listener: ProviderListener) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#pool = pool;
    this.#listener = listener;
    this.#quietSince = clock.monotonic();
    this.#timerDue = this.#quietSince + bounds.firstOutputMs;
    this.#timer = clock.after(bounds.firstOutputMs, () => this.#due());
  }

  send(target: Target, request: Buffer): void {
    this.#repeat = () => this.#send(target, request, true);
    this.#send(target, request, false);
  }

  fail(failure: ModelFailure, status: number | null): void {
    if (this.#state !== 'open') return;
    this.cancel();
    this.#listener.failed(failure, status);
  }

  outputBegan(): void {
    if (this.#began || this.#state !== 'open') return;
    this.#began = true;
    this.#quietSince = this.#clock.monotonic();
    this.#wait(this.#quietSince + this.#bounds.idleMs);
  }

  release(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#connection?.resume();
    this.#wait(this.#quietSince + this.#bounds.idleMs);
  }

  cancel(): void {
    const connection = this.#connection;
    this.#close();
    connection?.destroy();
  }

  /** While the caller does not read, the provider's silence is not its own. */
  hold(): void {
    this.#held = true;
    this.#connection?.hold();
  }

  resume(): void {
    this.#held = false;
    this.#quietSince = this.#clock.monotonic();
    this.#connection?.resume();
  }

  head({ status, contentType, contentEncoding }: ResponseHead): void {
    this.#repeat = null;
    if (this.#state !== 'open') return;
    this.#quietSince = this.#clock.monotonic();
    if (status < 300) return this.#listener.head(contentType, contentEncoding);
    this.release();
    this.#listener.failed(failureOfStatus(status), status);
  }

  data(chunk: Buffer): void {
    if (this.#state === 'open') {
      this.#quietSince = this.#clock.monotonic();
      this.#listener.data(chunk);
    } else {
      this.#drained += chunk.length;
      if (this.#drained > this.#bounds.errorBytesMax) this.cancel();
    }
  }

  ended(): void {
    const open = this.#state === 'open';
    this.#close();
    if (open) this.#listener.ended();
  }

  /**
   * A server may close a kept connection just when a request is on its way: then the request is sent once more, on a new
   * connection. HTTP promises that only for idempotent requests, because the client cannot know that a request did not run, and a
   * model call that runs twice is paid for twice. So it is done only where it is almost certain: no byte of an answer came, and
   * the loss showed within one round trip, whereas a server that dies while it handles a request has had the request for longer.
   */
  failed(failure: ModelFailure, unheard: boolean): void {
    const repeat = this.#repeat;
    this.#connection = null;
    const soon = this.#clock.monotonic() - this.#sentAt <= limits.providerRepeatMsMax;
    if (unheard && soon && repeat !== null && this.#state === 'open') return repeat();
    this.fail(failure, null);
    this.#close();
  }

  #send(target: Target, request: Buffer, fresh: boolean): void {
    if (this.#state !== 'open') return;
    this.#connection = this.#pool.take(target, fresh);
    if (this.#connection === null) return this.fail('connect', null);
    this.#sentAt = this.#clock.monotonic();
    this.#connection.send(request, this);
  }

  #close(): void {
    this.#state = 'closed';
    this.#connection = null;
    this.#repeat = null;
    this.#timer.cancel();
  }

  /** A timer that fires too early checks the time again, so only one that would fire too late is set anew. */
  #wait(due: number): void {
    if (due >= this.#timerDue) return;
    this.#arm(due);
  }

  #arm(due: number): void {
    this.#timer.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.monotonic(), () => this.#due());
  }

  /** A chunk only notes its time; when the timer fires, it computes how much of the wait is left. */
  #due(): void {
    const waiting = this.#began || this.#state === 'draining';
    if (this.#held && this.#state === 'open') return this.#arm(this.#clock.monotonic() + this.#bounds.idleMs);
    const due = waiting ? this.#quietSince + this.#bounds.idleMs : this.#timerDue;
    if (due > this.#clock.monotonic()) return this.#arm(due);
    if (this.#state !== 'open') return this.cancel();
    this.fail(this.#began ? 'idle_timeout' : 'first_output_timeout', null);
  }
}
