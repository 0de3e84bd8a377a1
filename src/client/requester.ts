/** Sends the calls of one client: attempts, the waits between them, and what all calls have in common. */
import { newIdempotencyKey, pause, type Clock } from './clock.ts';
import { ConnectionError, ParleyError, RateLimitError } from './failure.ts';
import { Gates, type Budgets } from './gates.ts';
import {
  untilAborted,
  failureOf,
  jsonOf,
  sendAttempt,
  strange,
  type Answer,
  type Attempt,
  type Fetch,
} from './http.ts';
import { Patience, type Repeats } from './patience.ts';
import type { SocketClass } from './socket.ts';
import type { LinkOptions, Visit } from './visit.ts';
import { onWake } from './wake.ts';

/** The last argument of every call. */
export interface CallOptions {
  /** Ends every wait of the call at once, which then rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** For one attempt: until its head came, and all of an answer that is no stream. */
  timeoutMs?: number;
}

/** Options of the calls that take effect each time they are sent. */
export interface OnceOptions extends CallOptions {
  /**
   * Instead of the key that the client makes: one of the caller's own, 1 to 255 printable ASCII characters, remembered
   * for 24 hours.
   */
  idempotencyKey?: string;
}

export interface Retry {
  /** The number of the attempt that failed, from 1. */
  attempt: number;
  /** The wait before the next attempt. */
  waitMs: number;
  error: ParleyError;
}

export interface RequesterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch | undefined;
  /** Milliseconds; by default the timeout of the call. */
  readonly timeoutMs: number | undefined;
  readonly silenceMs: number;
  readonly idempotency: 'auto' | 'off';
  readonly retryAfterMaxSeconds: number;
  readonly onRetry: ((retry: Retry) => void) | undefined;
  readonly clock: Clock;
  readonly WebSocket: SocketClass | undefined;
  /** The caller is a visitor of this link. */
  readonly link: LinkOptions | null;
}

export interface Call extends CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly budgets?: Budgets;
  /** For a visitor's call: the token to send, or null for none; by default the visitor's own. */
  readonly token?: string | null;
  /** The time limit of an attempt where the caller set none. */
  readonly defaultTimeoutMs?: number;
}

/** A call that does its work each time it comes. */
export interface OnceCall extends Call {
  /** The same, where it is sent without a key. */
  readonly unkeyedTimeoutMs?: number;
}

const requestsAlone: Budgets = ['requests'];
const timeoutMsDefault = 30_000;
/** The least time of the last attempt for a stream, however little is left for all attempts. */
const lastAttemptMs = 1000;

export class Requester {
  readonly options: RequesterOptions;
  readonly #root: string;
  readonly #gates: Gates;
  #visit: Promise<Visit> | null = null;

  constructor(options: RequesterOptions) {
    this.options = options;
    const { url, link, clock } = options;
    this.#root = link === null ? url : `${url}/p/${encodeURIComponent(link.slug)}`;
    this.#gates = new Gates(clock, link === null);
  }

