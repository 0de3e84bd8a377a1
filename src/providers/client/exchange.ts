/** One request and its answer, with bounds on the waiting. */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { ModelFailure } from '../model.ts';
import { failureOfStatus } from './failures.ts';
import type { ProviderConnection, ConnectionUser } from './connection.ts';
import type { ResponseHead } from './head.ts';
import type { Pool } from './pool.ts';
import type { Target } from './target.ts';

/** Milliseconds from sending on a kept connection to its loss within which the request is sent once more. */
export const providerRepeatMsMax = 1_000;

export interface ProviderBounds {
  /** From the name look-up to the end of the TLS handshake, in milliseconds. */
  readonly connectMs: number;
  /** Milliseconds without a byte of the response. */
  readonly silenceMs: number;
  /** From `outputEnded` or `release` to the end of the answer, in milliseconds. */
  readonly graceMs: number;
  /** Bytes of an unwanted body that are read so that its connection can be reused. */
  readonly errorBytesMax: number;
}

/**
 * Receives one answer: a head, data, then `ended`; or `failed` at any point. Gets no call after `release` or `cancel`.
 */
export interface ProviderListener {
  /**
   * The answer's status is 2xx. Content type and coding are in lower case, empty if absent; `whole` has what few
   * callers need.
   */
  head(contentType: string, contentEncoding: string, whole: ResponseHead): void;
  /** The bytes are overwritten after the call. */
  data(chunk: Buffer): void;
  ended(): void;
  /**
   * `status` is the answer's status if that is the failure, else null; `said` the beginning of its body, of a status
   * that leaves open what was wrong, else empty; `location` the address that a redirect names, else empty;
   * `retryAfter` the header of that name, else empty.
   */
  failed(failure: ModelFailure, status: number | null, errorText: string, location: string, retryAfter: string): void;
}

export interface ProviderRequest {
  /** The caller reports that the first output has come: a silence from now on is another failure. */
  outputBegan(): void;
  /**
   * The caller reports that it has all of the output: the rest has the grace to come, from now on and however much it
   * is.
   */
  outputEnded(): void;
  /** The caller needs no more; the rest is discarded within a bound, so that the connection can be kept. */
  release(): void;
  /** Closes the connection at once. */
  cancel(): void;
  /** Stops reading the answer until `resume`; bytes that have arrived already may still be reported. */
  hold(): void;
  resume(): void;
}

/** The statuses whose bodies may name what a provider refuses; a gateway without an endpoint that takes it says 404. */
const tellsWhy: ReadonlySet<number> = new Set([400, 404, 413, 422, 500]);

/** State of the exchange: `open` calls the listener, `draining` discards data, `closed` has ended. */
export class ProviderExchange implements ConnectionUser, ProviderRequest {
  readonly #clock: Clock;
  readonly #bounds: ProviderBounds;
  readonly #listener: ProviderListener;
  readonly #pool: Pool;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #connection: ProviderConnection | null = null;
  /** Sends the request once more; null when that is not allowed any more. */
  #repeat: (() => void) | null = null;
  #sentAt = 0;
  #timer: Timer;
  #timerDue: number;
  #began = false;
  #isHeld = false;
  #quietSince: number;
  /** Time at which the grace period ends; null before `outputEnded` and `release`. */
  #graceUntil: number | null = null;
  #drained = 0;
  /** A refusal whose body comes; the listener hears of both together. */
  #refusal: (Pick<ResponseHead, 'status' | 'location' | 'retryAfter'> & { errorText: string }) | null = null;

