/**
 * A backtracking matcher that counts its steps, as V8's engine would take them but for constant factors. The count of a
 * text is the same on every machine, so that it shows how the work grows without a clock.
 */
import { parsePattern, partsOf, type Pattern } from './pattern.ts';

/** Tries what follows from a position on; returns whether it matches. */
type Next = (at: number) => boolean;

/** A compiled part of a pattern: tries it at a position, and what follows behind it. */
type Part = (at: number, next: Next) => boolean;

/** Thrown when the steps exceed the bound. */
const exhausted = new Error('too many steps');

export class StepMatcher {
  readonly pattern: Pattern;
  readonly #expression: RegExp;
  readonly #part: Part;
  /** A number for each character that was seen: a set is then a list of what it takes. */
  readonly #numbers = new Map<string, number>();
  readonly #characters: string[] = [];
  /** The groups that a reference repeats. */
  readonly #wanted: ReadonlySet<number>;
  readonly #captures: (readonly number[] | undefined)[] = [];
  #text: readonly number[] = [];
  #steps = 0;
  #bound = 0;
  #end = 0;

  constructor(expression: RegExp) {
    this.#expression = expression;
    this.pattern = parsePattern(expression.source, expression.flags);
    this.#wanted = referencesIn(this.pattern);
    this.#part = this.#compile(this.pattern, false);
  }

