/** Word-level differences of two texts. */
import { diffArrays } from 'diff';

export interface TextPart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
  /** The older text of a part that is the same: its white space may differ. */
  readonly before?: string;
}

/** Milliseconds after which a coarser comparison is made. */
const patienceMs = 150;

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** The words of a text, each with the white space after it. Each line break is a word. */
function wordsOf(text: string): string[] {
  const tokens: string[] = [];
  for (const { segment } of segmenter.segment(text)) {
    const last = tokens.length - 1;
    if (/^[^\S\r\n]+$/.test(segment) && last >= 0 && !/\s$/.test(tokens[last]!)) tokens[last] += segment;
    else tokens.push(segment);
  }
  return tokens;
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Words are the same with any white space after them; white space itself is compared. */
const isSameWord = (one: string, other: string): boolean =>
  one === other || (one.trimEnd() !== '' && one.trimEnd() === other.trimEnd());
const isSame = (one: string, other: string): boolean => one === other;

type Tokens = readonly string[];

/** Null where the texts differ too much. */
function tokenChanges(before: Tokens, after: Tokens, comparator: typeof isSame): readonly TextPart[] | null {
  const changes = diffArrays([...before], [...after], { timeout: patienceMs, comparator });
  if (changes === undefined) return null;
  let place = 0;
  return changes.map(({ added, removed, value }) => {
    const text = value.join('');
    if (added) return { kind: 'added', text };
    const older = before.slice(place, (place += value.length)).join('');
    return removed ? { kind: 'removed', text } : { kind: 'same', text, before: older };
  });
}

const isWhole = (parts: readonly TextPart[]): boolean => parts.every(({ kind }) => kind === 'same');

/** Compares by words; texts that differ too much for that by lines, or as a whole. */
export function wordChanges(before: string, after: string): readonly TextPart[] {
  const words = [wordsOf(before), wordsOf(after)] as const;
  const parts = tokenChanges(...words, isSameWord);
  if (parts !== null && (before === after || !isWhole(parts))) return parts;
  // Texts that differ in white space alone; those that have few words in common.
  const again = parts === null ? null : tokenChanges(...words, isSame);
  const whole: readonly TextPart[] = [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ];
  return again ?? tokenChanges(linesOf(before), linesOf(after), isSame) ?? whole.filter(({ text }) => text !== '');
}

/** The older or the newer text, as parts. */
export const sideOf = (parts: readonly TextPart[], side: 'before' | 'after'): readonly TextPart[] =>
  parts
    .filter(({ kind }) => kind === 'same' || kind === (side === 'before' ? 'removed' : 'added'))
    .map((part) => (side === 'before' ? { ...part, text: part.before ?? part.text } : part));

/** Both texts in one: white space before a removed word is as in the older text. */
export const unified = (parts: readonly TextPart[]): readonly TextPart[] =>
  parts.map((part, index) =>
    part.before !== undefined && parts[index + 1]?.kind === 'removed'
      ? { ...part, text: part.text.trimEnd() + part.before.slice(part.before.trimEnd().length) }
      : part,
  );

/** Characters of an unchanged text that stay at each end where its middle is folded. */
const contextCharacters = 160;

/** An unchanged text in three: the ends, and the middle that is folded; null for one that is short enough. */
export function folded(text: string, isFirst: boolean, isLast: boolean): readonly [string, string, string] | null {
  if (text.length <= 4 * contextCharacters) return null;
  // The fold begins and ends with lines, so that what stays reads as it is written.
  const begin = isFirst ? 0 : text.indexOf('\n', contextCharacters) + 1;
  const end = isLast ? text.length : text.lastIndexOf('\n', text.length - contextCharacters) + 1;
  const isPossible = (isFirst || begin > 0) && end - begin > 2 * contextCharacters;
  return isPossible ? [text.slice(0, begin), text.slice(begin, end), text.slice(end)] : null;
}
