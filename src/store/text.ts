/** Positions in a text, counted in code points as the contract counts characters. */

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The code points of a text. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at++) {
    if (isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) count--;
  }
  return count;
}

/** The text without its first `count` code points. */
export function afterCodePoints(text: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0 && at < text.length; left--) {
    at += isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1;
  }
  return text.slice(at);
}
