/**
 * A turn's parts and its interfaces to the store, its model, its speaker and its reports; how it can end, and the
 * faults that are counted as ours.
 */
import type { ChatRefusal, TurnEnding, TurnEvent } from '../../machines/turn.ts';
import type { TurnFault } from '../metrics/metrics.ts';
import type { TurnModel } from '../assistant/model.ts';
import type { ModelFailure, ModelUsage } from '../providers/model.ts';
import {
  StoreUnavailable,
  type AmendedMessage,
  type AppendResult,
  type AskedModel,
  type Cause,
  type HeardVoice,
  type Message,
  type ToolCall,
  type TurnPast,
} from '../store/store.ts';
import type { Inspector } from '../actors/inspector.ts';
import type { Span } from '../base/tracing.ts';
import type { Clock } from '../base/clock.ts';
import type { Approved } from './pending-tool-calls.ts';
import type { LeaseEvents } from './lease.ts';
import type { Pace } from './pace.ts';
import { abortedEnd, completedEnd, type TurnEnd, type TurnLog } from './log.ts';

/** The result of a turn (contract 6). Time limit, output limit, drain and store faults are ours: `api_error`. */
export type TurnResult =
  | { status: 'completed'; stopReason: 'end' | 'length' | 'content_filter' | 'tool_calls'; errorCode: null }
  | { status: 'aborted'; stopReason: 'aborted' | 'taken'; errorCode: null }
  | { status: 'failed'; stopReason: 'error'; errorCode: 'assistant_unavailable' | 'voice_unavailable' | 'api_error' }
  | { status: 'failed'; stopReason: 'expired'; errorCode: 'session_expired' };

/** The end of a turn, as `parley_turns_total` counts it. */
export type TurnStatus = TurnResult['status'] | 'withdrawn';

