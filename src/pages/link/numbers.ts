/**
 * Numbers as people write them: in the digits of any script, with a point or a comma, and with marks between thousands.
 */

/** Returns NaN for a text that is no number. */
export function numberOf(text: string): number {
  // Full-width forms become plain ones; marks that turn the order of text are left out.
  const plain = text
    .normalize('NFKC')
    .replace(/[\p{Cf}\s'’٬]/gu, '')
    .replace(/\p{Nd}/gu, digit)
    .replace(/[−‐–]/g, '-')
    .replace(/[٫،、]/g, ',');
  const [first, last] = [plain.search(/[.,]/), Math.max(plain.lastIndexOf('.'), plain.lastIndexOf(','))];
  if (first === last) return plain === '' ? NaN : Number(plain.replace(',', '.'));
  // The last of two kinds of marks separates the decimals; one kind that occurs again separates thousands.
  const decimals = plain[first] === plain[last] ? '' : plain[last]!;
  const thousands = plain[first]!;
  const [whole, part, ...more] = decimals === '' ? [plain] : plain.split(decimals);
  const groups = whole!.split(thousands);
  // Groups of two digits stand before the last one in India.
  const isGrouped =
    /^[-+]?\d{1,3}$/.test(groups[0]!) &&
    groups.slice(1).every((group, at, all) => (at === all.length - 1 ? /^\d{3}$/ : /^\d{2,3}$/).test(group));
  return isGrouped && more.length === 0 && !part?.includes(thousands)
    ? Number(groups.join('') + (part === undefined ? '' : `.${part}`))
    : NaN;
}

/** The value of a decimal digit: each script has its ten in a row, and no two scripts adjoin. */
function digit(char: string): string {
  const at = char.codePointAt(0)!;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(at - value - 1))) value++;
  return String(value);
}
