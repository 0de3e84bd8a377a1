/**
 * Rewrites a text for an English voice: in ASCII, with words for signs. Characters without a sound, such as letters of
 * another script, are left out.
 */

/** A number, with commas between its thousands, or one for its hundredths. */
const number = String.raw`\d+(?:,\d{3})*(?:\.\d+)?|\d+,\d{2}(?!\d)`;
/** A number as most of Europe writes it, with a comma before its hundredths; in a sum of money also without them. */
const european = /(?<![\d.,])\d{1,3}(?:[.' ]\d{3}){1,4},\d\d(?![.,]?\d)/gu;
const europeanSum = /(?<=€ ?)\d{1,3}(?:\.\d{3}){1,4}(?![.,]?\d)|(?<![\d.,])\d{1,3}(?:\.\d{3}){1,4}(?= ?€)/gu;
const anglicized = (number: string): string => number.replace(/[.' ]/gu, ',').replace(/,(?=\d\d$)/u, '.');
const magnitude = 'thousand|million|billion|trillion|bn|k|m';
const magnitudes: Readonly<Record<string, string>> = { bn: 'billion', k: 'thousand', m: 'million' };

interface Currency {
  readonly one: string;
  readonly many: string;
  /** Name of the hundredths; null for a currency without them. */
  readonly parts: string | null;
}

const currencies: Readonly<Record<string, Currency>> = {
  $: { one: 'dollar', many: 'dollars', parts: 'cents' },
  '€': { one: 'euro', many: 'euros', parts: 'cents' },
  '£': { one: 'pound', many: 'pounds', parts: 'pence' },
  '¥': { one: 'yen', many: 'yen', parts: null },
  '₹': { one: 'rupee', many: 'rupees', parts: 'paise' },
  '₩': { one: 'won', many: 'won', parts: null },
  '₽': { one: 'ruble', many: 'rubles', parts: 'kopecks' },
  '₺': { one: 'lira', many: 'lira', parts: null },
  '₪': { one: 'shekel', many: 'shekels', parts: null },
  '₿': { one: 'bitcoin', many: 'bitcoins', parts: null },
  '¢': { one: 'cent', many: 'cents', parts: null },
};
const sign = `[${Object.keys(currencies).join('')}]`;
const anySign = new RegExp(sign, 'gu');
const before = new RegExp(String.raw`(${sign})\s?(${number})(?:\s?(${magnitude})\b)?`, 'giu');
const behind = new RegExp(String.raw`(?<!\d,?)(${number})(?:\s?(${magnitude}))?\s?(${sign})`, 'giu');

function amount(sum: string, size: string | undefined, { one, many, parts }: Currency): string {
  if (size !== undefined) return ` ${sum} ${magnitudes[size.toLowerCase()] ?? size} ${many} `;
  const [whole, hundredths] = sum.split(/[.,](?=\d{2}$)/);
  if (parts === null || hundredths?.length !== 2) return ` ${sum} ${sum === '1' ? one : many} `;
  const wholes = `${whole} ${whole === '1' ? one : many}`;
  return ` ${hundredths === '00' ? wholes : `${wholes} and ${Number(hundredths)} ${parts}`} `;
}

const fractions: Readonly<Record<string, string>> = {
  '½': 'one half',
  '⅓': 'one third',
  '⅔': 'two thirds',
  '¼': 'one quarter',
  '¾': 'three quarters',
  '⅕': 'one fifth',
  '⅖': 'two fifths',
  '⅗': 'three fifths',
  '⅘': 'four fifths',
  '⅙': 'one sixth',
  '⅚': 'five sixths',
  '⅛': 'one eighth',
  '⅜': 'three eighths',
  '⅝': 'five eighths',
  '⅞': 'seven eighths',
};
const fraction = new RegExp(`(\\d\\s?)?([${Object.keys(fractions).join('')}])`, 'gu');

/** Word between the ends of a range of numbers, times or sums. */
const range = new RegExp(
  String.raw`(?<![\p{L}\p{N}.,:/-])(${sign} ?)?(\d{1,4}(?:[.,:]\d{1,2})?)( ?[ap]\.?m\.?)? ?[-–—] ?(${sign} ?)?(\d{1,4}(?:[.,:]\d{1,2})?)(?![\p{N}:/-]|[.,]\d)`,
  'giu',
);

/** Two numbers of a growing row are a range; a score, a date and a telephone number are not. */
function rangeOf(
  whole: string,
  leftSign: string | undefined,
  left: string,
  half: string | undefined,
  rightSign: string | undefined,
  right: string,
): string {
  const [from, to] = [Number(left.replace(/[,:]/, '.')), Number(right.replace(/[,:]/, '.'))];
  const areTimes = half !== undefined || (left.includes(':') && right.includes(':'));
  const isTelephone = right.length === 4 && (left.length === 3 || (to >= 2100 && (from % 10 !== 0 || to % 10 !== 0)));
  if (!areTimes && (from >= to || isTelephone)) return whole;
  // A sign before the first number applies to both numbers.
  const isShared = leftSign !== undefined && rightSign === undefined;
  return `${isShared ? '' : (leftSign ?? '')}${left}${half ?? ''} to ${rightSign ?? leftSign ?? ''}${right}`;
}

/** Signs whose meaning is lost once compatible forms are folded. */
const unfolded: readonly (readonly [RegExp, string])[] = [
  [/(?<=\p{L})²/gu, ' squared'],
  [/(?<=\p{L})³/gu, ' cubed'],
  [/™/gu, ' trademark '],
  [/№\s?/gu, ' number '],
];

/** Dashes at numbers, which may be sums of money. */
const dashes: readonly (readonly [RegExp, string])[] = [
  [/(?<![\p{L}\p{N}])[-−](?=[$€£¥₹]?\d)/gu, ' minus '],
  [/(?<=\d)\s?[–—](?=\s?\d)/gu, ' to '],
];

/** Signs and their spoken words, in this order. */
const signs: readonly (readonly [RegExp, string])[] = [
  [/°\s?C\b/gu, ' degrees Celsius '],
  [/°\s?F\b/gu, ' degrees Fahrenheit '],
  [/[°º](?!\p{L})/gu, ' degrees '],
  [/%/gu, ' percent '],
  [/‰/gu, ' per mille '],
  [/&/gu, ' and '],
  [/\+/gu, ' plus '],
  [/±/gu, ' plus or minus '],
  [/=/gu, ' equals '],
  [/≠/gu, ' does not equal '],
  [/≤/gu, ' at most '],
  [/≥/gu, ' at least '],
  [/(?<=[\d\s])<(?=[\d\s])/gu, ' less than '],
  [/(?<=[\d\s])>(?=[\d\s])/gu, ' greater than '],
  [/[≈~](?=\s?\d)/gu, ' about '],
  [/×|(?<=\d\s?)\*(?=\s?\d)/gu, ' times '],
  [/÷/gu, ' divided by '],
  [/−/gu, ' minus '],
  [/√/gu, ' the square root of '],
  [/∞/gu, ' infinity '],
  [/→/gu, ' to '],
  [/@/gu, ' at '],
  // Full stop in a name, such as "example.com".
  [/(?<=[\p{L}\p{N}])\.(?=[a-z]{2})/gu, ' dot '],
  [/#(?=\d)/gu, ' number '],
  [/#(?=\p{L})/gu, ' hashtag '],
  [/©/gu, ' copyright '],
  [/®/gu, ' registered '],
  [/§\s?/gu, ' section '],
  [/[µμ](?=\p{L}|\s|$)/gu, ' micro '],
  [/π/gu, ' pi '],
  [/Ω/gu, ' ohms '],
];

/** Letters that do not decompose into a letter and a mark. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'th',
  Ð: 'Th',
  þ: 'th',
  Þ: 'Th',
  ı: 'i',
  ħ: 'h',
  Ħ: 'H',
  ŋ: 'ng',
  Ŋ: 'Ng',
  ə: 'a',
  Ə: 'A',
};

const punctuation: readonly (readonly [RegExp, string])[] = [
  [/[‘’‚‛′`´]/gu, "'"],
  [/[“”„‟″«»‹›]/gu, '"'],
  [/[‐‑]/gu, '-'],
  [/\s?[–—―]\s?/gu, ', '],
  [/[。]/gu, '. '],
  [/[、،]/gu, ', '],
  [/[؟]/gu, '? '],
];

const replaced = (text: string, pairs: readonly (readonly [RegExp, string])[]): string =>
  pairs.reduce((rest, [sought, spokenText]) => rest.replace(sought, spokenText), text);

/** Ten digits of each script stand in a row, from zero on. */
function digitOf(digit: string): string {
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(digit.codePointAt(0)! - value - 1))) value++;
  return String(value);
}

/**
 * Whether the text has a letter or a digit with a sound: signs alone, which may stand in any script, are not spoken.
 */
const hasSound = (text: string): boolean =>
  Array.from(text.replace(/[™№]/gu, '').normalize('NFKD')).some(
    (one) => /[a-z\p{Nd}]/iu.test(one) || Object.hasOwn(letters, one),
  );

/** Returns the text as an English voice speaks it; empty if it cannot speak any of it. */
export function englishOf(text: string): string {
  if (!hasSound(text)) return '';
  const whole = replaced(text, unfolded).replace(fraction, (_, digit: string | undefined, one: string) =>
    digit === undefined ? ` ${fractions[one]} ` : `${digit.trim()} and ${fractions[one]} `,
  );
  const folded = whole.normalize('NFKC').replace(/[^\P{Nd}\d]/gu, digitOf);
  const ranged = folded.replace(european, anglicized).replace(europeanSum, anglicized).replace(range, rangeOf);
  const sums = replaced(ranged, dashes)
    .replace(before, (_, currency: string, sum: string, size?: string) => amount(sum, size, currencies[currency]!))
    .replace(behind, (_, sum: string, size: string | undefined, currency: string) =>
      amount(sum, size, currencies[currency]!),
    )
    .replace(anySign, (currency) => ` ${currencies[currency]!.one} `);
  const worded = replaced(sums, [...signs, ...punctuation]);
  const plain = worded
    .normalize('NFD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[^\0-\x7f]/gu, (letter) => letters[letter] ?? ' ');
  return plain
    .replace(/\s+/gu, ' ')
    .replace(/ (?=[.,;:!?](?:\s|$))/gu, '')
    .replace(/^[\s.,;:!?]+/u, '')
    .trimEnd();
}
