/** How a turn ends, what its runner does outside itself, and which faults are counted as ours. */
import type { TurnFault } from '../metrics.ts';
import type { ModelFailure, ModelUsage } from '../model.ts';
import { StoreUnavailable } from '../store.ts';
import type { Terminal } from '../turn.ts';

/** What ends a turn. Time limit, output limit, drain and store faults are ours: `api_error`. */
export type TurnOutcome =
  | { status: 'completed'; stopReason: 'end'; errorCode: null }
  | { status: 'aborted'; stopReason: 'aborted'; errorCode: null }
  | { status: 'failed'; stopReason: 'error'; errorCode: 'assistant_unavailable' | 'api_error' }
  | { status: 'failed'; stopReason: 'expired'; errorCode: 'session_expired' };

export const outcomes = {
  completed: { status: 'completed', stopReason: 'end', errorCode: null },
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  provider: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' },
  late: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
  drain: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
  ours: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const satisfies Record<string, TurnOutcome>;

/** The runner's effects, implemented by the host. Each rejects with `StoreUnavailable` if the store does not answer. */
export interface TurnEffects {
  /**
   * Whether a rejected step may have been applied all the same. It may where several processes share the store; there a lease
   * bounds how long the turn may wait. With a single owner of the store a rejection is certain.
   */
  readonly unsure: boolean;
  append(position: number, text: string): Promise<'stored' | 'fenced'>;
  /**
   * Seals the turn with its last output, or with the stored output if `tail` is null; resolves with the counted tokens. Rejects
   * with a `RangeError` if the store has lost output before `tail`.
   */
  finish(outcome: TurnOutcome, tail: { position: number; text: string } | null, usage: ModelUsage | null, length: number): Promise<'fenced' | ModelUsage>;
  /**
   * Undoes the turn and whatever is stored of it. Resolves with true once that is done, or with false if the store did not answer;
   * then it is retried in the background. Never rejects.
   */
  withdraw(): Promise<boolean>;
  /**
   * How a turn that another process took over ended, once that is stored, and its text behind `position`; null if the turn or the
   * text before `position` is not stored any more. `unknown` if the end is not stored yet and `wanted` returns false.
   */
  fate(position: number, wanted: () => boolean): Promise<Fate | null | 'unknown'>;
  /** Called when this process no longer runs the turn. */
  left(): void;
  /** Reports a failure of the provider to the log and the metrics. */
  providerFailed(reason: ModelFailure): void;
  /** Reports a fault that is not the provider's: called once, with the first fault and the error that was thrown, if any. */
  ourFault(reason: TurnFault, cause: unknown): void;
  /** The turn is sealed, withdrawn, or ended by another process; called once. */
  over(status: TurnOutcome['status'] | 'withdrawn'): void;
}

export interface Fate {
  readonly terminal: Terminal;
  readonly text: string;
}

/** Why a turn is stopped. `late`: its time limit; `drain`: the process ends. For these two the client gets `api_error`. */
export type Stop = 'aborted' | 'expired' | 'late' | 'drain';

/**
 * The answer to a request that waits for the turn: the turn began (text is stored, or the turn is sealed), it failed before its
 * first output, its time ran out before that, or the service is unavailable. In all cases but the first the turn leaves nothing
 * behind.
 */
export type Begun = { kind: 'begun' } | { kind: 'withdrawn' } | { kind: 'late' } | { kind: 'unavailable' };

/** The name that a fault is counted under. If the store rejects a position, it has lost the text before it. */
export function faultOf(error: unknown): TurnFault {
  if (error instanceof StoreUnavailable) return 'store_away';
  return error instanceof RangeError ? 'store_forgot' : 'error';
}

export const terminalFor = (outcome: TurnOutcome, usage: ModelUsage): Terminal => {
  if (outcome.status === 'completed') return { type: 'completed', ...usage };
  if (outcome.status === 'aborted') return { type: 'aborted' };
  return { type: 'failed', errorCode: outcome.errorCode };
};
