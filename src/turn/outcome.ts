/** The end of a turn, the effects of its runner, and the faults that are counted as ours. */
import type { ChatRefusal, TurnEnding } from '../../machines/turn.ts';
import type { TurnFault } from '../base/metrics.ts';
import type { ModelFailure, ModelUsage } from '../providers/model.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { TurnEnd } from './turn.ts';

/** The result of a turn (contract 6). Time limit, output limit, drain and store faults are ours: `api_error`. */
export type TurnResult =
  | { status: 'completed'; stopReason: 'end'; errorCode: null }
  | { status: 'aborted'; stopReason: 'aborted'; errorCode: null }
  | { status: 'failed'; stopReason: 'error'; errorCode: 'assistant_unavailable' | 'api_error' }
  | { status: 'failed'; stopReason: 'expired'; errorCode: 'session_expired' };

/** How a turn can end, as `parley_turns_total` counts it. */
export type TurnStatus = TurnResult['status'] | 'withdrawn';

export const results = {
  completed: { status: 'completed', stopReason: 'end', errorCode: null },
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  provider: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' },
  ours: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const satisfies Record<TurnEnding, TurnResult>;

/** The runner's effects, implemented by the host. Each rejects with `StoreUnavailable` if the store does not answer. */
export interface TurnEffects {
  append(position: number, text: string): Promise<'stored' | 'fenced'>;
  /**
   * Seals the turn with its last output, or with the stored output if `tail` is null; resolves with the counted tokens. Rejects
   * with a `RangeError` if the store has lost output before `tail`.
   */
  finish(outcome: TurnResult, tail: { position: number; text: string } | null, usage: ModelUsage | null, length: number): Promise<'fenced' | ModelUsage>;
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
  /** The model was not sent so many of the messages that it was given. */
  leftOut(messages: number): void;
  /** Reports a failure of the provider to the log and the metrics. */
  providerFailed(reason: ModelFailure): void;
  /** Reports a fault that is not the provider's: called once, with the first fault and the error that was thrown, if any. */
  ourFault(reason: TurnFault, cause: unknown): void;
  /** The turn is sealed, withdrawn, or ended by another process; called once. */
  over(status: TurnStatus): void;
}

export interface Fate {
  readonly terminal: TurnEnd;
  readonly text: string;
}

/** The answer to a request that waits for the turn: the turn began (text is stored, or the turn is sealed), or it leaves nothing behind, for the reason named. */
export interface Begun {
  readonly kind: 'begun' | ChatRefusal;
}

/** The name that a fault is counted under. If the store rejects a position, it has lost the text before it. */
export function faultOf(error: unknown): TurnFault {
  if (error instanceof StoreUnavailable) return 'store_away';
  return error instanceof RangeError ? 'store_forgot' : 'error';
}

export const terminalFor = (outcome: TurnResult, usage: ModelUsage): TurnEnd => {
  if (outcome.status === 'completed') return { type: 'completed', ...usage };
  if (outcome.status === 'aborted') return { type: 'aborted' };
  return { type: 'failed', errorCode: outcome.errorCode };
};
