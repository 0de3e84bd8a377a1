/**
 * A backtracking matcher that counts its steps, as V8's engine would take them but for constant factors. The count of a
 * text is the same on every machine, so that it shows how the work grows without a clock.
 */
import { parsePattern, partsOf, type Pattern } from './pattern.ts';

/** A compiled part of a pattern with all that follows it: tries them from a position; returns whether they match. */
type Part = (at: number) => boolean;

/** Thrown when the steps exceed the bound. */
const exhausted = new Error('too many steps');

export class StepMatcher {
  readonly pattern: Pattern;
  readonly #expression: RegExp;
  readonly #part: Part;
  /** A number for each character that was seen: a set is then a list of what it takes. */
  readonly #numbers = new Map<number, number>();
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
    this.#part = this.#compile(this.pattern, false, (end) => ((this.#end = end), true));
  }

  /** The characters of a text, as the expression takes them one by one, each as its number. */
  #numbersOf(text: string): number[] {
    const isUnicode = this.#expression.flags.includes('u');
    const numbers: number[] = [];
    for (let at = 0; at < text.length; at++) {
      const code = isUnicode ? text.codePointAt(at)! : text.charCodeAt(at);
      let number = this.#numbers.get(code);
      if (number === undefined) {
        number = this.#characters.push(String.fromCodePoint(code)) - 1;
        this.#numbers.set(code, number);
      }
      numbers.push(number);
      if (code > 0xffff) at++;
    }
    return numbers;
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
    return this.#part(from) ? this.#end : null;
  }

  #step(): void {
    if (++this.#steps > this.#bound) throw exhausted;
  }

  #compile(pattern: Pattern, backwards: boolean, next: Part): Part {
    switch (pattern.type) {
      case 'set':
        return this.#set(this.#numbered(this.takes(pattern.text)), backwards, next);
      case 'assertion':
        return this.#assertion(pattern.text, next);
      case 'look':
        return this.#look(pattern, next);
      case 'group':
        return this.#group(pattern, backwards, next);
      case 'reference':
        return this.#reference(pattern.index, next);
      case 'repeat':
        return this.#repeat(pattern, backwards, next);
      case 'sequence':
        return (backwards ? pattern.parts : pattern.parts.toReversed()).reduce(
          (rest, part) => this.#compile(part, backwards, rest),
          next,
        );
      case 'choice': {
        const options = pattern.options.map((option) => this.#compile(option, backwards, next));
        return (at) => options.some((option) => option(at));
      }
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

  #set(takes: (number: number) => boolean, backwards: boolean, next: Part): Part {
    return (at) => {
      this.#step();
      const place = backwards ? at - 1 : at;
      return place >= 0 && place < this.#text.length && takes(this.#text[place]!) && next(backwards ? at - 1 : at + 1);
    };
  }

  #assertion(text: string, next: Part): Part {
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
    return (at) => (this.#step(), held(at) && next(at));
  }

  #look({ behind, negated, inner }: Pattern & { type: 'look' }, next: Part): Part {
    const part = this.#compile(inner, behind, () => true);
    return (at) => part(at) !== negated && next(at);
  }

  #group({ index, inner }: Pattern & { type: 'group' }, backwards: boolean, next: Part): Part {
    if (index === null || !this.#wanted.has(index)) return this.#compile(inner, backwards, next);
    // Position at which the group was entered last.
    let entered = 0;
    const part = this.#compile(inner, backwards, (end) => {
      const start = entered;
      const before = this.#captures[index];
      this.#captures[index] = this.#text.slice(backwards ? end : start, backwards ? start : end);
      if (next(end)) return true;
      this.#captures[index] = before;
      entered = start;
      return false;
    });
    return (at) => {
      const outer = entered;
      entered = at;
      if (part(at)) return true;
      entered = outer;
      return false;
    };
  }

  #reference(index: number, next: Part): Part {
    return (at) => {
      const wanted = this.#captures[index] ?? [];
      for (const [place, character] of wanted.entries()) {
        this.#step();
        if (this.#text[at + place] !== character) return false;
      }
      return next(at + wanted.length);
    };
  }

  #repeat({ min, max, lazy, inner }: Pattern & { type: 'repeat' }, backwards: boolean, next: Part): Part {
    if (inner.type === 'set')
      return this.#repeatSet(this.#numbered(this.takes(inner.text)), { min, max, lazy, backwards }, next);
    // Iterations that the loop has completed, and the position at which the last began. What fails puts them back.
    let count = 0;
    let began = -1;
    const part = this.#compile(inner, backwards, (end) => {
      // An iteration that takes nothing ends the loop.
      if (end === began && count >= min) return false;
      const completed = count;
      const start = began;
      count++;
      if (again(end)) return true;
      count = completed;
      began = start;
      return false;
    });
    const more = (at: number): boolean => {
      if (count >= max) return false;
      const before = began;
      began = at;
      if (part(at)) return true;
      began = before;
      return false;
    };
    const again = (at: number): boolean => {
      this.#step();
      if (count < min) return more(at);
      return lazy ? next(at) || more(at) : more(at) || next(at);
    };
    return (at) => {
      const outerCount = count;
      const outerBegan = began;
      count = 0;
      if (again(at)) return true;
      count = outerCount;
      began = outerBegan;
      return false;
    };
  }

  /** The same for a set alone, without a stack as deep as the text is long. */
  #repeatSet(
    takes: (number: number) => boolean,
    { min, max, lazy, backwards }: { min: number; max: number; lazy: boolean; backwards: boolean },
    next: Part,
  ): Part {
    const step = backwards ? -1 : 1;
    const isTaken = (at: number): boolean => {
      this.#step();
      const place = backwards ? at - 1 : at;
      return place >= 0 && place < this.#text.length && takes(this.#text[place]!);
    };
    return (from) => {
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
}

/** The groups that the references of a pattern repeat. */
function referencesIn(pattern: Pattern): Set<number> {
  if (pattern.type === 'reference') return new Set([pattern.index]);
  return new Set(partsOf(pattern).flatMap((part) => [...referencesIn(part)]));
}
