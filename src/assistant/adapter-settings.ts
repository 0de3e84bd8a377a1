/** The additions of a front to an assistant's settings. */
import type { AnswerFormat, ForcedCall, ModelMessage } from '../providers/model.ts';
import type { OfferedFunction } from '../providers/tool.ts';

/** For one turn. */
export interface FrontSettings {
  /** Messages that go to the model and are not stored. */
  readonly earlier: readonly ModelMessage[];
  /** Follows the assistant's prompt. */
  readonly prompt: string | null;
  /** Lowers the assistant's bound. */
  readonly outputTokensMax: number | null;
  /** The caller's own functions, of the kind `client`. */
  readonly tools: readonly OfferedFunction[];
  /** Absent where the model may answer without a call. */
  readonly forced?: ForcedCall;
  /** Absent for text. */
  readonly format?: AnswerFormat;
}
