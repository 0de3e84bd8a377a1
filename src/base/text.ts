/** Positions in a text, counted in Unicode code points as the contract counts characters; and numbers in a text. */

const isHigh = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isLow = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;

/** V8 keeps a text of Latin-1 with a byte for each character, and finds at once that this cannot match there. */
const surrogate = /[\ud800-\udfff]/;

/** The code points of a text; a lone surrogate counts as one. */
export function codePoints(text: string): number {
  if (!surrogate.test(text)) return text.length;
  let count = text.length;
  for (let at = 1; at < text.length; at++) {
    if (isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) count--;
  }
  return count;
}

/** The index in UTF-16 units at which `count` code points have passed. */
export function indexAfter(text: string, count: number): number {
  if (count <= 0) return 0;
  if (!surrogate.test(text)) return Math.min(count, text.length);
  let at = 0;
  for (let left = count; left > 0 && at < text.length; left--) {
    at += isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1;
  }
  return at;
}

/** The text after the first `count` code points; null if it has fewer. */
export function textBehind(text: string, count: number): string | null {
  const at = indexAfter(text, count);
  return at === text.length && codePoints(text) < count ? null : text.slice(at);
}

/** Whether the text ends with the first half of a surrogate pair. */
export const endsInHalf = (text: string): boolean => text !== '' && isHigh(text.charCodeAt(text.length - 1));

/**
 * A whole number as English writes it: 8,000. `toLocaleString` loads the tables of all languages, a tenth of a start.
 */
export function grouped(count: number): string {
  const digits = String(count);
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return groups.join(',');
}

/** A count with its noun: `1 test`, `2 tests`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Whether a text is one line with something to see: no control character, line break or change of direction. */
export const isOneLine = (text: string): boolean =>
  /\S/.test(text) && !/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text);

/** Pieces of a text whose surrogate pairs may be split between two: gives back whole code points. */
export class WholePoints {
  /** A high surrogate whose other half has not come yet. */
  #half = '';

  /** Keeps back half a surrogate pair, and replaces halves that can never be completed. */
  take(piece: string): string {
    const text = this.#half + piece;
    const split = endsInHalf(text);
    this.#half = split ? text.slice(-1) : '';
    return (split ? text.slice(0, -1) : text).toWellFormed();
  }

  /** The sign in the place of a half that was kept back to the end; else empty. */
  rest(): string {
    const rest = this.#half === '' ? '' : '\ufffd';
    this.#half = '';
    return rest;
  }
}

/** The beginning of a text in one line: at most so many code points, white space made one blank. */
export function firstLine(text: string, most: number): string {
  // A code point has two units at most; the rest of the bound is for white space.
  const begin = text
    .slice(0, 4 * most)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return [...begin]
    .slice(0, most)
    .join('')
    .replace(/[\ud800-\udbff]$/, '');
}
