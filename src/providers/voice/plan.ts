/**
 * Maps the audio of a reply that was played to the text that was heard. Positions in the text are code points from the
 * beginning of the reply.
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
  /** Text as the model wrote it. */
  readonly raw: string;
  /** Text as the voice received it. */
  readonly spokenText: string;
  /** UTF-16 units at the beginning of `raw` that are not spoken, such as code; 0 if absent. */
  readonly silent?: number;
}

/** A spoken word and the unspoken characters that follow it. */
export interface PlannedWord {
  /** Position at which the word ends in the text, without white space. */
  readonly textEnd: number;
  /** Samples of the sentence before the word, and samples after which half of the word was played. */
  readonly begin: number;
  readonly half: number;
}

/** A sentence of a reply whose audio is complete. */
export interface UtterancePlan {
  /** Code points of the sentence: `from` is included, `to` is not. */
  readonly from: number;
  readonly to: number;
  /** Position before the first word is heard: after unspoken text at the beginning. */
  readonly before: number;
  readonly samples: number;
  readonly words: readonly PlannedWord[];
}

/**
 * Returns the position that was heard after so many samples of the sentence: never within a word, never after white
 * space.
 */
export const heardAt = (plan: UtterancePlan, samples: number): number => behind(plan, ({ half }) => half <= samples);

/**
 * Returns the position after the last word that begins within the samples; never before the position that was heard.
 */
export const begunAt = (plan: UtterancePlan, samples: number): number => behind(plan, ({ begin }) => begin < samples);

/** Returns the position after the leading words that are reached. */
function behind({ words, before }: UtterancePlan, isReached: (word: PlannedWord) => boolean): number {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(words[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? before : words[low - 1]!.textEnd;
}

/**
 * Plans a sentence. `spans`: of the words of `said`. `sayable`: filter of the voice, if it has one. All samples have
 * one rate.
 */
export function planOf(
  { from, raw, spokenText, silent = 0 }: PlannedText,
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
    spokenText,
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
    // White space at the reply's beginning belongs to no word.
    else if (from > 0) before = end;
  }
  return { from, to: from + codePoints(raw), before, samples, words };
}

/** False for signs alone, which a voice does not speak: any number of them may follow a sentence. */
const mayBeSaid = (text: string): boolean => hasWord(text.normalize('NFKD'));

/** Returns for each word of the text its span; undefined for an unspoken word. */
function spansOf(
  texts: readonly (readonly string[])[],
  spokenText: string,
  spans: readonly WordSpan[],
): (WordSpan | undefined)[] {
  const expected = texts.flatMap((words, text) => words.map((word) => ({ word, text })));
  const spoken = wordsOf(spokenText).flatMap(({ text }, index) =>
    bareWords(text).map((word) => ({ word, span: spans[index]! })),
  );
  const wordSpans: (WordSpan | undefined)[] = texts.map(() => undefined);
  for (const [index, counterpart] of counterparts(
    expected.map(({ word }) => word),
    spoken.map(({ word }) => word),
  ).entries()) {
    if (counterpart < 0) continue;
    const { text } = expected[counterpart]!;
    const { span } = spoken[index]!;
    wordSpans[text] = {
      from: Math.min(wordSpans[text]?.from ?? span.from, span.from),
      to: Math.max(wordSpans[text]?.to ?? 0, span.to),
    };
  }
  return wordSpans;
}

/** Returns the words of a text, without case and signs. */
const bareWords = (text: string): string[] =>
  wordsOf(text).flatMap((word) => word.text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '') || []);

/** Returns the clauses of a sentence; a voice may pause at their ends. */
const endsClause = /[,;:—–、，；：]["'”’)]*$/u;

/**
 * Distributes a sentence's words in proportion to their characters, between its first and its last sound; pauses lie at
 * commas if their numbers match.
 */
export function spansInProportion(spokenText: string, sounds: Sounds): WordSpan[] {
  const pieces = wordsOf(spokenText).map(({ text }) => text);
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

/** Spans of pieces that share stretches of sound by their characters. */
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

/**
 * Returns the sample before which the given number of samples sound; at the edge of a pause, the sample before or after
 * the pause.
 */
function placeIn(stretches: readonly Stretch[], sounding: number, before: boolean): number {
  let left = sounding;
  for (const { from, to } of stretches) {
    if (left < to - from || (before && left === to - from)) return Math.round(from + left);
    left -= to - from;
  }
  return stretches.at(-1)!.to;
}
