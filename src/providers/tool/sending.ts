/** Sends a call to a tool of any kind: within its time, and again where the contract allows it (contract 13). */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { ToolError } from '../../base/tool-errors.ts';
import type { ModelFailure } from '../model.ts';
import type { ToolAccess, ToolResult } from '../tool.ts';

/** The end of one try; `again`: the tool has not got the call, or may have it twice. */
export interface Sent {
  readonly result: ToolResult;
  readonly again: 'never' | 'unsent' | 'repeatable';
}

/** A tool's address as it was entered: as a base URL alone it would lose the slash at its end. */
export function addressOf({ url }: ToolAccess): { readonly baseUrl: string; readonly path: string } {
  const { origin, pathname } = new URL(url);
  return { baseUrl: origin, path: pathname };
}

export type CutReason = 'aborted' | 'timeout';

/** Starts one try; `end` may be called several times, and the first counts. Returns how to cut it. */
export type Try = (end: (sent: Sent) => void) => (why: CutReason) => void;

/** Waits before the second and the third try, in milliseconds. */
const pausesMs = [250, 1000] as const;
/** A pause that took so much longer: the process stood still, and another may have taken the turn over. */
const stillMs = limits.leaseMs / 2;

/** Sends a call. `stands`: see `AskedCall`. Never rejects. */
export async function sendWithin(
  clock: Clock,
  { timeoutSeconds, repeatable }: ToolAccess,
  signal: AbortSignal,
  start: Try,
  stands = async () => true,
): Promise<ToolResult> {
  const until = clock.monotonic() + timeoutSeconds * 1000;
  let mayHaveActed = false;
  for (let tries = 1; ; tries++) {
    const { result: newest, again } = await sendOnce(clock, until, signal, start);
    mayHaveActed ||= newest.status === 'failed' && newest.didNotAct !== true;
    // A try before may have reached the tool, although this one did not.
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
    const isLate = (): boolean => clock.monotonic() >= Math.min(until, dueAt + stillMs);
    // Another process may have sealed the turn, and its notice may be on its way.
    const goesOn = !signal.aborted && !isLate() && (await stands().catch(() => false));
    if (signal.aborted) return { status: 'cancelled' };
    if (!goesOn || isLate()) return result;
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

/** Knowledge about a failure beside its error. */
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
/** Failures among them that another try would meet again. */
const lasting: ReadonlySet<ModelFailure> = new Set(['address', 'http2', 'credential']);
/** Statuses after which a repeatable call is sent again. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Whether a status says that nothing was done: a refusal of the request. 408 may come from a gateway that gave up
 * waiting for the tool.
 */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 408;

export interface SentFailure extends Pick<Sent, 'again'> {
  readonly error: ToolError;
  readonly didNotAct: boolean;
}

/** A failed request, as a call's error. */
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
