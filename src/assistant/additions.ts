/** The additions of a protocol adapter to an assistant's settings, for one turn. */
import type { AnswerFormat, ForcedToolCall, ModelMessage } from '../providers/model.ts';
import type { OfferedFunction } from '../providers/tool.ts';

export interface TurnAdditions {
  /** Messages that are sent to the model and are not stored. */
  readonly earlier: readonly ModelMessage[];
  /** Follows the assistant's prompt. */
  readonly prompt: string | null;
  /** Lowers the assistant's bound. */
  readonly outputTokensMax: number | null;
  /** The caller's own functions, of the kind `client`. */
  readonly tools: readonly OfferedFunction[];
  /** Absent if the model may answer without a tool call. */
  readonly forced?: ForcedToolCall;
  /** Absent for text. */
  readonly format?: AnswerFormat;
}

/** The properties of a turn that change the request to its model. */
export interface TurnSettings {
  /** The additions of a protocol adapter; absent for the assistant's own settings. */
  readonly additions?: TurnAdditions | undefined;
  /** Whether a call speaks the reply. */
  readonly isSpoken?: boolean | undefined;
}
