/** Returns the spoken form of a text: without marks of Markdown, and with a site's name for its address. */

/** A link or an image; its text is spoken. */
const links = /!?\[([^[\]\n]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"\n]*")?\)/gu;
const bracketed = /<(https?:\/\/[^\s<>]*)>|<mailto:([^\s<>]*)>/giu;

/**
 * Marks of Markdown and their spoken replacement, in this order: a fence before the code in a line, bold before
 * italics.
 */
const marks: readonly (readonly [RegExp, string])[] = [
  [/^[ \t]*(?:```|~~~).*$/gmu, ''],
  [/^[ \t]*(?:[-*_][ \t]*){3,}$/gmu, ''],
  [/^[ \t]*(?:\||:?-+:?[ \t]*\|)[ \t|:-]*$/gmu, ''],
  [/^(?:[ \t]*>)+[ \t]?/gmu, ''],
  [/^[ \t]*#{1,6}[ \t]+/gmu, ''],
  [/^[ \t]*[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?/gmu, ''],
  [/^[ \t]*\||\|[ \t]*$/gmu, ''],
  [/(?<![ \t])[ \t]+\|[ \t]+/gu, ', '],
  [/<br\s*\/?>/giu, ' '],
  // Formulas between dollar signs; two dollar signs are never a price.
  [/(?<!\\)\$\$/gu, ''],
  [/(?<![\\$\p{L}\p{N}])\$(?=[^\s\d$])([^$\n]*)(?<![\s\\])\$(?![$\p{L}\p{N}])/gu, '$1'],
  // A backslash means that the next character is not a mark; a star is never spoken.
  [/\\(?=[\p{P}\p{S}])/gu, ''],
  [/\*{2,}|~~|`+/gu, ''],
  // A single star or underscore is a mark only at a word's edge: not in "2 * 3" and not in "snake_case".
  [/(?<=^|[\s\p{P}])[*_]+(?=\S)|(?<=\S)[*_]+(?=$|[\s\p{P}])/gmu, ''],
];

/**
 * Emoji, with the characters that join and tint them. Digits and signs such as © are emoji only before a selector;
 * otherwise they are spoken.
 */
const pictures =
  /(?![©®™‼⁉ℹ])\p{Extended_Pictographic}|[\p{Emoji_Modifier}\p{Regional_Indicator}\u200d\u20e3\ufe0e\ufe0f\u{e0020}-\u{e007f}]/gu;

/** An address of the Web, in the characters that addresses have; a script without spaces may follow it at once. */
const addresses = /(?:https?:\/\/|www\.)[!#-;=?-~\u00c0-\u024f\u0400-\u04ff]+/giu;
const addressEnd = /^[!#-;=?-~\u00c0-\u024f\u0400-\u04ff]*$/u;
/** Signs that belong to the sentence around an address. */
const around = '.,;:!?\'")]}*_~';

/** Name of the site, such as `example.com`, and the signs after its address. */
function siteOf(address: string): string {
  let end = address.length;
  while (around.includes(address[end - 1]!)) end--;
  const [, site] = /^(?:https?:\/\/)?(?:[^@/?#]*@)?(?:www\.)?([^:/?#]*)/iu.exec(address.slice(0, end))!;
  return site + address.slice(end);
}

/** Whether more of an address may follow: no sentence and no piece ends within an address. */
export function endsInAddress(text: string): boolean {
  const word = text.split(/\s/u).at(-1)!;
  const begins = Math.max(word.lastIndexOf('://'), word.lastIndexOf('www.'));
  return begins >= 0 && addressEnd.test(word.slice(begins));
}

/** Entities that models write in text. */
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  euro: '€',
  pound: '£',
  yen: '¥',
  cent: '¢',
  copy: '©',
  reg: '®',
  trade: '™',
  deg: '°',
  times: '×',
  divide: '÷',
  plusmn: '±',
  frac12: '½',
  sect: '§',
  middot: '·',
};
const entity = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}\d{0,2}));/giu;

function characterOf(
  whole: string,
  decimal: string | undefined,
  hexadecimal: string | undefined,
  name: string | undefined,
): string {
  if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
  const point = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal);
  return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
}

/**
 * Returns the text for the synthesiser: without marks of Markdown and without emoji, in one line, with the name of a
 * site for its address. It may be empty, as for a link's bare address in brackets.
 */
export function speakableText(text: string): string {
  const unlinked = text.replace(links, '$1').replace(bracketed, '$1$2').replace(addresses, siteOf);
  const unmarked = marks.reduce((rest, [mark, spokenText]) => rest.replace(mark, spokenText), unlinked);
  const plain = unmarked.replace(entity, characterOf).replace(pictures, '');
  // Rows of dots or dashes have no sound, but some synthesisers take time over each.
  return plain
    .replace(/([^\p{L}\p{N}\s])\1{3,}/gu, '$1$1$1')
    .replace(/\s+/gu, ' ')
    .trim();
}
