/** One request over Node's fetch, with the API's failures as errors. Shared by both clients of the command. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import { ApiFailure, CommandFailure, ConnectionFailure } from './failure.ts';

export interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined for no body. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** An answer as its JSON and as the text that it came in; both empty for 204. */
export interface Answer<T> {
  readonly body: T;
  readonly text: string;
}

/** Sends the request. Resolves with the head of a success; throws `ApiFailure`, `ConnectionFailure` or the signal's reason. */
export async function send(call: Call): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(call.url, {
      method: call.method,
      headers: call.body === undefined ? call.headers : { ...call.headers, 'content-type': 'application/json' },
      body: call.body === undefined ? null : JSON.stringify(call.body),
      redirect: 'manual',
      signal: call.signal ?? null,
    });
  } catch (error) {
    call.signal?.throwIfAborted();
    throw connectionFailure(call.url, error);
  }
  if (response.ok) return response;
  throw await apiFailure(response);
}

/** Sends the request and reads the whole answer, all within `commandAnswerMs`. */
export async function exchange<T>(call: Call, clock: Clock): Promise<Answer<T>> {
  const controller = new AbortController();
  const late = new ConnectionFailure(`${origin(call.url)} did not answer within ${limits.commandAnswerMs / 1000} seconds.`, true);
  const timer = clock.after(limits.commandAnswerMs, () => controller.abort(late));
  const signal = call.signal ? AbortSignal.any([call.signal, controller.signal]) : controller.signal;
  try {
    const response = await send({ ...call, signal });
    const text = await bodyText(call.url, response, signal);
    return { body: parsed(call.url, text) as T, text };
  } finally {
    timer.cancel();
  }
}

async function bodyText(url: string, response: Response, signal: AbortSignal): Promise<string> {
  try {
    return await response.text();
  } catch {
    signal.throwIfAborted();
    throw new ConnectionFailure(`The connection to ${origin(url)} was cut.`, true);
  }
}

function parsed(url: string, text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`What answers at ${origin(url)} is not parley.`);
  }
}

const origin = (url: string): string => new URL(url).origin;

/** System errors that come before the first byte is sent. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

function connectionFailure(url: string, error: unknown): ConnectionFailure {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const code = cause?.code ?? '';
  if (code === 'ECONNREFUSED') return new ConnectionFailure(`Nothing listens at ${origin(url)}. Start the server with \`parley serve\`, or name another with --url.`, false);
  if (neverSent.has(code)) return new ConnectionFailure(`${origin(url)} cannot be reached (${code}).`, false);
  return new ConnectionFailure(`The connection to ${origin(url)} failed (${code || cause?.message || String(error)}).`, true);
}

async function apiFailure(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => '');
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : null;
  const requestId = response.headers.get('x-request-id');
  const error = failureOf(text);
  if (error === null) {
    const message = `The server answered ${response.status} without an error that parley knows.`;
    return new ApiFailure(response.status, { code: '', message, requestId, text: null }, retryAfter);
  }
  return new ApiFailure(response.status, { ...error, requestId: requestId ?? error.requestId, text }, retryAfter);
}

function failureOf(text: string): { code: string; message: string; requestId: string | null } | null {
  try {
    const { error, request_id } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown }; request_id?: unknown };
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
    return { code: error.code, message: error.message, requestId: typeof request_id === 'string' ? request_id : null };
  } catch {
    return null;
  }
}
