/**
 * Separates a model's reasoning from its answer. Some models write the reasoning within their text, between tags at its
 * beginning, others in separate fields.
 */
import type { ReasoningMode } from '../model.ts';

/** Characters of white space before an answer, while it may yet begin with reasoning. */
export const providerSpaceCharactersMax = 65_536;

/** Takes an answer's pieces while it may yet reason; each call returns the text to show for the piece. */
export interface Reasoning {
  /** The answer's own text has begun: later pieces are shown as they are, without a call. */
  readonly over: boolean;
  /** A piece of the text. */
  text(piece: string): string;
  /** A piece from a field for reasoning alone. */
  field(piece: string): string;
  /** The answer has ended. */
  rest(): string;
}

export const reasoningOf = (mode: ReasoningMode): Reasoning => (mode === 'hidden' ? new Hidden() : new Shown());

const opening = '<think>';
const closing = '</think>';

/** Holds back text that may be the beginning of a tag, and white space, since a tag may follow it. */
class Hidden implements Reasoning {
  over = false;
  #space = '';
  #undecided = '';
  #within = false;

  text(piece: string): string {
    let text = this.#undecided + piece;
    this.#undecided = '';
    for (;;) {
      if (this.#within) {
        const end = text.indexOf(closing);
        if (end < 0) return this.#hold(text.slice(1 - closing.length));
        text = text.slice(end + closing.length);
        this.#within = false;
      }
      const begun = text.trimStart();
      this.#space += text.slice(0, text.length - begun.length);
      if (this.#space.length > providerSpaceCharactersMax) return this.#show(begun);
      if (opening.startsWith(begun)) return this.#hold(begun);
      if (!begun.startsWith(opening)) return this.#show(begun);
      text = begun.slice(opening.length);
      this.#space = '';
      this.#within = true;
    }
  }

  field(): string {
    return '';
  }

  /** A tag that is never closed hides the rest; an incomplete tag is text. */
  rest(): string {
    return this.#within ? '' : this.#space + this.#undecided;
  }

  #hold(text: string): string {
    this.#undecided = text;
    return '';
  }

  #show(text: string): string {
    this.over = true;
    return this.#space + text;
  }
}

/** Puts the reasoning of a field between the same tags. */
class Shown implements Reasoning {
  over = false;
  #within = false;

  text(piece: string): string {
    this.over = true;
    return this.rest() + piece;
  }

  field(piece: string): string {
    const text = this.#within ? piece : opening + piece;
    this.#within = true;
    return text;
  }

  rest(): string {
    return this.#within ? closing : '';
  }
}
