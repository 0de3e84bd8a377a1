/**
 * Estimates the length of speech from its text before synthesis. A sentence of 200 characters lasts eleven seconds in
 * prose and one or two minutes in digits or signs. A sentence that would last too long is cut into pieces, each short
 * work for a voice process.
 */
import type { VoiceProvider } from '../voice.ts';
import { announcementAfter } from './announcement.ts';
import { partsOf, type Part } from './code-blocks.ts';
import { hasWord, sentencesOf } from './sentences.ts';
import { speakableText } from './speakable.ts';

/** Estimated milliseconds of sound after which a sentence is cut. */
export const voicePieceMs = 20_000;

/** A piece of a text, as it is written and as the voice receives it. */
export interface VoicedText {
  readonly raw: string;
  readonly spokenText: string;
}

/** Properties of a voice that decide the length of its speech. */
export interface Saying {
  /** Returns the text without characters that the voice cannot say; it may be empty. */
  readonly sayable: (text: string) => string;
  /** Whether the voice says the names of the letters of words that it cannot pronounce. */
  readonly spells: boolean;
}

export const sayingOf = (provider: Pick<VoiceProvider, 'sayable' | 'spells'>): Saying => ({
  sayable: (text) => provider.sayable?.(text) ?? text,
  spells: provider.spells ?? false,
});

/** Letters, digits, and signs, each kind in a row. */
const runs = /[\p{L}\p{M}]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]+/gu;
/** Signs that have a name, such as "backslash". */
const namedSigns = /[#$%&*+/=@\\^_|~]/gu;
const pauses = /[.,;:!?]/u;

/**
 * Milliseconds of a letter in a word, of a letter that is spelt, of a letter that stands alone, and of a short word.
 */
const [letterMs, namedLetterMs, singleMs, shortWordMs] = [65, 300, 400, 150];
/**
 * Milliseconds of a digit in a number, of a digit in a longer row that is read digit by digit, of a sign with a name,
 * and of a pause.
 */
const [digitMs, readOutMs, signMs, pauseMs] = [550, 330, 600, 150];
/** Number of digits above which they are read one by one, and of letters above which a word counts as spelt. */
const [numberDigitsMax, wordLettersMax] = [12, 20];

/**
 * Whether an English voice spells the word: it is too long, has no vowel, five consonants in a row, or a capital
 * inside.
 */
const isSpelt = (word: string): boolean =>
  /^[a-z]+$/iu.test(word) &&
  (word.length > wordLettersMax || !/[aeiouy]/iu.test(word) || /[^aeiouy]{5}/iu.test(word) || /[a-z][A-Z]/u.test(word));

function runMs(run: string, spells: boolean): number {
  if (/^\p{N}/u.test(run)) return run.length * (run.length > numberDigitsMax ? readOutMs : digitMs);
  if (!/^[\p{L}\p{M}]/u.test(run))
    return signMs * (run.match(namedSigns)?.length ?? 0) + (pauses.test(run) ? pauseMs : 0);
  if (run.length === 1) return /[aio]/iu.test(run) ? shortWordMs : singleMs;
  return run.length * (spells && isSpelt(run) ? namedLetterMs : letterMs);
}

/** Milliseconds that a voice takes for a text at its normal speed, within a factor of two. */
export const soundMs = (spokenText: string, { spells }: Pick<Saying, 'spells'>): number =>
  Array.from(spokenText.matchAll(runs), ([run]) => runMs(run, spells)).reduce((sum, ms) => sum + ms, 0);

/**
 * Splits a sentence into pieces that join to the same sentence: usually one. A block of code gives one with the
 * announcement and one without a sound. `before`: the prose before it, whose language the announcement has if the voice
 * can say it.
 */
export function piecesOf({ kind, raw }: Pick<Part, 'kind' | 'raw'>, saying: Saying, before: string): VoicedText[] {
  if (kind === 'prose') return shortened(voicedOf(raw, saying), saying);
  if (kind === 'code') return [{ raw, spokenText: '' }];
  const announcement = saying.sayable(announcementAfter(before));
  return [{ raw, spokenText: hasWord(announcement) ? announcement : saying.sayable(announcementAfter('')) }];
}

/**
 * Splits a text into sentences and blocks of code that join to the same text; `fence`: fence of the block in which it
 * begins.
 */
export const sentencesAndCode = (text: string, fence: string | null = null): Part[] =>
  partsOf(text, fence).flatMap((part) =>
    part.kind === 'prose' ? sentencesOf(part.raw).map((raw) => ({ ...part, raw })) : [part],
  );

const voicedOf = (raw: string, { sayable }: Saying): VoicedText => ({ raw, spokenText: sayable(speakableText(raw)) });

function shortened(whole: VoicedText, saying: Saying): VoicedText[] {
  if (soundMs(whole.spokenText, saying) <= voicePieceMs) return [whole];
  const halves = halvesOf(whole, saying) ?? halvesOfSaid(whole);
  return halves === null ? [whole] : halves.flatMap((half) => shortened(half, saying));
}

/** Ends of clauses and of words. */
const clauseEnds = /[,;:](?=\s)\s*|—\s*/gu;
const wordEnds = /\s+/gu;
/** Number of positions of each kind that are tried. */
const triesMax = 4;

/** Halves a text at a position that does not change its spoken form; null if none is near its middle. */
function halvesOf({ raw, spokenText }: VoicedText, saying: Saying): [VoicedText, VoicedText] | null {
  for (const place of places(raw)) {
    const [left, right] = [voicedOf(raw.slice(0, place), saying), voicedOf(raw.slice(place), saying)];
    if (
      hasWord(left.spokenText) &&
      hasWord(right.spokenText) &&
      bare(left.spokenText + right.spokenText) === bare(spokenText)
    )
      return [left, right];
  }
  return null;
}

/** Letters and digits that are spoken. */
const bare = (spokenText: string): string => spokenText.replace(/[^\p{L}\p{N}]/gu, '');

/** Positions near the middle of a text: ends of clauses first, then ends of words, then any other. */
function* places(text: string): Generator<number> {
  const middle = text.length / 2;
  const near = (ends: readonly number[]): number[] =>
    ends
      .filter((end) => Math.abs(end - middle) <= text.length / 4)
      .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
      .slice(0, triesMax);
  for (const kind of [clauseEnds, wordEnds])
    yield* near(Array.from(text.matchAll(kind), ({ 0: found, index }) => index + found.length));
  yield* near(Array.from({ length: triesMax }, (_, index) => pointAt(text, Math.round(middle) + index)));
}

/** Beginning of the code point at an index. */
const pointAt = (text: string, index: number): number =>
  /[\udc00-\udfff]/.test(text[index] ?? '') ? index - 1 : index;

/** Halves the spoken text near its middle, with the same shares of the written text. Null if it cannot be split. */
function halvesOfSaid({ raw, spokenText }: VoicedText): [VoicedText, VoicedText] | null {
  for (const place of places(spokenText)) {
    const [left, right] = [spokenText.slice(0, place), spokenText.slice(place)];
    if (!hasWord(left) || !hasWord(right)) continue;
    const end = pointAt(raw, Math.round((raw.length * place) / spokenText.length));
    return [
      { raw: raw.slice(0, end), spokenText: left.trim() },
      { raw: raw.slice(end), spokenText: right.trim() },
    ];
  }
  return null;
}
