/** Sums, as people write them. */

const words: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:so )?(?:what is|how much is|calculate|compute|work out|solve|evaluate|tell me)(?: the (?:result|value|answer) of)? /i,
    '',
  ],
  [/(\d),(?=\d{3}\b)/g, '$1'],
  [/\b(?:the )?square root of\b|√/gi, ' sqrt '],
  [/(\d(?:\.\d+)?) ?(?:%|percent|per cent) of /gi, '$1 / 100 * '],
  [/\bhalf of\b/gi, ' 0.5 * '],
  [/\bsquared\b/gi, ' ^ 2 '],
  [/\bcubed\b/gi, ' ^ 3 '],
  [/\b(?:to the power of|raised to)\b|\*\*/gi, ' ^ '],
  [/\b(?:plus|added to)\b/gi, ' + '],
  [/\bminus\b|[−–]/gi, ' - '],
  [/\b(?:times|multiplied by)\b|[×·]|(?<=\d ?)x(?= ?\d)/gi, ' * '],
  [/\b(?:divided by|over)\b|[÷:]/gi, ' / '],
  [/\b(?:mod|modulo)\b/gi, ' % '],
  [/ ?=$/, ''],
];

const tokenPattern = /\d+(?:\.\d+)?|\.\d+|sqrt|[-+*/^%()]/g;

/** The sum that a sentence is, with its result, as "12 * 3 = 36"; null if it is no sum. */
export function sumIn(sentence: string): string | null {
  let text = sentence;
  for (const [pattern, replacement] of words) text = text.replace(pattern, replacement);
  const tokens = text.match(tokenPattern) ?? [];
  const nothingElse = text.replace(tokenPattern, '').trim() === '';
  // A lone or signed number is no question.
  if (
    !nothingElse ||
    tokens.length < 2 ||
    !tokens.some((token) => /^\d|^\./.test(token)) ||
    /^[-+]? ?[\d.]+$/.test(text.trim())
  )
    return null;
  const result = new Sum(tokens).value();
  if (result === null) return null;
  const asked = tokens.join(' ').replace(/\( /g, '(').replace(/ \)/g, ')').replace(/sqrt /g, '√');
  if (Number.isNaN(result) || !Number.isFinite(result))
    return `${asked} has no value that I can give: it divides by zero or goes beyond my numbers.`;
  return `${asked} = ${shown(result)}`;
}

const countMax = 200;

/** "Count to ten", which makes a stream of any length wished for; null if nobody asks for it. */
export function countIn(sentence: string): string | null {
  const last = Number(/^(?:please )?count (?:up )?(?:from 1 )?to (\d{1,6})$/i.exec(sentence)?.[1] ?? 0);
  if (last === 0) return null;
  if (last > countMax) return `That is far. I count to ${countMax} at most.`;
  return `${Array.from({ length: last }, (_, index) => index + 1).join(', ')}.`;
}

/** Integers as they are, everything else to ten digits, which hides the rounding of binary fractions. */
const shown = (value: number): string =>
  Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(10)));

const depthMax = 50;

/** Recursive descent over the tokens; null if they are not well formed. */
class Sum {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  value(): number | null {
    const result = this.#terms();
    return this.#at === this.#tokens.length ? result : null;
  }

  #terms(): number | null {
    return this.#chain(
      /^[-+]$/,
      () => this.#factors(),
      (left, sign, right) => (sign === '+' ? left + right : left - right),
    );
  }

  #factors(): number | null {
    return this.#chain(
      /^[*/%]$/,
      () => this.#power(),
      (left, sign, right) => (sign === '*' ? left * right : sign === '/' ? left / right : left % right),
    );
  }

  #chain(
    sign: RegExp,
    next: () => number | null,
    apply: (left: number, sign: string, right: number) => number,
  ): number | null {
    let left = next();
    while (left !== null && sign.test(this.#tokens[this.#at] ?? '')) {
      const found = this.#tokens[this.#at++]!;
      const right = next();
      left = right === null ? null : apply(left, found, right);
    }
    return left;
  }

  /** A sign binds less than a power, and powers group from the right: -2 ^ 2 = -4. */
  #power(): number | null {
    if (++this.#depth > depthMax) return null;
    const token = this.#tokens[this.#at];
    if (token === '-' || token === '+') {
      this.#at++;
      const value = this.#power();
      return value === null ? null : token === '-' ? -value : value;
    }
    const base = this.#atom();
    if (base === null || this.#tokens[this.#at] !== '^') return base;
    this.#at++;
    const exponent = this.#power();
    return exponent === null ? null : base ** exponent;
  }

  #atom(): number | null {
    const token = this.#tokens[this.#at++];
    if (token === 'sqrt') {
      const value = ++this.#depth > depthMax ? null : this.#atom();
      return value === null ? null : Math.sqrt(value);
    }
    if (token === '(') {
      const value = this.#terms();
      return this.#tokens[this.#at++] === ')' ? value : null;
    }
    return token !== undefined && /^[\d.]/.test(token) ? Number(token) : null;
  }
}
