/** Whether a text seems to stop in the middle of a sentence. */

const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen';
const large = 'twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion';
const openWords = 'a an the and or but so because that if of to in on at for with from my your is are was um uh er';

const openEnding = new RegExp(
  String.raw`,$|\p{Nd}$|(?<![\p{L}\p{N}'])(?:${`${small} ${large} ${openWords}`.replaceAll(' ', '|')})$`,
  'iu',
);
/** Recognisers write these marks after finished and unfinished texts alike, so they are ignored. */
const closing = /(?<![.?!…"'”’)\s])[.?!…"'”’)\s]+$/u;

/**
 * Matches a text that ends in a comma, a digit, a number word or a word that does not end a sentence, even before a
 * full stop.
 */
export const unfinished = (text: string): boolean => openEnding.test(text.replace(closing, ''));
