/**
 * The text of a reply that was heard when so much of its audio was played. Positions in the text are code points from
 * the beginning of the reply.
 */
import { codePoints } from '../../base/text.ts';
import type { WordSpan } from '../voice.ts';
import { counterparts } from './audio/alignment.ts';
import type { Sounds, Stretch } from './audio/sounds.ts';
import { hasWord, wordsOf } from './sentences.ts';
import { speakableText } from './speakable.ts';

/** A sentence of a reply. */
export interface PlannedText {
  /** Code points before it. */
  readonly from: number;
  /** As the model wrote it. */
  readonly raw: string;
  /** As the voice got it. */
  readonly said: string;
  /** UTF-16 units at the beginning of `raw` of which nothing is said, such as code; 0 if it is left out. */
  readonly silent?: number;
}

/** One word of the text that is said, with all behind it that is not. */
export interface PlannedWord {
  /** Where it ends in the text, without white space. */
  readonly textEnd: number;
  /** Samples of the sentence before it, and after which half of it was played. */
  readonly begin: number;
  readonly half: number;
}

/** One sentence of a reply, whose audio is known to its end. */
export interface UtterancePlan {
  /** The text that is its own: from one code point to before another. */
  readonly from: number;
  readonly to: number;
  /** The position before its first word was heard: behind text at its beginning that is not said. */
  readonly before: number;
  readonly samples: number;
  readonly words: readonly PlannedWord[];
}

/** The position when so many samples of the sentence were played: never within a word, never behind white space. */
export const heardAt = (plan: UtterancePlan, samples: number): number => behind(plan, ({ half }) => half <= samples);

/**
 * The position behind the words of which something is in so many samples of the sentence; never before what was heard
 * of them.
 */
export const begunAt = (plan: UtterancePlan, samples: number): number => behind(plan, ({ begin }) => begin < samples);

/** The position behind the words that are reached: the first of them, as many as there are. */
function behind({ words, before }: UtterancePlan, isReached: (word: PlannedWord) => boolean): number {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(words[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? before : words[low - 1]!.textEnd;
}

/** `spans`: of the words of `said`. `sayable`: the voice's, if it has one. All samples are of one rate. */
export function planOf(
  { from, raw, said, silent = 0 }: PlannedText,
  spans: readonly WordSpan[],
  samples: number,
  sayable: (text: string) => string = (text) => text,
): UtterancePlan {
  let [at, end] = [0, from];
  const texts = wordsOf(raw).map(({ text, index }) => {
    end += codePoints(raw.slice(at, (at = index + text.length)));
    return { text: index < silent ? '' : text, end };
  });
  const owned = spansOf(
    texts.map(({ text }) => (mayBeSaid(text) ? bareWords(sayable(speakableText(text))) : [])),
    said,
    spans,
  );
  const words: { textEnd: number; begin: number; half: number }[] = [];
  let before = from;
  for (const [index, { end }] of texts.entries()) {
    const span = owned[index];
    const last = words.at(-1);
    if (span !== undefined) {
      const half = Math.max(last?.half ?? 0, Math.ceil((span.from + span.to) / 2));
      words.push({ textEnd: end, begin: Math.max(last?.begin ?? -1, Math.min(span.from, half - 1)), half });
    } else if (last !== undefined) last.textEnd = end;
    // At the reply's beginning there is no word that it could belong to.
    else if (from > 0) before = end;
  }
  return { from, to: from + codePoints(raw), before, samples, words };
}

/** False for signs alone, which no voice says by themselves: a sentence may be followed by any number of them. */
const mayBeSaid = (text: string): boolean => hasWord(text.normalize('NFKD'));

/** For each word of the text the span in which it is said; undefined if it is not. */
function spansOf(
  texts: readonly (readonly string[])[],
  said: string,
  spans: readonly WordSpan[],
): (WordSpan | undefined)[] {
  const expected = texts.flatMap((words, text) => words.map((word) => ({ word, text })));
  const spoken = wordsOf(said).flatMap(({ text }, index) =>
    bareWords(text).map((word) => ({ word, span: spans[index]! })),
  );
  const found: (WordSpan | undefined)[] = texts.map(() => undefined);
  for (const [index, counterpart] of counterparts(
    expected.map(({ word }) => word),
    spoken.map(({ word }) => word),
  ).entries()) {
    if (counterpart < 0) continue;
    const { text } = expected[counterpart]!;
    const { span } = spoken[index]!;
    found[text] = {
      from: Math.min(found[text]?.from ?? span.from, span.from),
      to: Math.max(found[text]?.to ?? 0, span.to),
    };
  }
  return found;
}

/** The words of a piece of text, without case and signs. */
const bareWords = (text: string): string[] =>
  wordsOf(text).flatMap((word) => word.text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || []);

/** The clauses of a sentence, at whose ends a voice may pause. */
const endsClause = /[,;:—–、，；：]["'”’)]*$/u;

/**
 * The spans of a sentence's words in proportion to their characters, between its first and its last sound; pauses stand
 * at commas where there are as many.
 */
export function spansInProportion(said: string, sounds: Sounds): WordSpan[] {
  const pieces = wordsOf(said).map(({ text }) => text);
  const clauses: string[][] = [[]];
  for (const [index, piece] of pieces.entries()) {
    clauses.at(-1)!.push(piece);
    if (endsClause.test(piece) && index < pieces.length - 1) clauses.push([]);
  }
  const stretches = sounds.stretches();
  if (clauses.length === stretches.length)
    return clauses.flatMap((clause, index) => shared(clause, [stretches[index]!]));
  return shared(pieces, stretches);
}

/** Spans of pieces that share stretches by their characters. */
function shared(pieces: readonly string[], stretches: readonly Stretch[]): WordSpan[] {
  const characters = pieces.map((piece) => codePoints(piece));
  const all = characters.reduce((sum, count) => sum + count, 0);
  const sounding = stretches.reduce((sum, { from, to }) => sum + to - from, 0);
  let passed = 0;
  return characters.map((count) => {
    const from = placeIn(stretches, (passed / all) * sounding, false);
    passed += count;
    return { from, to: placeIn(stretches, (passed / all) * sounding, true) };
  });
}

/** The sample at which so many sound; at the edge of a pause the one before it or behind it. */
function placeIn(stretches: readonly Stretch[], sounding: number, before: boolean): number {
  let left = sounding;
  for (const { from, to } of stretches) {
    if (left < to - from || (before && left === to - from)) return Math.round(from + left);
    left -= to - from;
  }
  return stretches.at(-1)!.to;
}
