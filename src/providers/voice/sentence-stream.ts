/**
 * The sentences of a text that still comes, each as soon as it is known to be whole; the first one sooner, as somebody
 * waits for it. Times are milliseconds of one clock.
 */
import { codePoints } from '../../base/text.ts';
import { opensCode, type Part } from './code-blocks.ts';
import { endsShort, hasWord } from './sentences.ts';
import { piecesOf, sentencesAndCode, type Saying } from './sound.ts';
import { endsInAddress } from './speakable.ts';
import type { PlannedText } from './plan.ts';

/** A text that ends as a sentence does is one, if nothing follows for so long. */
const wholeAfterMs = 150;
const endsAsSentence = /[.?!]["'”’»)\]*_]*\s*$/u;

/** After so long without a sentence the first piece may end there, if it has so many words. */
const [clauseAfterMs, clauseWords] = [400, 3];
const [wordAfterMs, wordWords] = [900, 6];
const clauseEnds = /[,;:](?=\s)\s*|—\s*/gu;
const wordEnds = /\s+/gu;

/** Above so many characters without a sentence the text is looked at again only once it has grown by a share of it. */
const [oftenUpTo, growth] = [400, 1.25];
/**
 * Characters that are cut into sentences at a time: of a longer text the rest waits for the next look, which is due at
 * once.
 */
const cutAtOnce = 4_000;

export class SentenceStream {
  readonly #saying: Saying;
  #text = '';
  /** The end of it, so that a long text is not put together for each piece that comes. */
  #tail = '';
  /** Code points before it. */
  #from = 0;
  /** Text of which nothing is said, which begins the next sentence. */
  #silent = '';
  #begunAt: number | null = null;
  #lastAt = 0;
  /** The fence of the block of code that is open before it; null outside of one. */
  #fence: string | null = null;
  /** Whether a sentence was given. */
  #given = false;
  #lookAtLength = 0;
  #lookedAt = 0;
  /** Whether all of the text is whole, though the rest of it is not cut yet. */
  #isWhole = false;

  constructor(saying: Saying) {
    this.#saying = saying;
  }

  /** Takes more text; returns the sentences that are whole now. */
  push(text: string, now: number): PlannedText[] {
    if (text === '') return [];
    this.#begunAt ??= now;
    this.#lastAt = now;
    this.#isWhole = false;
    this.#text += text;
    this.#tail = (this.#tail + text).slice(-oftenUpTo);
    if (this.isBehind) return this.look(now);
    return [...this.#sentences(), ...this.look(now)];
  }

  /** Whether the next look is due at once: there is more text than is cut at a time. */
  get isBehind(): boolean {
    return this.#text.length > cutAtOnce || (this.#isWhole && this.#text !== '');
  }

  /** When to look again if no text comes before; null if there is nothing to wait for. */
  get dueAt(): number | null {
    if (this.isBehind) return this.#lookedAt;
    const due = this.#endsWhole ? [this.#lastAt + wholeAfterMs] : [];
    // Once its time has come the first piece waits for text, not for time.
    if (this.#waitsForFirst)
      due.push(...[clauseAfterMs, wordAfterMs].map((ms) => this.#begunAt! + ms).filter((at) => at > this.#lookedAt));
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Returns what is whole because of the time that has passed. */
  look(now: number): PlannedText[] {
    this.#lookedAt = now;
    if (this.isBehind) return this.#part();
    if (this.#endsWhole && now - this.#lastAt >= wholeAfterMs) return this.end();
    if (!this.#waitsForFirst) return [];
    const waited = now - this.#begunAt!;
    const end =
      (waited >= clauseAfterMs && this.#lastEnd(clauseEnds, clauseWords)) ||
      (waited >= wordAfterMs && this.#lastEnd(wordEnds, wordWords));
    return end ? this.#take([{ kind: 'prose', raw: this.#text.slice(0, end), fence: null }]) : [];
  }

  /** No more text comes, or only much later. While it is behind, the rest is given by the looks that are due. */
  end(): PlannedText[] {
    this.#isWhole = true;
    return this.#part();
  }

  /** The sentences at the beginning of a long text. */
  #part(): PlannedText[] {
    const sentences = sentencesAndCode(this.#text.slice(0, cutAtOnce), this.#fence);
    // The last one may go on, unless it is as long as text of which nothing is said can be.
    const goesOn = this.#text.length > cutAtOnce && sentences.length > 1;
    const found = this.#take(goesOn ? sentences.slice(0, -1) : sentences);
    this.#lookAtLength = 0;
    // A block that nothing closes ends with its text.
    if (this.#isWhole && this.#text === '') this.#fence = null;
    return this.isBehind ? found : [...found, ...this.#sentences()];
  }

  get #endsWhole(): boolean {
    return (
      this.#fence === null && endsAsSentence.test(this.#tail) && !endsShort(this.#tail) && !endsInAddress(this.#tail)
    );
  }

  get #waitsForFirst(): boolean {
    return (
      !this.#given &&
      this.#fence === null &&
      this.#text.length <= oftenUpTo &&
      this.#text.trim() !== '' &&
      !opensCode(this.#text)
    );
  }

  /** Sentences behind which another one has begun, and lines of code. */
  #sentences(): PlannedText[] {
    if (this.#text.length < this.#lookAtLength) return [];
    const sentences = sentencesAndCode(this.#text, this.#fence);
    const isOpen = (part: Part | undefined): boolean =>
      part !== undefined && (part.kind === 'prose' || !part.raw.endsWith('\n'));
    const found = this.#take(isOpen(sentences.at(-1)) ? sentences.slice(0, -1) : sentences);
    this.#lookAtLength = this.#text.length < oftenUpTo ? 0 : this.#text.length * growth;
    return found;
  }

  #take(sentences: readonly Part[]): PlannedText[] {
    if (sentences.length === 0) return [];
    const found: PlannedText[] = [];
    for (const sentence of sentences) {
      this.#text = this.#text.slice(sentence.raw.length);
      this.#fence = sentence.fence;
      for (const piece of piecesOf(sentence, this.#saying)) {
        const raw = this.#silent + piece.raw;
        this.#silent = hasWord(piece.said) ? '' : raw;
        if (!hasWord(piece.said)) continue;
        found.push({ from: this.#from, raw, said: piece.said, silent: raw.length - piece.raw.length });
        this.#from += codePoints(raw);
        this.#given = true;
      }
    }
    this.#tail = this.#text.slice(-oftenUpTo);
    return found;
  }

  /**
   * The last place of this kind behind so many words, outside of brackets, which may hold an address; 0 if there is
   * none.
   */
  #lastEnd(kind: RegExp, words: number): number {
    const ends = Array.from(this.#text.matchAll(kind), ({ 0: found, index }) => index + found.length);
    return ends.findLast((end) => isWhole(this.#text.slice(0, end)) && wordsIn(this.#text.slice(0, end)) >= words) ?? 0;
  }
}

const wordsIn = (text: string): number => text.split(/\s+/u).filter(hasWord).length;
const isWhole = (text: string): boolean =>
  text.split('[').length === text.split(']').length && text.split('`').length % 2 === 1;
