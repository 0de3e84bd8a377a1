/**
 * The rounds of a turn with its model: sends the request, takes the answer, and sends the next request once the tools
 * have their results (contract 13). The turn's machine decides when; the text passes to the turn piece by piece.
 */
import { limits } from '../base/limits.ts';
import type { OpaqueFields } from '../base/opaque-fields.ts';
import { codePoints, indexAfter, textBehind, WholePoints } from '../base/text.ts';
import type { AnswerCut, ModelStream, ModelFailure, ModelSink, ModelUsage, OfferTaken } from '../providers/model.ts';
import { ToolCallRounds, type ToolCallEvents } from './tool-calls.ts';
import type { PreparedRequest } from '../assistant/model.ts';
import { sumOf, type TurnParts } from './ports.ts';
import type { TurnLog } from './log.ts';
import { RoundTrace } from './round-trace.ts';

/** The turn, as its rounds report to it. */
export interface RoundEvents extends ToolCallEvents {
  /** Whether the turn still takes output of the model. */
  readonly listens: boolean;
  /** A piece of the answer, of whole code points. */
  wrote(text: string): void;
  /** The answer exceeds the bound of a turn. */
  overflowed(): void;
  /**
   * The model has ended its answer, or waits for the tools that it `called`. `cut`: the reason why the answer is
   * incomplete.
   */
  answered(how: 'called' | 'ended', cut?: AnswerCut): void;
  failed(reason: ModelFailure): void;
  /** The request could not be sent, for a fault of ours. */
  unasked(error: unknown): void;
}

export class ModelRounds implements ModelSink {
  readonly #turn: RoundEvents;
  readonly #log: TurnLog;
  readonly #parts: TurnParts;
  /** The answer under way; null between two rounds. */
  model: ModelStream | null = null;
  /** The tokens of all rounds, as far as the provider has counted them. */
  counted: ModelUsage | null = null;
  /** The tokens of the rounds before this one. */
  #spent: ModelUsage | null = null;
  /** Null until the model calls a tool. */
  calls: ToolCallRounds | null = null;
  /** The offset of the round in code points of the answer. */
  #from = 0;
  /** The text of a spoken reply so far, and its code points. */
  #said = '';
  #saidPoints = 0;
  /** Messages that were left out of the request under way. */
  #leftOut = 0;
  readonly #whole = new WholePoints();
  /** The newest round's; null while traces are off. */
  #trace: RoundTrace | null = null;

  constructor(turn: RoundEvents, log: TurnLog, parts: TurnParts) {
    this.#turn = turn;
    this.#log = log;
    this.#parts = parts;
  }

  /** Sends the first request to the model, or first the approved tool calls. */
  start(): void {
    const { approved } = this.#parts.steps;
    if (approved === null) return this.ask();
    this.calls = this.#newCalls(approved);
    this.#turn.answered('called');
  }

  /** Whether a listener, or a step of the store, has got text. */
  get hasSaid(): boolean {
    return this.#saidPoints > 0 || this.#log.isTaken;
  }

  /** Sends the request to the next model, as if the one before it had not been asked. */
  askNext(): void {
    this.model = this.calls = null;
    this.counted = this.#spent;
    this.#whole.rest();
    if (this.#log.length > 0) this.#log.discard();
    this.#parts.steps.noteLeftOut(-this.#leftOut);
    this.#leftOut = 0;
    this.#parts.model.next();
    this.ask();
  }

  ask(): void {
    const { model, steps } = this.#parts;
    // A fault of ours, such as a store that is away, must not be reported as the assistant's.
    const failed = (error: unknown): void => this.#turn.unasked(error);
    try {
      const preparing = model.prepare(steps.conversation(this.calls?.amended ?? null), steps.beganAt);
      if (preparing instanceof Promise) preparing.then((prepared) => this.#send(prepared)).catch(failed);
      else this.#send(preparing);
    } catch (error) {
      failed(error);
    }
  }

  #send(prepared: PreparedRequest | null): void {
    const { calls } = this;
    if (prepared === null) return this.failed('credential');
    if (prepared.leftOut > 0 && calls === null) this.noteLeftOut(prepared.leftOut);
    if (!this.#turn.listens) return;
    const { span, clock } = this.#parts;
    if (span !== null) this.#trace = new RoundTrace(span.child(prepared.describe()), clock);
    this.model = prepared.start(this, calls?.messages ?? [], calls?.mayCall ?? true);
  }

  #newCalls(approved: TurnParts['steps']['approved'] = null): ToolCallRounds {
    const { model, steps, clock, span } = this.#parts;
    return new ToolCallRounds(this.#turn, model.tools, steps, this.#log, clock, approved, span);
  }

  text(piece: string): void {
    if (!this.#turn.listens) return;
    this.#trace?.piece();
    const whole = this.#within(this.#whole.take(piece));
    if (whole === '') return;
    if (this.#parts.speaker !== null) {
      this.#said += whole;
      this.#saidPoints += codePoints(whole);
    }
    this.#turn.wrote(whole);
    if (Math.max(this.#log.length, this.#saidPoints) > limits.outputCharactersMax) this.#turn.overflowed();
  }

  /** The beginning of a piece: just as much as a turn may have, and one code point more to show that it has more. */
  #within(piece: string): string {
    if (piece.length <= limits.deltaCharactersMax) return piece;
    return piece.slice(
      0,
      indexAfter(piece, limits.outputCharactersMax + 1 - Math.max(this.#log.length, this.#saidPoints)),
    );
  }

  noteLeftOut(messages: number): void {
    this.#leftOut += messages;
    this.#parts.steps.noteLeftOut(messages);
  }

  usage(usage: ModelUsage): void {
    this.counted = sumOf(this.#spent, usage);
    this.#trace?.usage(usage);
  }

  noteOffered(taken: OfferTaken): void {
    this.#parts.model.tools.noteOffered(taken);
  }

  call({ name, arguments: text }: { readonly name: string; readonly arguments: string }, opaque?: OpaqueFields): void {
    if (!this.#turn.listens) return;
    this.#trace?.piece(true);
    this.calls ??= this.#newCalls();
    this.calls.ask(name, text, opaque);
  }

  keep(opaque: unknown): void {
    this.calls?.keep(opaque);
  }

  end(cut?: AnswerCut): void {
    this.#trace?.answered(cut);
    if (!this.#turn.listens) return;
    const { model, speaker } = this.#parts;
    model.noteEnd(null);
    const rest = this.#whole.rest();
    if (rest !== '' && speaker === null) this.#log.append(rest);
    else if (rest !== '') speaker!.text(rest);
    const called = this.calls?.close(cut) ?? false;
    if (called) speaker?.rests();
    this.#turn.answered(called ? 'called' : 'ended', cut);
  }

  failed(reason: ModelFailure): void {
    this.#trace?.end({ error: reason });
    this.#parts.model.noteEnd(reason);
    this.#turn.failed(reason);
  }

  /** The model waits for its tools. */
  rest(): void {
    this.model = null;
    this.#spent = this.counted;
  }

  /** Stores the round's calls, after its text. */
  async store(): Promise<void> {
    const answer = this.#parts.speaker === null ? this.#log.pieces.join('') : this.#said;
    const text = textBehind(answer, this.#from) ?? '';
    this.#from += codePoints(text);
    await this.calls!.store(text, this.#from);
  }

  cancel(): void {
    this.calls?.cancel();
    this.model?.cancel();
    this.endSpan();
  }

  /** Ends the span of a round that the turn does not wait for any more. */
  endSpan(): void {
    this.#trace?.end();
  }
}
