/**
 * Texts made for a regular expression: those on which a backtracking engine takes the most steps, as far as the pattern
 * shows them.
 */
import { partsOf, type Pattern } from './pattern.ts';
import type { StepMatcher } from './matcher.ts';

/** A text of any length: a part that repeats, between two that do not. */
export interface Attack {
  readonly prefix: string;
  readonly pump: string;
  readonly suffix: string;
}

export const textOf = ({ prefix, pump, suffix }: Attack, length: number): string =>
  prefix + pump.repeat(Math.max(1, Math.ceil(length / pump.length))) + suffix;

/** Repetitions of fewer characters than this take few steps, however the text is. */
const longRepeat = 8;
const samplesMax = 6;
/** Ends that most patterns do not take, and none. */
const ends = ['\0', '', '\n', '\n\0', ' ', 'a'];

/**
 * Characters that stand for their kinds: letters in both cases, digits, white space, signs of patterns, and other
 * planes.
 */
const common = [
  ...'aAzZeE09_-.,;:!?"\'`=+*/\\|<>()[]{}#$%&@~^',
  ' ',
  '\t',
  '\n',
  '\r',
  '\0',
  '\u00a0',
  '\u2028',
  'é',
  'ß',
  'ſ',
  '\u0301',
  '。',
  '漢',
  '’',
  '–',
  '€',
  '½',
  '😀',
  '\u{10ffff}',
  '\ud800',
];

/** A long repetition in a pattern: texts that lead to it, and texts that it takes. */
interface Loop {
  readonly before: readonly string[];
  readonly taken: readonly string[];
}

export function attacksOn(matcher: StepMatcher): Attack[] {
  const maker = new AttackMaker(matcher);
  const seen = new Set<string>();
  return maker.attacks().filter((attack) => {
    const key = JSON.stringify(attack);
    return attack.pump !== '' && !seen.has(key) && seen.add(key);
  });
}

class AttackMaker {
  readonly #matcher: StepMatcher;
  /** One character for each way in which the sets of the pattern take and leave characters. */
  readonly #alphabet: readonly string[];
  readonly #loops: Loop[] = [];

  constructor(matcher: StepMatcher) {
    this.#matcher = matcher;
    const sets = [...setsIn(matcher.pattern)].map((text) => ({ text, takes: matcher.takes(text) }));
    const literal = sets.flatMap(({ text }) =>
      text.length === 1 || /^\\[^dDwWsSpPbBux]$/.test(text) ? [text.at(-1)!] : [],
    );
    const within = sets.flatMap(({ text }) => (text.startsWith('[') ? [...text.slice(1, -1)] : []));
    const kinds = new Map<string, string>();
    for (const character of new Set([...literal, ...common, ...within])) {
      const kind = sets.map(({ takes }) => (takes(character) ? '1' : '0')).join('');
      if (!kinds.has(kind)) kinds.set(kind, character);
    }
    this.#alphabet = [...kinds.values()];
  }

  attacks(): Attack[] {
    const wholes = this.#samples(this.#matcher.pattern, ['']);
    const loops = this.#loops.flatMap(({ before, taken }) => {
      const starts = evenly(before, 2);
      const pumps = unique([
        ...evenly(taken, 4),
        ...starts.flatMap((start) => [start, `${start} `, ...evenly(taken, 2).map((text) => start + text)]),
        ...joined(taken.slice(0, 2), taken.slice(0, 2)),
      ]);
      return crossed(unique(['', '\0', starts[0]!]), pumps, ends);
    });
    const others = unique(this.#loops.flatMap(({ taken }) => taken.slice(0, 2))).slice(0, samplesMax);
    const plain = crossed(
      ['', 'a'],
      unique([...this.#alphabet, ...evenly(wholes, 4), ...joined(others, others)]),
      ends,
    );
    return [...loops, ...plain];
  }

  /** Texts that lead through a part of the pattern, each behind one of `before`; notes the long repetitions in it. */
  #samples(pattern: Pattern, before: readonly string[]): string[] {
    switch (pattern.type) {
      case 'set':
        return this.#charactersOf(pattern.text);
      case 'group':
        return this.#samples(pattern.inner, before);
      case 'look': {
        const inner = this.#samples(pattern.inner, before);
        return pattern.negated ? [''] : ['', ...inner];
      }
      case 'choice':
        return evenly(
          unique(pattern.options.flatMap((option) => this.#samples(option, before).slice(0, 2))),
          samplesMax,
        );
      case 'sequence':
        return this.#sequence(pattern.parts, before);
      case 'repeat':
        return this.#repeat(pattern, before);
      default:
        return [''];
    }
  }

  #sequence(parts: readonly Pattern[], before: readonly string[]): string[] {
    let made = [''];
    for (const part of parts) {
      const next = this.#samples(part, evenly(joined(before, made), samplesMax));
      made = evenly(unique(joined(made, next)), samplesMax);
    }
    return made;
  }

  #repeat({ min, max, inner }: Pattern & { type: 'repeat' }, before: readonly string[]): string[] {
    const once = this.#samples(inner, before);
    if (max - min >= longRepeat) this.#loops.push({ before, taken: once });
    const least = once.map((text) => text.repeat(Math.min(min, 4 * longRepeat)));
    return evenly(unique(min === 0 ? ['', ...once.slice(0, 3)] : least), samplesMax);
  }

  /** Some characters that a set takes: of those that other sets take too, and of those that none does. */
  #charactersOf(text: string): string[] {
    const takes = this.#matcher.takes(text);
    const taken = this.#alphabet.filter((character) => takes(character));
    if (taken.length > 0) return evenly(taken, 4);
    return text.length <= 2 ? [text.at(-1)!] : [];
  }
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

const joined = (starts: readonly string[], ends: readonly string[]): string[] =>
  starts.flatMap((start) => ends.map((end) => start + end));

const crossed = (prefixes: readonly string[], pumps: readonly string[], suffixes: readonly string[]): Attack[] =>
  pumps.flatMap((pump) => prefixes.flatMap((prefix) => suffixes.map((suffix) => ({ prefix, pump, suffix }))));

/** Returns the given number of items, spread over a list, the first among them. */
function evenly<T>(list: readonly T[], most: number): T[] {
  if (list.length <= most) return [...list];
  return Array.from({ length: most }, (_, index) => list[Math.floor((index * list.length) / most)]!);
}

function setsIn(pattern: Pattern): Set<string> {
  if (pattern.type === 'set') return new Set([pattern.text]);
  return new Set(partsOf(pattern).flatMap((part) => [...setsIn(part)]));
}