  constructor(clock: Clock, bounds: ProviderBounds, pool: Pool, listener: ProviderListener) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#pool = pool;
    this.#listener = listener;
    this.#quietSince = clock.monotonic();
    this.#timerDue = this.#quietSince + bounds.silenceMs;
    this.#timer = clock.after(bounds.silenceMs, () => this.#checkDeadlines());
  }

  /**
   * Sends the request. `once`: uses a new connection for this request alone, whose loss is always reported. `mayWrite`:
   * see `ProviderPost`.
   */
  send(target: Target, request: Buffer, once = false, mayWrite?: () => Promise<boolean>): void {
    this.#repeat = once ? null : () => this.#send(target, request, true);
    this.#send(target, request, once, mayWrite);
  }

  fail(failure: ModelFailure, status: number | null): void {
    if (this.#state !== 'open') return;
    this.cancel();
    this.#listener.failed(failure, status, '', '', '');
  }

  outputBegan(): void {
    this.#began = true;
  }

  outputEnded(): void {
    if (this.#state !== 'open') return;
    this.#began = true;
    this.#grant();
  }

  release(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#connection?.resume();
    this.#grant();
  }

  cancel(): void {
    const connection = this.#connection;
    this.#refusal = null;
    this.#close();
    connection?.destroy();
  }

  /** Stops reading. Silence does not count against the provider while the caller does not read. */
  hold(): void {
    this.#isHeld = true;
    this.#connection?.hold();
  }

  resume(): void {
    this.#isHeld = false;
    this.#quietSince = this.#clock.monotonic();
    if (this.#graceUntil !== null) this.#grant();
    this.#connection?.resume();
  }

  head(head: ResponseHead): void {
    const { status, contentType, contentEncoding, location, retryAfter } = head;
    this.#repeat = null;
    if (this.#state !== 'open') return;
    this.#quietSince = this.#clock.monotonic();
    if (status < 300) return this.#listener.head(contentType, contentEncoding, head);
    this.release();
    this.#refusal = { status, location, retryAfter, errorText: '' };
    if (!tellsWhy.has(status)) this.#tellRefusal();
  }

  #tellRefusal(): void {
    const refusal = this.#refusal;
    if (refusal === null) return;
    this.#refusal = null;
    const { status, errorText, location, retryAfter } = refusal;
    this.#listener.failed(failureOfStatus(status), status, errorText, location, retryAfter);
  }

  data(chunk: Buffer): void {
    if (this.#state === 'open') {
      this.#quietSince = this.#clock.monotonic();
      this.#listener.data(chunk);
    } else {
      this.#drained += chunk.length;
      if (this.#refusal !== null) {
        // Names and words of such bodies are looked for in ASCII alone.
        this.#refusal.errorText += chunk.toString('latin1');
        if (this.#refusal.errorText.length > limits.providerRefusalCharactersMax) this.#tellRefusal();
      }
      if (this.#drained <= this.#bounds.errorBytesMax) return;
      this.#tellRefusal();
      this.cancel();
    }
  }

  ended(): void {
    const open = this.#state === 'open';
    this.#close();
    this.#tellRefusal();
    if (open) this.#listener.ended();
  }

  /**
   * A server may close a kept connection just when a request is on its way: then the request is sent once more, on a
   * new connection. HTTP promises that only for idempotent requests, because the client cannot know that a request did
   * not run, and a model call that runs twice is paid for twice. So it is done only where it is almost certain: no byte
   * of an answer came, and the loss showed within one round trip, whereas a server that dies while it handles a request
   * has had the request for longer.
   */
  failed(failure: ModelFailure, unheard: boolean): void {
    const repeat = this.#repeat;
    this.#connection = null;
    const soon = this.#clock.monotonic() - this.#sentAt <= providerRepeatMsMax;
    if (unheard && soon && repeat !== null && this.#state === 'open') return repeat();
    this.fail(failure, null);
    this.#close();
    this.#tellRefusal();
  }

  #send(target: Target, request: Buffer, fresh: boolean, mayWrite?: () => Promise<boolean>): void {
    if (this.#state !== 'open') return;
    this.#connection = this.#pool.take(target, fresh);
    if (this.#connection === null) return this.fail('connect', null);
    this.#sentAt = this.#clock.monotonic();
    this.#connection.send(request, this, mayWrite);
  }

  #close(): void {
    this.#state = 'closed';
    this.#connection = null;
    this.#repeat = null;
    this.#timer.cancel();
  }

  /** A timer that fires too early checks the time again, so only one that would fire too late is set anew. */
  #grant(): void {
    this.#graceUntil = this.#clock.monotonic() + this.#bounds.graceMs;
    if (this.#graceUntil < this.#timerDue) this.#arm(this.#graceUntil);
  }

  #arm(due: number): void {
    this.#timer.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.monotonic(), () => this.#checkDeadlines());
  }

  /** A chunk only notes its time; when the timer fires, it computes how much of the wait is left. */
  #checkDeadlines(): void {
    const now = this.#clock.monotonic();
    if (this.#isHeld && this.#state === 'open')
      return this.#arm(now + Math.min(this.#bounds.silenceMs, this.#bounds.graceMs));
    const due = this.#graceUntil ?? this.#quietSince + this.#bounds.silenceMs;
    if (due > now) return this.#arm(due);
    if (this.#state !== 'open') {
      this.#tellRefusal();
      return this.cancel();
    }
    this.fail(this.#began ? 'idle_timeout' : 'first_output_timeout', null);
  }
}
