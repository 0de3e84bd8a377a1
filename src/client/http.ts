/** One attempt of one request: over `fetch`, within its time, with every failure as an error of ours. */
import type { Clock } from './clock.ts';
import { ConnectionError, ParleyError, RateLimitError } from './failure.ts';
import type { ErrorCode, ErrorType } from './types.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Attempt {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined for no body. */
  readonly body?: unknown;
  /** The time limit for the head, and for all of an answer that is no stream, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer; its body is not read yet. */
export interface Answer {
  readonly response: Response;
  readonly url: string;
  /** Aborted when the answer is closed, or by the caller's signal with its reason. */
  readonly signal: AbortSignal;
  /** Ends the time limit; the rest of the answer may take any time. */
  keep(): void;
  /** Resolves as the promise, unless the time limit ends or the caller's signal is aborted first. */
  within<T>(promise: Promise<T>): Promise<T>;
  /** Drops the rest of the answer, the timer and the signal. */
  close(): void;
}

/** Sends the request. Resolves with the head of any response; rejects with `ConnectionError` or the signal's reason. */
export async function sendAttempt(fetch: Fetch, clock: Clock, attempt: Attempt): Promise<Answer> {
  const { method, url, headers, body, timeoutMs, signal } = attempt;
  signal?.throwIfAborted();
  const ended = new AbortController();
  const stop = (): void => ended.abort(signal!.reason);
  signal?.addEventListener('abort', stop, { once: true });
  let answered = false;
  const late = (): void =>
    ended.abort(
      new ConnectionError(`${originOf(url)} did not answer within ${timeoutMs / 1000} seconds.`, {
        origin: originOf(url),
        answered,
      }),
    );
  const keep = clock.after(timeoutMs, late);
  const close = (): void => {
    keep();
    signal?.removeEventListener('abort', stop);
    ended.abort();
  };
  const within = async <T>(promise: Promise<T>): Promise<T> => {
    try {
      return await untilAborted(promise, ended.signal);
    } catch (cause) {
      if (ended.signal.aborted) throw ended.signal.reason;
      throw new ConnectionError(`The connection to ${originOf(url)} ${answered ? 'was cut' : 'failed'}.`, {
        origin: originOf(url),
        answered,
        cause,
      });
    }
  };
  try {
    const json = body !== undefined && { 'content-type': 'application/json' };
    const init: RequestInit = { method, headers: { ...headers, ...json }, redirect: 'manual', signal: ended.signal };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await within(fetch(url, init));
    answered = true;
    return { response, url, signal: ended.signal, keep, within, close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * The promise's value, unless the signal is aborted first: a caller's own `fetch` may ignore it, and others may wait
 * for the same promise.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/**
 * The body of a success as the JSON object that it must be; throws the answer's failure otherwise. `object` is the
 * value that its field `object` has.
 */
export async function jsonOf<T>(answer: Answer, object: string): Promise<T> {
  const text = await answer.within(answer.response.text());
  if (!answer.response.ok) throw failureOf(answer, text) ?? strange(answer);
  const body = parseJson(text) as { object?: unknown; data?: unknown } | null;
  if (body?.object !== object || (object === 'list' && !Array.isArray(body.data))) throw strange(answer);
  return body as T;
}

/** Throws the failure that the answer is, unless it is a success of this content type. */
export async function mustBe(answer: Answer, contentType: string): Promise<void> {
  const { response } = answer;
  if (!response.ok) throw failureOf(answer, await answer.within(response.text())) ?? strange(answer);
  if (!response.headers.get('content-type')?.startsWith(contentType)) throw strange(answer);
}

/** The error of an answer that is no success; null if the answer is not the API's. */
export function failureOf(
  { response: { status, headers } }: Pick<Answer, 'response'>,
  text: string,
): ParleyError | null {
  const { error, request_id } = (parseJson(text) ?? {}) as {
    error?: Record<string, unknown> | null;
    request_id?: unknown;
  };
  const { type, code, message } = error ?? {};
  // A proxy between client and service answers 502 and 504, and any body of another shape.
  if (
    status === 502 ||
    status === 504 ||
    typeof type !== 'string' ||
    typeof code !== 'string' ||
    typeof message !== 'string'
  )
    return null;
  const seconds = Number(headers.get('retry-after') ?? NaN);
  const retryAfterSeconds = seconds >= 0 ? seconds : null;
  const fields = {
    code: code as ErrorCode,
    type: type as ErrorType,
    status,
    requestId: typeof request_id === 'string' ? request_id : headers.get('x-request-id'),
    field: fieldOf(message),
    retryable: status === 429 || ((status === 500 || status === 503) && code === 'api_error'),
    retryAfterSeconds,
  };
  return status === 429
    ? new RateLimitError(message, { ...fields, retryAfterSeconds: retryAfterSeconds ?? 1 })
    : new ParleyError(message, fields);
}

/** An answer that is not the API's counts as its 500 (contract 10). */
export function strange({ response: { ok, status, headers }, url }: Pick<Answer, 'response' | 'url'>): ParleyError {
  const message = ok
    ? `What answers at ${originOf(url)} is not parley.`
    : `The server answered ${status} without an error that parley knows.`;
  return new ParleyError(message, {
    code: 'api_error',
    type: 'api_error',
    status: 500,
    requestId: headers.get('x-request-id'),
    retryable: true,
  });
}

/** The field that a message names first: `visitor.email` of "The field `visitor.email` is required." */
const fieldOf = (message: string): string | null => /`([^`]*)`/.exec(message)?.[1] ?? null;

/** Returns null for a text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const originOf = (url: string): string => /^\w+:\/\/[^/?#]*/.exec(url)?.[0] ?? 'The server';