  /** The characters of a text, as the expression takes them one by one, each as its number. */
  #numbersOf(text: string): number[] {
    const characters = this.#expression.flags.includes('u') ? Array.from(text) : text.split('');
    return characters.map((character) => {
      let number = this.#numbers.get(character);
      if (number === undefined) this.#numbers.set(character, (number = this.#characters.push(character) - 1));
      return number;
    });
  }

  /** Whether a character is taken, by its number: `takes` says so, once for each. */
  #numbered(takes: (character: string) => boolean): (number: number) => boolean {
    const known: (boolean | undefined)[] = [];
    return (number) => (known[number] ??= takes(this.#characters[number]!));
  }

  /** The steps of a search, for every match if `all`, else for the first; at most `bound`. */
  steps(text: string, all: boolean, bound = Infinity): number {
    this.#text = this.#numbersOf(text);
    this.#steps = 0;
    this.#bound = bound;
    try {
      for (let from = 0; from <= this.#text.length;) {
        const end = this.#matchAt(from);
        if (end !== null && !all) break;
        if (this.#expression.sticky) break;
        from = end === null || end === from ? from + 1 : end;
      }
    } catch (error) {
      if (error !== exhausted) throw error;
    }
    return this.#steps;
  }

  /** The end of the match that begins there; null without one. */
  #matchAt(from: number): number | null {
    if (this.#wanted.size > 0) this.#captures.length = 0;
    return this.#part(from, (end) => ((this.#end = end), true)) ? this.#end : null;
  }

  #step(): void {
    if (++this.#steps > this.#bound) throw exhausted;
  }

  #compile(pattern: Pattern, backwards: boolean): Part {
    switch (pattern.type) {
      case 'set':
        return this.#set(this.#numbered(this.takes(pattern.text)), backwards);
      case 'assertion':
        return this.#assertion(pattern.text);
      case 'look':
        return this.#look(pattern);
      case 'group':
        return this.#group(pattern.index, this.#compile(pattern.inner, backwards), backwards);
      case 'reference':
        return this.#reference(pattern.index);
      case 'repeat':
        return this.#repeat(pattern, backwards);
      case 'sequence':
        return this.#sequence(pattern.parts, backwards);
      case 'choice':
        return this.#choice(pattern.options, backwards);
    }
  }

  /** Whether a class, an escape or a character takes a character: the engine says so, once for each. */
  takes(text: string): (character: string) => boolean {
    const expression = new RegExp(`^(?:${text})$`, this.#expression.flags.replace(/[gym]/g, ''));
    const known = new Map<string, boolean>();
    return (character) => {
      let taken = known.get(character);
      if (taken === undefined) known.set(character, (taken = expression.test(character)));
      return taken;
    };
  }

  #set(takes: (number: number) => boolean, backwards: boolean): Part {
    return (at, next) => {
      this.#step();
      const place = backwards ? at - 1 : at;
      return place >= 0 && place < this.#text.length && takes(this.#text[place]!) && next(backwards ? at - 1 : at + 1);
    };
  }

  #assertion(text: string): Part {
    const { multiline } = this.#expression;
    const isOfWord = this.#numbered((character) => /\w/.test(character));
    const isOfEnd = this.#numbered((character) => /[\n\r\u2028\u2029]/.test(character));
    const isWord = (at: number): boolean => at >= 0 && at < this.#text.length && isOfWord(this.#text[at]!);
    const isEnd = (at: number): boolean => isOfEnd(this.#text[at]!);
    const holds: Record<string, (at: number) => boolean> = {
      '^': (at) => at === 0 || (multiline && isEnd(at - 1)),
      $: (at) => at === this.#text.length || (multiline && isEnd(at)),
      '\\b': (at) => isWord(at - 1) !== isWord(at),
      '\\B': (at) => isWord(at - 1) === isWord(at),
    };
    const held = holds[text]!;
    return (at, next) => (this.#step(), held(at) && next(at));
  }

  #look({ behind, negated, inner }: Pattern & { type: 'look' }): Part {
    const part = this.#compile(inner, behind);
    return (at, next) => part(at, () => true) !== negated && next(at);
  }

  #group(index: number | null, part: Part, backwards: boolean): Part {
    if (index === null || !this.#wanted.has(index)) return part;
    return (at, next) =>
      part(at, (end) => {
        const before = this.#captures[index];
        this.#captures[index] = this.#text.slice(backwards ? end : at, backwards ? at : end);
        if (next(end)) return true;
        this.#captures[index] = before;
        return false;
      });
  }

  #reference(index: number): Part {
    return (at, next) => {
      const wanted = this.#captures[index] ?? [];
      for (const [place, character] of wanted.entries()) {
        this.#step();
        if (this.#text[at + place] !== character) return false;
      }
      return next(at + wanted.length);
    };
  }

  #repeat({ min, max, lazy, inner }: Pattern & { type: 'repeat' }, backwards: boolean): Part {
    if (inner.type === 'set') return this.#repeatSet(this.#numbered(this.takes(inner.text)), min, max, lazy, backwards);
    const part = this.#compile(inner, backwards);
    const again = (at: number, count: number, next: Next): boolean => {
      this.#step();
      // An iteration that takes nothing ends the loop.
      const more = (): boolean =>
        count < max && part(at, (end) => (end !== at || count < min) && again(end, count + 1, next));
      if (count < min) return more();
      return lazy ? next(at) || more() : more() || next(at);
    };
    return (at, next) => again(at, 0, next);
  }

  /** The same for a set alone, without a stack as deep as the text is long. */
  #repeatSet(takes: (number: number) => boolean, min: number, max: number, lazy: boolean, backwards: boolean): Part {
    const step = backwards ? -1 : 1;
    const isTaken = (at: number): boolean => {
      this.#step();
      const place = backwards ? at - 1 : at;
      return place >= 0 && place < this.#text.length && takes(this.#text[place]!);
    };
    return (from, next) => {
      let at = from;
      let count = 0;
      while (count < min || (!lazy && count < max)) {
        if (!isTaken(at)) break;
        at += step;
        count++;
      }
      if (count < min) return false;
      if (lazy) {
        while (!next(at)) {
          if (count === max || !isTaken(at)) return false;
          at += step;
          count++;
        }
        return true;
      }
      for (; count >= min; count--, at -= step) {
        this.#step();
        if (next(at)) return true;
      }
      return false;
    };
  }

  #sequence(parts: readonly Pattern[], backwards: boolean): Part {
    const compiled = parts.map((part) => this.#compile(part, backwards));
    if (backwards) compiled.reverse();
    const from = (index: number, at: number, next: Next): boolean =>
      index === compiled.length ? next(at) : compiled[index]!(at, (end) => from(index + 1, end, next));
    return (at, next) => from(0, at, next);
  }

  #choice(options: readonly Pattern[], backwards: boolean): Part {
    const compiled = options.map((option) => this.#compile(option, backwards));
    return (at, next) => compiled.some((part) => part(at, next));
  }
}

/** The groups that the references of a pattern repeat. */
function referencesIn(pattern: Pattern): Set<number> {
  if (pattern.type === 'reference') return new Set([pattern.index]);
  return new Set(partsOf(pattern).flatMap((part) => [...referencesIn(part)]));
}
