/** Requests to the console's API. A failure is an `ApiFailure`, which says what happened and under which request id. */
import { pause, realClock } from '../../client/clock.ts';
import { onWake } from '../../client/wake.ts';
import { after, now } from './clock.ts';
import { forgetPerson, isLocked, whenSignedIn } from './person.ts';

export const base = '/console/api';

/**
 * Milliseconds until a read without a response head counts as a dead connection. A write has no such limit: a turn of a
 * trial answers with its first words.
 */
const readMs = 30_000;

export class ApiFailure extends Error {
  /** 0 where no answer came. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** Seconds after which the request may be sent again. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, message: string, requestId: string | null, retryAfter: number | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Resolves with the whole answer, for streams and exports; rejects with an `ApiFailure`. */
export async function request(
  path: string,
  { method, body, signal, headers = {} }: ApiRequest = {},
): Promise<Response> {
  let response: Response;
  const late = new AbortController();
  const inTime = (method ?? 'GET') === 'GET' && body === undefined ? after(readMs, () => late.abort()) : () => {};
  try {
    response = await fetch(base + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiFailure(0, 'no_answer', 'The server did not answer.', null, null);
  } finally {
    inTime();
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (failure.status === 401 && failure.code !== 'invalid_token') forgetPerson();
  throw failure;
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const requestId = response.headers.get('x-request-id');
  const retryAfter = Number(response.headers.get('retry-after')) || null;
  const body: { error?: { code?: string; message?: string } } = await response.json().catch(() => ({}));
  const code = body.error?.code ?? 'api_error';
  return new ApiFailure(
    response.status,
    code,
    body.error?.message ?? `The server answered with ${response.status}.`,
    requestId,
    retryAfter,
  );
}

/** The answer's JSON; undefined where it has no body. */
export async function ask<Answer = void>(path: string, options: ApiRequest = {}): Promise<Answer> {
  const response = await request(path, options);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** Returns what a person can do about a failure. */
export function adviceOn({ status, code }: ApiFailure): string {
  if (status === 0) return 'Check that the server runs and that the network is there. Nothing was lost.';
  if (status === 429) return 'Nothing was changed.';
  if (code === 'role_not_permitted') return 'An owner can change your role on the page People.';
  if (code === 'tests_not_passed') return 'Run all tests of the assistant on this draft first.';
  if (code === 'voice_unavailable')
    return 'Its provider failed, is not offered by this server, or lacks its credential.';
  if (code === 'assistant_unavailable')
    return 'Its provider failed or refused. Test its credential; the log of the server has the cause.';
  if (status === 503) return 'The server or its store is away for a moment. Try again.';
  if (status >= 500) return 'The log of the server has the cause under this request id.';
  if (status === 404) return 'It was deleted meanwhile, or belongs to another workspace.';
  if (status === 409) return 'Its state has changed meanwhile. Reload to see the present one.';
  return 'Correct what it names and try again.';
}

/** Returns `?a=1&b=2` of the fields that are neither null nor empty. */
export function query(fields: Readonly<Record<string, string | number | null | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/**
 * Retries a read until the server is reachable again, at once and then with a growing backoff, and until a person whose
 * sign-in has ended is back.
 */
export async function patiently<Answer>(read: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      return await read();
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401 && isLocked.peek()) {
        await whenSignedIn(signal);
        continue;
      }
      const passing = error instanceof ApiFailure && (error.status === 0 || error.status === 503);
      if (!passing || signal.aborted) throw error;
      const until = now() + wait;
      await pause(realClock, wait, signal, onWake);
      if (now() < until) wait = 500;
    }
  }
}
