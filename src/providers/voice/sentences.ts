/** Splits prose into pieces that are synthesised one after another. */
import { endsInAddress } from './speakable.ts';

/** A piece of more code points than this counts as several: the listener would wait too long for its first sound. */
const pieceMax = 200;

/**
 * Created with the first text: the first segmenter reads tables for some ten milliseconds, which would delay a start.
 */
const segmenters: { sentence?: Intl.Segmenter; word?: Intl.Segmenter } = {};

/** Characters that are segmented at a time: the time for each segment grows with the length of the whole text. */
const segmentedAtOnce = 2_000;

function segmentsOf(text: string, granularity: 'sentence' | 'word'): string[] {
  const segmenter = (segmenters[granularity] ??= new Intl.Segmenter('en', { granularity }));
  const found: string[] = [];
  for (let from = 0; from < text.length;) {
    const part = text.slice(from, from + segmentedAtOnce);
    const segments = hasWord(part) ? Array.from(segmenter.segment(part), ({ segment }) => segment) : [part];
    // The last sentence may continue after these characters, unless it is as long as all of them; then it is cut here.
    if (from + part.length < text.length && segments.length > 1) segments.pop();
    for (const segment of segments) from += segment.length;
    found.push(...segments);
  }
  return found;
}

/** Abbreviations that do not end a sentence. The segmenter does not cut before a small letter anyway. */
const always =
  'Dr Mr Mrs Ms Mx Prof Rev Hon Capt Col Gen Lt Maj Sgt Gov Sen Rep Pres St Mt Ft Messrs Mme Mlle Jr Sr Inc Ltd Corp Co Dept Ave Blvd Rd ' +
  'Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec e.g i.e cf viz etc vs al approx dept est';
/** Abbreviations that are words as well; they are abbreviations only before a number. */
const beforeNumbers = 'No no Nos nos Fig fig Figs figs Vol vol Art art Sec sec Ch ch p pp c ca';

/** Matches one of the words at the end of a text, as it is or in capitals, with its full stop. */
const ending = (words: string): string =>
  `(?<![\\p{L}\\p{N}.])(?:${`${words} ${words.toUpperCase()}`.replaceAll('.', '\\.').replaceAll(' ', '|')})\\.$`;
const endsInAbbreviation = new RegExp(ending(always), 'u');
const endsInNumberWord = new RegExp(ending(beforeNumbers), 'u');
/** One capital letter, alone or after others: "J.", "J. R. R.", "U.S.". */
const endsInInitial = /(?<![\p{L}\p{N}])\p{Lu}\.$/u;

/** Whether the text has a letter or a digit, without which nothing is spoken. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/**
 * Splits a text into sentences that join to the same text, so that the code points of each can be counted. A sentence
 * ends where `Intl.Segmenter` ends one, except after an abbreviation, which the segmenter does not know. A sentence of
 * more than 200 code points is cut at white space, or at 200 without white space; a web address is never cut. Text
 * without a letter or digit belongs to the sentence before it (at the start, to the sentence after it), even beyond the
 * 200, because it is not spoken. A text without letters and digits is one sentence; an empty text has no sentence.
 */
export function sentencesOf(text: string): string[] {
  return joined(mended(segmentsOf(text, 'sentence')).flatMap(cut));
}

/**
 * Characters at the end of a piece that decide whether its sentence continues: an abbreviation, the text before it, and
 * some white space.
 */
const endCharacters = 64;

/**
 * Joins segments that were split after an abbreviation, and marks to the sentence that they close. A line break always
 * ends a sentence.
 */
function mended(segments: readonly string[]): string[] {
  const pieces: string[][] = [];
  // Examines the end of the last piece alone: a piece of many segments would otherwise take the square of their number.
  let end = '';
  let inAddress = false;
  for (const segment of segments) {
    const before = pieces.at(-1);
    const closing = before === undefined || /\s$/u.test(end) ? '' : (closingMarks.exec(segment)?.[0] ?? '');
    const rest = segment.slice(closing.length);
    if (before !== undefined && (inAddress || goesOn(end, segment))) before.push(segment);
    else {
      if (closing !== '') before!.push(closing);
      if (rest !== '') pieces.push([rest]);
    }
    end = (pieces.at(-1) === before ? end + segment : rest).slice(-endCharacters);
    inAddress = endsInAddress(inAddress ? `://${segment}` : segment);
  }
  return pieces.map((parts) => parts.join(''));
}

/** Matches a mark such as the end of bold text, which the segmenter takes for the beginning of the next sentence. */
const closingMarks = /^[^\s\p{L}\p{N}]+\s+/u;

/** Joins two pieces. `end`: end of the piece before. */
function goesOn(end: string, next: string): boolean {
  const trimmed = end.trimEnd();
  if (/[\n\r\u2028\u2029]/u.test(end.slice(trimmed.length))) return false;
  return endsShort(trimmed) || (endsInNumberWord.test(trimmed) && /^\p{N}/u.test(next));
}

/**
 * Whether the text ends in an abbreviation that does not end a sentence. A quotation mark or a bracket after it ends
 * more than a word, so only white space is ignored.
 */
export function endsShort(text: string): boolean {
  const end = text.trimEnd().slice(-endCharacters);
  return endsInAbbreviation.test(end) || endsInInitial.test(end);
}

function cut(piece: string): string[] {
  const points = Array.from(piece);
  const pieces: string[] = [];
  let from = 0;
  while (points.length - from > pieceMax) {
    let to = from + pieceMax;
    while (to > from && !/\s/u.test(points[to - 1]!)) to--;
    if (to === from) to = endOfWord(points, from);
    pieces.push(points.slice(from, to).join(''));
    from = to;
  }
  return [...pieces, points.slice(from).join('')];
}

/**
 * Returns the position at which a word of more than 200 code points is cut: after 200, or after a whole address, which
 * is barely spoken.
 */
function endOfWord(points: readonly string[], from: number): number {
  let to = from + pieceMax;
  if (endsInAddress(points.slice(from, to).join(''))) while (to < points.length && !/\s/u.test(points[to++]!));
  return to;
}

function joined(pieces: readonly string[]): string[] {
  const sayable: string[] = [];
  let start = '';
  for (const piece of pieces) {
    if (hasWord(piece)) sayable.push(sayable.length === 0 ? start + piece : piece);
    else if (sayable.length === 0) start += piece;
    else sayable[sayable.length - 1] += piece;
  }
  return sayable.length > 0 || start === '' ? sayable : [start];
}

/** Scripts without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

export interface Word {
  readonly text: string;
  /** Length in UTF-16 units. */
  readonly index: number;
}

/**
 * Returns the words of a text with their punctuation: the parts between white space, or single words in a script
 * without spaces.
 */
export const wordsOf = (text: string): Word[] =>
  Array.from(text.matchAll(/\S+/gu)).flatMap(({ 0: word, index }) =>
    unspaced.test(word) ? wordsWithin(word, index) : { text: word, index },
  );

function wordsWithin(text: string, from: number): Word[] {
  const words: { text: string; index: number }[] = [];
  let index = from;
  let isWord = false;
  for (const segment of segmentsOf(text, 'word')) {
    const last = words.at(-1);
    const begins = hasWord(segment);
    if (last === undefined || (begins && isWord)) words.push({ text: segment, index });
    else last.text += segment;
    isWord = begins || isWord;
    index += segment.length;
  }
  return words;
}