  /** Throws for a caller that is no visitor. */
  visit(): Promise<Visit> {
    const { link } = this.options;
    if (link === null) throw new TypeError('There is no `link`.');
    return (this.#visit ??= import('./visit.ts').then(
      ({ Visit }) => new Visit(link, (object, call, token) => this.json(object, { ...call, token })),
    ));
  }

  patience(repeats: Repeats): Patience {
    return new Patience(this.options.clock, repeats, this.options.retryAfterMaxSeconds);
  }

  /** A call that may be sent any number of times. Resolves with the JSON object whose field `object` has this value. */
  json<T>(object: string, call: Call): Promise<T> {
    return this.run(call, this.patience('always'), (answer) => jsonOf<T>(answer, object).finally(answer.close));
  }

  jsonOnce<T>(object: string, call: OnceCall, idempotencyKey: string | undefined): Promise<T> {
    return this.runOnce(call, idempotencyKey, (answer) => jsonOf<T>(answer, object).finally(answer.close));
  }

  /**
   * A call that does its work each time it comes: with an `Idempotency-Key`, made here once for all attempts, it may be
   * sent again freely; without one only where no answer came.
   */
  runOnce<T>(
    { unkeyedTimeoutMs, ...call }: OnceCall,
    idempotencyKey: string | undefined,
    read: (answer: Answer) => Promise<T>,
  ): Promise<T> {
    const key = idempotencyKey ?? (this.options.idempotency === 'auto' ? newIdempotencyKey() : undefined);
    if (key === undefined)
      return this.run(
        { ...call, ...(unkeyedTimeoutMs && { defaultTimeoutMs: unkeyedTimeoutMs }) },
        this.patience('unanswered'),
        read,
      );
    return this.run({ ...call, headers: { ...call.headers, 'idempotency-key': key } }, this.patience('always'), read);
  }

  /** Makes attempts until `read` accepts an answer, or a failure is not worth another attempt. */
  async run<T>(call: Call, patience: Patience, read: (answer: Answer) => Promise<T>): Promise<T> {
    const { budgets = requestsAlone, signal } = call;
    for (;;) {
      signal?.throwIfAborted();
      // The request for a token has its own attempts, and its failure fails this request.
      const naming = this.#tokenOf(call);
      const token = await (signal === undefined ? naming : untilAborted(naming, signal));
      this.#refuseLongWait(budgets);
      await this.#gates.enter(budgets, signal);
      try {
        return await this.#attempt(call, token, budgets, patience, read);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        await this.backOff(error, patience, signal);
      }
    }
  }

  /**
   * Waits as the failure requires, or throws it. After a 429 the next attempt waits in the gate of its budget anyway.
   */
  async backOff(error: unknown, patience: Patience, signal: AbortSignal | undefined): Promise<void> {
    if (!(error instanceof ParleyError)) throw error;
    const waitMs = patience.waitAfter(error);
    this.options.onRetry?.({ attempt: patience.attempts, waitMs, error });
    if (error instanceof RateLimitError) return;
    await pause(this.options.clock, waitMs, signal, error instanceof ConnectionError ? onWake : undefined);
  }

  /** The visitor's; null for a call without one. */
  async #tokenOf({ token }: Call): Promise<string | null> {
    return token === undefined && this.options.link !== null ? (await this.visit()).token() : (token ?? null);
  }

  async #attempt<T>(
    call: Call,
    token: string | null,
    budgets: Budgets,
    patience: Patience,
    read: (answer: Answer) => Promise<T>,
  ): Promise<T> {
    const answer = await sendAttempt(this.#fetch, this.options.clock, this.#attemptOf(call, patience, token));
    try {
      const { status, headers } = answer.response;
      if (status !== 429) {
        this.#gates.note(budgets, headers, null);
        return await read(answer);
      }
      const failure = failureOf(answer, await answer.within(answer.response.text())) ?? strange(answer);
      this.#gates.note(budgets, headers, failure instanceof RateLimitError ? failure.retryAfterSeconds * 1000 : null);
      throw failure;
    } catch (error) {
      answer.close();
      if (token !== null && error instanceof ParleyError && error.code === 'invalid_token')
        (await this.visit()).forget(token);
      throw error;
    }
  }

  #attemptOf(
    { method = 'GET', path, query = {}, headers, body, signal, ...call }: Call,
    patience: Patience,
    token: string | null,
  ): Attempt {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== null) parameters.set(name, String(value));
    const text = parameters.toString();
    const url = this.#root + path + (text === '' ? '' : `?${text}`);
    const timeoutMs = call.timeoutMs ?? this.options.timeoutMs ?? call.defaultTimeoutMs ?? timeoutMsDefault;
    const withinMs = patience.streams ? Math.min(timeoutMs, Math.max(patience.leftMs, lastAttemptMs)) : timeoutMs;
    const own = token === null ? this.options.headers : { ...this.options.headers, authorization: `Bearer ${token}` };
    return { method, url, headers: { ...own, ...headers }, body, signal, timeoutMs: withinMs };
  }

  /** A wait that is too long is thrown at once, also if another call got it. */
  #refuseLongWait(budgets: Budgets): void {
    const seconds = Math.ceil(this.#gates.shutMs(budgets) / 1000);
    if (seconds <= this.options.retryAfterMaxSeconds || seconds <= 0) return;
    const fields = {
      code: 'rate_limited',
      type: 'rate_limit_error',
      status: 429,
      requestId: null,
      retryable: true,
      retryAfterSeconds: seconds,
    } as const;
    throw new RateLimitError(`Rate limit exceeded. Retry in ${seconds} seconds.`, fields);
  }

  get #fetch(): Fetch {
    return this.options.fetch ?? globalThis.fetch;
  }
}
