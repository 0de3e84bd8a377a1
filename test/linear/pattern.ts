/**
 * Parses the pattern of a regular expression into a tree. Classes and escapes stay text: the engine itself says which
 * characters they take.
 */

export type Pattern =
  | { readonly type: 'set'; readonly text: string }
  | { readonly type: 'assertion'; readonly text: '^' | '$' | '\\b' | '\\B' }
  | { readonly type: 'look'; readonly behind: boolean; readonly negated: boolean; readonly inner: Pattern }
  | { readonly type: 'group'; readonly index: number | null; readonly inner: Pattern }
  | { readonly type: 'reference'; readonly index: number }
  | {
      readonly type: 'repeat';
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
      readonly inner: Pattern;
    }
  | { readonly type: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly type: 'choice'; readonly options: readonly Pattern[] };

/** The patterns that a pattern is made of. */
export function partsOf(pattern: Pattern): readonly Pattern[] {
  if ('inner' in pattern) return [pattern.inner];
  if (pattern.type === 'sequence') return pattern.parts;
  return pattern.type === 'choice' ? pattern.options : [];
}

export const parsePattern = (source: string, flags: string): Pattern => new Parser(source, flags.includes('u')).whole();

const looks: readonly (readonly [opening: string, behind: boolean, negated: boolean])[] = [
  ['(?=', false, false],
  ['(?!', false, true],
  ['(?<=', true, false],
  ['(?<!', true, true],
];

class Parser {
  readonly #source: string;
  readonly #isUnicode: boolean;
  #at = 0;
  #groups = 0;

  constructor(source: string, isUnicode: boolean) {
    this.#source = source;
    this.#isUnicode = isUnicode;
  }

  whole(): Pattern {
    const pattern = this.#choice();
    if (this.#at < this.#source.length) throw new Error(`cannot parse ${this.#source} at ${this.#at}`);
    return pattern;
  }

  #choice(): Pattern {
    const options = [this.#sequence()];
    while (this.#takes('|')) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { type: 'choice', options };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#at < this.#source.length && this.#source[this.#at] !== '|' && this.#source[this.#at] !== ')')
      parts.push(this.#repeated());
    return parts.length === 1 ? parts[0]! : { type: 'sequence', parts };
  }

  #repeated(): Pattern {
    const inner = this.#atom();
    const found = this.#match(/[*+?]|\{(\d+)(?:(,)(\d*))?\}/y);
    if (found === null) return inner;
    const [sign, least, comma, most] = found;
    const min = sign === '*' || sign === '?' ? 0 : Number(least ?? 1);
    const max =
      sign === '?'
        ? 1
        : least === undefined || (comma !== undefined && most === '')
          ? Infinity
          : Number(comma === undefined ? least : most);
    return { type: 'repeat', min, max, lazy: this.#takes('?'), inner };
  }

  #atom(): Pattern {
    const [assertion] = this.#match(/\^|\$|\\[bB]/y) ?? [];
    if (assertion !== undefined) return { type: 'assertion', text: assertion as '^' };
    for (const [opening, behind, negated] of looks)
      if (this.#takes(opening)) return { type: 'look', behind, negated, inner: this.#closed() };
    if (this.#takes('(?:')) return { type: 'group', index: null, inner: this.#closed() };
    if (this.#match(/\((?!\?)|\(\?<\w+>/y) !== null) {
      const index = ++this.#groups;
      return { type: 'group', index, inner: this.#closed() };
    }
    const [, reference] = this.#match(/\\([1-9])/y) ?? [];
    if (reference !== undefined) return { type: 'reference', index: Number(reference) };
    const set = this.#match(
      /\[(?:\\[^]|[^\]\\])*\]|\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]+\}|c[a-z]|[^])|[^()|]/iy,
    );
    if (set === null) throw new Error(`cannot parse ${this.#source} at ${this.#at}`);
    return { type: 'set', text: set[0] + this.#lowHalf(set[0]) };
  }

  /** The rest of a character of two code units, which a `u` makes one. */
  #lowHalf(text: string): string {
    const isHalf = this.#isUnicode && /^[\ud800-\udbff]$/.test(text);
    return isHalf ? this.#source[this.#at++]! : '';
  }

  #closed(): Pattern {
    const inner = this.#choice();
    if (!this.#takes(')')) throw new Error(`a bracket is not closed in ${this.#source}`);
    return inner;
  }

  #takes(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }
}
