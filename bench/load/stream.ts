/** One streamed answer as it arrives: checks that every character comes once, in order, and then one terminal event. */
import { tokenAt } from '../text.ts';

/** Framing of a contender's events. */
export interface Format {
  /** The bytes before an event's text, up to and with the opening quote of its JSON string. */
  readonly text: string;
  /** A text in the event of a completed answer only. */
  readonly completed: string;
  /** A text in an event of failure only. */
  readonly failed: string;
}

export const parleyFormat: Format = {
  text: 'data: {"text":"',
  completed: 'event: turn.completed',
  failed: 'event: error',
};
export const openaiFormat: Format = { text: '"content":"', completed: 'data: [DONE]', failed: '"error":' };

/** The text of an answer as JSON escapes it and UTF-8 encodes it, a character for a byte: as it arrives. */
interface Expected {
  readonly wire: string;
  /** End of each token in it. */
  readonly ends: readonly number[];
}

const known = new Map<number, Expected>();

function expectedOf(tokens: number): Expected {
  const found = known.get(tokens);
  if (found !== undefined) return found;
  let wire = '';
  const ends: number[] = [];
  for (let index = 0; index < tokens; index++) {
    wire += Buffer.from(JSON.stringify(tokenAt(index)).slice(1, -1)).toString('latin1');
    ends.push(wire.length);
  }
  const expected = { wire, ends };
  known.set(tokens, expected);
  return expected;
}

/** Called for each arrival of text after the first, with the milliseconds since the one before. */
export type GapListener = (gapMs: number) => void;

export class AnswerStream {
  /** Time of the first text, in milliseconds of `performance.now()`; 0 before it. */
  firstAt = 0;
  lastAt = 0;
  /** Events with text. */
  deltas = 0;
  readonly #format: Format;
  readonly #expected: Expected;
  readonly #gap: GapListener | null;
  #position = 0;
  #terminals = 0;
  #rest = '';

  constructor(format: Format, tokens: number, gap: GapListener | null = null) {
    this.#format = format;
    this.#expected = expectedOf(tokens);
    this.#gap = gap;
  }

  /** Tokens that have come whole. */
  get tokens(): number {
    const { ends } = this.#expected;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle]! <= this.#position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  take(piece: string, now: number): void {
    const text = this.#rest === '' ? piece : this.#rest + piece;
    let at = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', at)) {
      this.#event(text.slice(at, end), now);
      at = end + 2;
    }
    this.#rest = at === text.length ? '' : text.slice(at);
  }

  /** Ends the answer: throws unless all of it came, once, and was ended once. */
  end(): void {
    if (this.#position !== this.#expected.wire.length)
      throw new Error(`${this.#position} of ${this.#expected.wire.length} characters came.`);
    if (this.#terminals !== 1) throw new Error(`${this.#terminals} terminal events came.`);
  }

  #event(event: string, now: number): void {
    const { text, completed, failed } = this.#format;
    const found = event.indexOf(text);
    if (found >= 0) this.#text(event, found + text.length, now);
    else if (event.includes(completed)) this.#terminals++;
    else if (event.includes(failed)) throw new Error(`The answer failed: ${event}`);
  }

  #text(event: string, from: number, now: number): void {
    let end = event.indexOf('"', from);
    while (isEscaped(event, end)) end = event.indexOf('"', end + 1);
    if (end === from) return;
    const came = event.slice(from, end);
    if (!this.#expected.wire.startsWith(came, this.#position))
      throw new Error(`Not the text at ${this.#position}: ${came}`);
    this.#position += came.length;
    this.deltas++;
    if (this.firstAt === 0) this.firstAt = now;
    else this.#gap?.(now - this.lastAt);
    this.lastAt = now;
  }
}

/** Whether an odd number of backslashes stands before. */
function isEscaped(text: string, quote: number): boolean {
  let before = quote;
  while (text.charCodeAt(before - 1) === 92) before--;
  return (quote - before) % 2 === 1;
}
