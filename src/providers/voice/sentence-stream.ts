/**
 * Splits a growing text into sentences, each as soon as it is known to be whole. The first one comes sooner, because a
 * listener waits for it. Times are milliseconds of one clock.
 */
import { codePoints } from '../../base/text.ts';
import { tellingCharacters } from './announcement.ts';
import { opensCode, type Part } from './code-blocks.ts';
import { endsShort, hasWord } from './sentences.ts';
import { piecesOf, sentencesAndCode, type Saying } from './sound.ts';
import { endsInAddress } from './speakable.ts';
import type { PlannedText } from './plan.ts';

/** Milliseconds without more text after which a text that ends like a sentence counts as one. */
const wholeAfterMs = 150;
const endsAsSentence = /[.?!]["'”’»)\]*_]*\s*$/u;

/** Milliseconds without a sentence after which the first piece may end early, and the words that it needs. */
const [clauseAfterMs, clauseWords] = [400, 3];
const [wordAfterMs, wordWords] = [900, 6];
const clauseEnds = /[,;:](?=\s)\s*|—\s*/gu;
const wordEnds = /\s+/gu;

/** Characters without a sentence above which the text is examined again only once it has grown by a share. */
const [oftenUpTo, growth] = [400, 1.25];
/** Characters that are split at a time: the rest of a longer text waits for the next look, which is due at once. */
const cutAtOnce = 4_000;

export class SentenceStream {
  readonly #saying: Saying;
  #text = '';
  /** The end of the text, so that a long text is not joined for each piece. */
  #tail = '';
  /** The end of the prose before the text. */
  #prose = '';
  /** Code points before the text. */
  #from = 0;
  /** Unspoken text, which begins the next sentence. */
  #silent = '';
  #begunAt: number | null = null;
  #lastAt = 0;
  /** Fence of the code block that is open before the text; null outside of one. */
  #fence: string | null = null;
  /** Whether a sentence was returned. */
  #hasReturned = false;
  #lookAtLength = 0;
  #lookedAt = 0;
  /** Whether the text is complete, although the rest of it is not split yet. */
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

  /** Whether the next look is due at once: there is more text than is split at a time. */
  get isBehind(): boolean {
    return this.#text.length > cutAtOnce || (this.#isWhole && this.#text !== '');
  }

  /** Time of the next look if no text arrives before; null if none is due. */
  get dueAt(): number | null {
    if (this.isBehind) return this.#lookedAt;
    const due = this.#endsWhole ? [this.#lastAt + wholeAfterMs] : [];
    // After its time the first piece waits for text, not for time.
    if (this.#waitsForFirst)
      due.push(...[clauseAfterMs, wordAfterMs].map((ms) => this.#begunAt! + ms).filter((at) => at > this.#lookedAt));
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Returns the sentences that are whole because of the time that has passed. */
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

  /**
   * Ends the text, at least for a while. A rest that is too long for one look is returned by the looks that are due.
   */
  end(): PlannedText[] {
    this.#isWhole = true;
    return this.#part();
  }

  /** The sentences at the beginning of a long text. */
  #part(): PlannedText[] {
    const sentences = sentencesAndCode(this.#text.slice(0, cutAtOnce), this.#fence);
    // The last sentence may continue, unless it has the maximum length of unspoken text.
    const goesOn = this.#text.length > cutAtOnce && sentences.length > 1;
    const planned = this.#take(goesOn ? sentences.slice(0, -1) : sentences);
    this.#lookAtLength = 0;
    // An unclosed block ends with its text.
    if (this.#isWhole && this.#text === '') this.#fence = null;
    return this.isBehind ? planned : [...planned, ...this.#sentences()];
  }

  get #endsWhole(): boolean {
    return (
      this.#fence === null && endsAsSentence.test(this.#tail) && !endsShort(this.#tail) && !endsInAddress(this.#tail)
    );
  }

  get #waitsForFirst(): boolean {
    return (
      !this.#hasReturned &&
      this.#fence === null &&
      this.#text.length <= oftenUpTo &&
      this.#text.trim() !== '' &&
      !opensCode(this.#text)
    );
  }

  /** Returns sentences that are followed by another one, and lines of code. */
  #sentences(): PlannedText[] {
    if (this.#text.length < this.#lookAtLength) return [];
    const sentences = sentencesAndCode(this.#text, this.#fence);
    const isOpen = (part: Part | undefined): boolean =>
      part !== undefined && (part.kind === 'prose' || !part.raw.endsWith('\n'));
    const planned = this.#take(isOpen(sentences.at(-1)) ? sentences.slice(0, -1) : sentences);
    this.#lookAtLength = this.#text.length < oftenUpTo ? 0 : this.#text.length * growth;
    return planned;
  }

  #take(sentences: readonly Part[]): PlannedText[] {
    if (sentences.length === 0) return [];
    const planned: PlannedText[] = [];
    for (const sentence of sentences) {
      this.#text = this.#text.slice(sentence.raw.length);
      this.#fence = sentence.fence;
      if (sentence.kind === 'prose') this.#prose = (this.#prose + sentence.raw).slice(-tellingCharacters);
      for (const piece of piecesOf(sentence, this.#saying, this.#prose)) {
        const raw = this.#silent + piece.raw;
        this.#silent = hasWord(piece.spokenText) ? '' : raw;
        if (!hasWord(piece.spokenText)) continue;
        planned.push({ from: this.#from, raw, spokenText: piece.spokenText, silent: raw.length - piece.raw.length });
        this.#from += codePoints(raw);
        this.#hasReturned = true;
      }
    }
    this.#tail = this.#text.slice(-oftenUpTo);
    return planned;
  }

  /**
   * Returns the last position of this kind after the given number of words, outside of brackets, which may contain an
   * address; 0 if no position fits.
   */
  #lastEnd(kind: RegExp, words: number): number {
    const ends = Array.from(this.#text.matchAll(kind), ({ 0: planned, index }) => index + planned.length);
    return ends.findLast((end) => isWhole(this.#text.slice(0, end)) && wordsIn(this.#text.slice(0, end)) >= words) ?? 0;
  }
}

const wordsIn = (text: string): number => text.split(/\s+/u).filter(hasWord).length;
const isWhole = (text: string): boolean =>
  text.split('[').length === text.split(']').length && text.split('`').length % 2 === 1;
