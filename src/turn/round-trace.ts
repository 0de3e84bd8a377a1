/** The span of one round of a turn with its model: when its answer began, what it took, how it ended (contract 16). */
import type { Clock } from '../base/clock.ts';
import type { Span } from '../base/tracing.ts';
import type { AnswerCut, ModelFailure, ModelUsage } from '../providers/model.ts';

export class RoundTrace {
  readonly #span: Span;
  readonly #clock: Clock;
  readonly #sentAt: number;
  #firstPieceAt: number | null = null;
  #called = false;
  #usage: ModelUsage | null = null;

  constructor(span: Span, clock: Clock) {
    this.#span = span;
    this.#clock = clock;
    this.#sentAt = clock.monotonic();
  }

  /** Notes a piece of the answer, or a tool call in it. */
  piece(isCall = false): void {
    this.#firstPieceAt ??= this.#clock.monotonic();
    this.#called ||= isCall;
  }

  usage(usage: ModelUsage): void {
    this.#usage = usage;
  }

  /** The model has ended its answer. */
  answered(cut: AnswerCut | undefined): void {
    this.end({ finishReason: cut ?? (this.#called ? 'tool_calls' : 'stop') });
  }

  /** Ends the span, if the model has not: its provider failed, or its answer is no longer wanted. */
  end({ error, finishReason }: { readonly error?: ModelFailure; readonly finishReason?: string } = {}): void {
    const { inputTokens, outputTokens, cachedInputTokens } = this.#usage ?? {};
    this.#span.end({
      ...(error !== undefined && { error }),
      ...(finishReason !== undefined && { finishReason }),
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
      ...(this.#firstPieceAt !== null && { firstPieceSeconds: (this.#firstPieceAt - this.#sentAt) / 1000 }),
    });
  }
}