export const results = {
  completed: { status: 'completed', stopReason: 'end', errorCode: null },
  length: { status: 'completed', stopReason: 'length', errorCode: null },
  content_filter: { status: 'completed', stopReason: 'content_filter', errorCode: null },
  tool_calls: { status: 'completed', stopReason: 'tool_calls', errorCode: null },
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  taken: { status: 'aborted', stopReason: 'taken', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  provider: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' },
  voice: { status: 'failed', stopReason: 'error', errorCode: 'voice_unavailable' },
  ours: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const satisfies Record<TurnEnding, TurnResult>;

/** The call that speaks a turn's reply (contract 18). */
export interface Speaker {
  /** A piece of the model's answer, of whole code points. */
  text(piece: string): void;
  /** The model says no more until the tools that it called have answered. */
  rests(): void;
  /** The model makes no more. */
  over(reason: 'completed' | 'provider' | 'ours'): void;
  /** Returns the listener's position; called once, before the end is stored. */
  heard(ending: TurnEnding): Heard | Promise<Heard>;
}

/** The position of a reply's listener, in code points of its text. */
export interface Heard {
  readonly points: number;
  readonly voice: HeardVoice;
}

/**
 * A turn's steps in the store (see `StoredTurnSteps`). Each rejects with `StoreUnavailable` if the store does not
 * answer.
 */
export interface TurnSteps {
  /** Begins to renew the lease, if the store has leases, and reports its fate to `events`. */
  open(events: LeaseEvents): void;
  /** Stores a piece of output; resolves with the reason of a request to stop the turn, if there is one. */
  append(position: number, text: string): Promise<AppendResult>;
  /** When the turn began, in Unix seconds. */
  readonly beganAt: number;
  /** The messages for the model, the newest last; `amended`: one of them as it is now. */
  conversation(amended: AmendedMessage | null): readonly Message[];
  /** The tool calls that the turn was approved to send; null without any. */
  readonly approved: Approved | null;
  /** Stores calls of tools from a place among the turn's calls on, and an earlier message as it is after that. */
  step(from: number, calls: readonly ToolCall[], amends?: AmendedMessage): Promise<AppendResult>;
  /**
   * Shows readers the first `points` code points of a reply that is spoken; 0 shows the turn itself. Never rejects:
   * readers see the rest with the next one.
   */
  release(points: number): Promise<void>;
  /**
   * Seals the turn; resolves with the counted tokens, and `isSilenced` if a person has taken the session before: then
   * the turn is sealed as `taken`, with what was stored until then. Rejects with a `RangeError` if the store has lost output before
   * `tail`.
   */
  finish(end: EndedTurn): Promise<'fenced' | SealedTokens>;
  /**
   * Undoes the turn and all of it that is stored. Resolves with true once that is done, or with false if the store did
   * not answer; then it is retried in the background. Never rejects.
   */
  withdraw(past: TurnPast): Promise<boolean>;
  /**
   * Resolves with the end of a turn that another process took over, once it is stored, and its text after `position`;
   * null if the turn or the text before `position` is no longer stored. `unknown` if the end is not stored yet and
   * `wanted` returns false.
   */
  fate(position: number, wanted: () => boolean): Promise<Fate | null | 'unknown'>;
  /** Counts messages that were given to the model's request and not sent. */
  noteLeftOut(messages: number): void;
  /** Stops renewing the lease. */
  leave(): void;
}

/** The tokens of a sealed turn. */
export interface SealedTokens extends ModelUsage {
  readonly isSilenced?: true;
}

/** The end of a turn, to be stored. */
export interface EndedTurn {
  readonly result: TurnResult;
  /** The last output; null if only the stored output counts. */
  readonly tail: { readonly position: number; readonly text: string } | null;
  /** The provider's count; null if it sent none. */
  readonly usage: ModelUsage | null;
  readonly log: TurnLog;
  readonly past: TurnPast;
  readonly cause: Cause;
  /** The end of a reply that was spoken; null if it was only read. */
  readonly heard: Heard | null;
  /** Null if no tool was called. */
  readonly calls: CallsMade | null;
  /** The model that was asked last; null if none was. */
  readonly model: AskedModel | null;
  /** Whether the turn's chat was answered before. */
  readonly isAnswered: boolean;
}

/** The calls of tools of a turn that ends. */
export interface CallsMade {
  /** The tool calls of the turn's message. */
  readonly made: readonly ToolCall[];
  /** The number of tool calls that the turn has sent, including approved ones. */
  readonly sent: number;
  /** The earlier message with the tool calls that the turn was approved to send; null without one. */
  readonly amended: AmendedMessage | null;
}

/** The log and the metrics of a turn. */
export interface TurnReports {
  /** The provider failed. */
  providerFailed(reason: ModelFailure): void;
  /** The model was not sent so many messages of the conversation. */
  leftOut(messages: number): void;
  /** A fault that is not the provider's, with the error that was thrown, if any. */
  ourFault(turnId: string, reason: TurnFault, cause: unknown): void;
  /** The turn is sealed, withdrawn, or ended by another process. */
  over(status: TurnStatus): void;
}

/** Facts of a turn that never change. */
export interface TurnFacts {
  readonly turnId: string;
  readonly messageId: string;
  readonly workspaceId: string;
  /** The chat. */
  readonly cause: Cause;
}

export interface TurnParts {
  readonly steps: TurnSteps;
  readonly model: TurnModel;
  readonly reports: TurnReports;
  /** The turn's span; null while traces are off. */
  readonly span: Span | null;
  readonly clock: Clock;
  readonly pace: Pace;
  /** The call that speaks the reply; null if it is only read. */
  readonly speaker: Speaker | null;
  readonly inspector: Inspector;
  /** The longest that a turn may take. */
  readonly turnMsMax: number;
  /**
   * Whether several processes share the store. There a rejected step may have been applied all the same, and a lease
   * bounds how long the turn may wait. With a single owner of the store a rejection is certain.
   */
  readonly shared: boolean;
}

export interface Fate {
  readonly terminal: TurnEnd;
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/**
 * The answer to a request that waits for the turn: the turn began (text is stored, or the turn is sealed), or it leaves
 * nothing behind, for the reason named.
 */
export interface Begun {
  readonly kind: 'begun' | ChatRefusal;
  /** The failure of its provider; absent without one. */
  readonly failure?: ModelFailure | undefined;
}

/** The name that a fault is counted under. If the store rejects a position, it has lost the text before it. */
export function faultOf(error: unknown): TurnFault {
  if (error instanceof StoreUnavailable) return 'store_away';
  return error instanceof RangeError ? 'store_forgot' : 'error';
}

export const terminalFor = (outcome: TurnResult, usage: ModelUsage, calls: readonly ToolCall[]): TurnEnd => {
  if (outcome.status === 'completed') return completedEnd(usage, outcome.stopReason, calls);
  if (outcome.status === 'aborted') return abortedEnd(outcome.stopReason);
  return { type: 'failed', errorCode: outcome.errorCode };
};

/** The code of the error of a turn that has ended: its own, or the one in the answer to its chat. */
export function errorOf(status: TurnStatus, end: TurnEnd, refusal: ChatRefusal | null): string | null {
  if (status === 'failed') return end.type === 'failed' ? end.errorCode : oursEnd.errorCode;
  return status === 'withdrawn' && refusal !== null ? refusalCodes[refusal] : null;
}

const refusalCodes: Readonly<Record<ChatRefusal, string>> = {
  withdrawn: 'assistant_unavailable',
  late: 'api_error',
  unavailable: 'service_unavailable',
};

/** An end that is a fault of ours: also one that a failover lost. */
export const oursEnd = { type: 'failed', errorCode: 'api_error' } as const satisfies TurnEnd;

/** The end that another process has stored, as an event of the turn's machine has it. */
export function endOfFate(fate: Fate | null | 'unknown'): Extract<TurnEvent, { type: 'fate' }>['end'] {
  if (fate === 'unknown') return fate;
  if (fate === null) return 'gone';
  const { terminal } = fate;
  if (terminal.type !== 'failed') return terminal.type;
  return terminal.errorCode === 'session_expired' ? 'expired' : 'failed';
}

/** The tokens of a turn's rounds together. */
export const sumOf = (one: ModelUsage | null, other: ModelUsage): ModelUsage =>
  one === null
    ? other
    : {
        inputTokens: one.inputTokens + other.inputTokens,
        outputTokens: one.outputTokens + other.outputTokens,
        cachedInputTokens: (one.cachedInputTokens ?? 0) + (other.cachedInputTokens ?? 0),
      };
