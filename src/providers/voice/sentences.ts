/** Cuts prose into pieces that are synthesised one after another. */
import { endsInAddress } from './speakable.ts';

/** A piece of more code points than this counts as several: the listener would wait too long for its first sound. */
const pieceMax = 200;

/** Made with their first texts: the first reads tables for some ten milliseconds, which a start would wait for. */
const segmenters: { sentence?: Intl.Segmenter; word?: Intl.Segmenter } = {};

/**
 * Characters that are segmented at a time: for each segment of a longer text the segmenter takes time in proportion to
 * the whole.
 */
const segmentedAtOnce = 2_000;

function segmentsOf(text: string, granularity: 'sentence' | 'word'): string[] {
  const segmenter = (segmenters[granularity] ??= new Intl.Segmenter('en', { granularity }));
  const found: string[] = [];
  for (let from = 0; from < text.length;) {
    const part = text.slice(from, from + segmentedAtOnce);
    const segments = hasWord(part) ? Array.from(segmenter.segment(part), ({ segment }) => segment) : [part];
    // The last one may go on behind these characters; one as long as all of them is cut.
    if (from + part.length < text.length && segments.length > 1) segments.pop();
    for (const segment of segments) from += segment.length;
    found.push(...segments);
  }
  return found;
}

/**
 * Abbreviations after which a sentence goes on, whatever follows. Before a small letter the segmenter does not cut
 * anyway.
 */
const always =
  'Dr Mr Mrs Ms Mx Prof Rev Hon Capt Col Gen Lt Maj Sgt Gov Sen Rep Pres St Mt Ft Messrs Mme Mlle Jr Sr Inc Ltd Corp Co Dept Ave Blvd Rd ' +
  'Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec e.g i.e cf viz etc vs al approx dept est';
/** Abbreviations that are words as well, and short only before a number. */
const beforeNumbers = 'No no Nos nos Fig fig Figs figs Vol vol Art art Sec sec Ch ch p pp c ca';

/** At the end of a text: one of the words, as it is or in capitals, and its full stop. */
const ending = (words: string): string =>
  `(?<![\\p{L}\\p{N}.])(?:${`${words} ${words.toUpperCase()}`.replaceAll('.', '\\.').replaceAll(' ', '|')})\\.$`;
const endsInAbbreviation = new RegExp(ending(always), 'u');
const endsInNumberWord = new RegExp(ending(beforeNumbers), 'u');
/** One capital letter, alone or after others: "J.", "J. R. R.", "U.S.". */
const endsInInitial = /(?<![\p{L}\p{N}])\p{Lu}\.$/u;

/** Whether there is a letter or a digit, without which nothing is said. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/**
 * The pieces of a text, which joined are the text again, so that the code points of each can be counted. A sentence
 * ends where `Intl.Segmenter` ends one, but not after an abbreviation, which it knows nothing of. A piece of more than
 * 200 code points is cut at white space, or where there is none at 200; an address of the Web is cut nowhere. Text
 * without a letter or digit belongs to the piece before it (at the start, to the piece after it), even beyond the 200,
 * as nothing of it is said. A text with neither is one piece; an empty one has none.
 */
export function sentencesOf(text: string): string[] {
  return joined(mended(segmentsOf(text, 'sentence')).flatMap(cut));
}

/**
 * Characters at the end of a piece that show whether its sentence goes on: an abbreviation, what stands before it, and
 * some white space.
 */
const endCharacters = 64;

/**
 * Joins segments that were cut after an abbreviation, and marks to the sentence that they close. A line break ends a
 * sentence all the same.
 */
function mended(segments: readonly string[]): string[] {
  const pieces: string[][] = [];
  // The end of the last piece alone: to look at a piece of many segments anew with each of them would take their
  // square.
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

/** Such as the end of bold text, which the segmenter takes for the beginning of the next sentence. */
const closingMarks = /^[^\s\p{L}\p{N}]+\s+/u;

/** `end`: of the piece before. */
function goesOn(end: string, next: string): boolean {
  const trimmed = end.trimEnd();
  if (/[\n\r\u2028\u2029]/u.test(end.slice(trimmed.length))) return false;
  return endsShort(trimmed) || (endsInNumberWord.test(trimmed) && /^\p{N}/u.test(next));
}

/**
 * Whether the text ends in an abbreviation after which a sentence goes on. A quotation mark or a bracket behind it ends
 * more than a word, so only white space is left out.
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
 * Where a word of more than 200 code points is cut: behind 200, or behind all of an address, of which little is said.
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

/** Scripts that set no space between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

export interface Word {
  readonly text: string;
  /** In UTF-16 units. */
  readonly index: number;
}

/**
 * The words of a text with their punctuation: what stands between white space, and its words where a script sets none.
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
