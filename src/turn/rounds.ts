/**
 * A turn's rounds with its model: asks it, takes its answer, and asks it again once the tools that it called have
 * answered (contract 13). The turn's machine decides when; the text goes on to the turn piece by piece.
 */
import { limits } from '../base/limits.ts';
import type { OpaqueFields } from '../base/opaque-fields.ts';
import { codePoints, indexAfter, textBehind, WholePoints } from '../base/text.ts';
import type { AnswerCut, ModelCall, ModelFailure, ModelSink, ModelUsage, OfferTaken } from '../providers/model.ts';
import { TurnCalls, type Calling } from './tool-calls.ts';
import type { PreparedRequest } from '../assistant/model.ts';
import { sumOf, type TurnParts } from './ports.ts';
import type { TurnLog } from './log.ts';

/** The turn that asks the model. */
export interface Asking extends Calling {
  /** Whether output is still taken from the model. */
  readonly listens: boolean;
  /** A piece of the answer, of whole code points. */
  wrote(text: string): void;
  /** The answer is longer than a turn's may be. */
  overflowed(): void;
  /** The model has ended its answer, or waits for the tools that it `called`. `cut`: why the answer is not whole. */
  answered(how: 'called' | 'ended', cut?: AnswerCut): void;
  failed(reason: ModelFailure): void;
  /** The model could not be asked, for a fault of ours. */
  unasked(error: unknown): void;
}

export class ModelRounds implements ModelSink {
  readonly #turn: Asking;
  readonly #log: TurnLog;
  readonly #parts: TurnParts;
  /** The answer under way; null between two rounds. */
  model: ModelCall | null = null;
  /** The tokens of all rounds, as far as the provider has counted them. */
  counted: ModelUsage | null = null;
  /** The tokens of the rounds before this one. */
  #spent: ModelUsage | null = null;
  /** Null until the model calls a tool. */
  calls: TurnCalls | null = null;
  /** Where the round began, in code points of the answer. */
  #from = 0;
  /** The answer and its code points, where a reply is spoken. */
  #said = '';
  #saidPoints = 0;
  readonly #whole = new WholePoints();

  constructor(turn: Asking, log: TurnLog, parts: TurnParts) {
    this.#turn = turn;
    this.#log = log;
    this.#parts = parts;
  }

  /** Asks the model, or first the tools whose calls were approved. */
  start(): void {
    const { approved } = this.#parts.steps;
    if (approved === null) return this.ask();
    this.calls = this.#newCalls(approved);
    this.#turn.answered('called');
  }

  ask(): void {
    const { model, steps } = this.#parts;
    // A fault of ours, such as a store that is away, must not be reported as the assistant's.
    const failed = (error: unknown): void => this.#turn.unasked(error);
    try {
      const preparing = model.prepare(steps.conversation(this.calls?.amended ?? null));
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
    if (this.#turn.listens) this.model = prepared.start(this, calls?.messages ?? [], calls?.mayCall ?? true);
  }

  #newCalls(approved: TurnParts['steps']['approved'] = null): TurnCalls {
    const { model, steps, clock } = this.#parts;
    return new TurnCalls(this.#turn, model.tools, steps, this.#log, clock, approved);
  }

  text(piece: string): void {
    if (!this.#turn.listens) return;
    const whole = this.#within(this.#whole.take(piece));
    if (whole === '') return;
    if (this.#parts.speaker !== null) {
      this.#said += whole;
      this.#saidPoints += codePoints(whole);
    }
    this.#turn.wrote(whole);
    if (Math.max(this.#log.length, this.#saidPoints) > limits.outputCharactersMax) this.#turn.overflowed();
  }

  /** The beginning of a piece, of which no more is used than a turn may have and shows that it has more. */
  #within(piece: string): string {
    if (piece.length <= limits.deltaCharactersMax) return piece;
    return piece.slice(
      0,
      indexAfter(piece, limits.outputCharactersMax + 1 - Math.max(this.#log.length, this.#saidPoints)),
    );
  }

  noteLeftOut(messages: number): void {
    this.#parts.steps.noteLeftOut(messages);
  }

  usage(usage: ModelUsage): void {
    this.counted = sumOf(this.#spent, usage);
  }

  noteOffered(taken: OfferTaken): void {
    this.#parts.model.tools.noteOffered(taken);
  }

  call({ name, arguments: text }: { readonly name: string; readonly arguments: string }, opaque?: OpaqueFields): void {
    if (!this.#turn.listens) return;
    this.calls ??= this.#newCalls();
    this.calls.ask(name, text, opaque);
  }

  keep(opaque: unknown): void {
    this.calls?.keep(opaque);
  }

  end(cut?: AnswerCut): void {
    if (!this.#turn.listens) return;
    const { speaker } = this.#parts;
    const rest = this.#whole.rest();
    if (rest !== '' && speaker === null) this.#log.append(rest);
    else if (rest !== '') speaker!.text(rest);
    const called = this.calls?.close(cut) ?? false;
    if (called) speaker?.rests();
    this.#turn.answered(called ? 'called' : 'ended', cut);
  }

  failed(reason: ModelFailure): void {
    this.#turn.failed(reason);
  }

  /** The model waits for its tools. */
  rest(): void {
    this.model = null;
    this.#spent = this.counted;
  }

  /** Stores the round's calls, once its text is. */
  async store(): Promise<void> {
    const answer = this.#parts.speaker === null ? this.#log.pieces.join('') : this.#said;
    const text = textBehind(answer, this.#from) ?? '';
    this.#from += codePoints(text);
    await this.calls!.store(text, this.#from);
  }

  cancel(): void {
    this.calls?.cancel();
    this.model?.cancel();
  }
}
