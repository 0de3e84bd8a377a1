/**
 * Sends a tool call to a tool of any kind within its time, with retries where the contract allows them (contract 13).
 */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { ToolError } from '../../base/tool-errors.ts';
import type { ModelFailure } from '../model.ts';
import type { ToolAccess, ToolResult } from '../tool.ts';

/** Outcome of one try; `again`: the tool has not received the tool call, or may receive it twice. */
export interface Sent {
  readonly result: ToolResult;
  readonly again: 'never' | 'unsent' | 'repeatable';
}

/** Address of a tool as it was entered: a base URL alone would lose its trailing slash. */
export function addressOf({ url }: Pick<ToolAccess, 'url'>): { readonly baseUrl: string; readonly path: string } {
  const { origin, pathname } = new URL(url);
  return { baseUrl: origin, path: pathname };
}

export type CutReason = 'aborted' | 'timeout';

/** Starts one try; `end` may be called several times, and the first counts. Returns a function that cuts the try. */
export type Try = (end: (sent: Sent) => void) => (why: CutReason) => void;

/** Milliseconds before the second and the third try. */
const pausesMs = [250, 1000] as const;
/**
 * Milliseconds by which a pause may be late. After a longer delay the process was suspended, and another may have taken
 * the turn over.
 */
const stillMs = limits.leaseMs / 2;

/** Sends a tool call. Never rejects. */
export async function sendWithin(
  clock: Clock,
  { timeoutSeconds, repeatable }: ToolAccess,
  signal: AbortSignal,
  start: Try,
): Promise<ToolResult> {
  const until = clock.monotonic() + timeoutSeconds * 1000;
  let mayHaveActed = false;
  for (let tries = 1; ; tries++) {
    const { result: newest, again } = await sendOnce(clock, until, signal, start);
    mayHaveActed ||= newest.status === 'failed' && newest.didNotAct !== true;
    // An earlier try may have reached the tool, although this one did not.
    const result =
      newest.status === 'failed' && mayHaveActed ? failed(newest.error, { refusalText: newest.refusalText }) : newest;
    const pauseMs = pausesMs[tries - 1];
    const allowed = again === 'unsent' || (again === 'repeatable' && repeatable);
    const dueAt = pauseMs === undefined ? Infinity : clock.monotonic() + pauseMs;
    if (!allowed || pauseMs === undefined || signal.aborted || dueAt >= until) return result;
    await new Promise<void>((resolve) => {
      clock.after(pauseMs, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (signal.aborted) return { status: 'cancelled' };
    if (clock.monotonic() >= Math.min(until, dueAt + stillMs)) return result;
  }
}

function sendOnce(clock: Clock, until: number, signal: AbortSignal, start: Try): Promise<Sent> {
  if (signal.aborted) return Promise.resolve({ result: { status: 'cancelled' }, again: 'never' });
  return new Promise((resolve) => {
    const end = (sent: Sent): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      resolve(sent);
    };
    const cut = start(end);
    const abort = (): void => {
      end({ result: { status: 'cancelled' }, again: 'never' });
      cut('aborted');
    };
    const timer = clock.after(Math.max(1, until - clock.monotonic()), () => {
      end({ result: failed('timeout'), again: 'never' });
      cut('timeout');
    });
    signal.addEventListener('abort', abort, { once: true });
  });
}

/** Details of a failure beside its error. */
export interface FailureDetail {
  readonly didNotAct?: boolean | undefined;
  readonly refusalText?: string | undefined;
}

export const failed = (error: ToolError, { didNotAct, refusalText }: FailureDetail = {}): ToolResult => ({
  status: 'failed',
  error,
  ...(didNotAct === true && { didNotAct }),
  ...(refusalText && { refusalText }),
});

/** Failures before any byte of the request was written. */
const unwritten: ReadonlySet<ModelFailure> = new Set(['connect', 'proxy', 'address', 'http2', 'credential']);
/** Failures among them that a retry would meet again. */
const lasting: ReadonlySet<ModelFailure> = new Set(['address', 'http2', 'credential']);
/** Statuses after which a repeatable tool call is retried. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Whether a status refuses the request, so that the tool did not act. 408 is excluded: a gateway may send it after it
 * stopped waiting for the tool.
 */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 408;

export interface SentFailure extends Pick<Sent, 'again'> {
  readonly error: ToolError;
  readonly didNotAct: boolean;
}

/** Error of a tool call for a failed request. */
export function sentOfFailure(failure: ModelFailure, status: number | null): SentFailure {
  if (status !== null)
    return { error: 'refused', again: passing.has(status) ? 'repeatable' : 'never', didNotAct: isRefusal(status) };
  if (unwritten.has(failure))
    return {
      error: failure === 'credential' ? 'refused' : 'unreachable',
      again: lasting.has(failure) ? 'never' : 'unsent',
      didNotAct: true,
    };
  if (failure === 'malformed') return { error: 'malformed', again: 'never', didNotAct: false };
  return {
    error: failure === 'first_output_timeout' || failure === 'idle_timeout' ? 'timeout' : 'unreachable',
    again: 'repeatable',
    didNotAct: false,
  };
}
