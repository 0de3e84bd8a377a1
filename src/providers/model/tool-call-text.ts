/**
 * The arguments of a call as providers spell them: in pieces, twice, in a fence, in a text within JSON, or with an
 * empty object first.
 */
import { isObject, parseValue } from '../../base/json.ts';

/**
 * A text of arguments that grows. It is looked at once as it comes, so that its end is known without reading it again.
 */
export class ArgumentText {
  text = '';
  #depth = 0;
  #within = false;
  #escaped = false;

  append(piece: string): void {
    this.text += piece;
    for (let at = 0; at < piece.length; at++) {
      const sign = piece[at]!;
      if (this.#escaped) this.#escaped = false;
      else if (this.#within) {
        if (sign === '\\') this.#escaped = true;
        else if (sign === '"') this.#within = false;
      } else if (sign === '"') this.#within = true;
      else if (sign === '{' || sign === '[') this.#depth++;
      else if (sign === '}' || sign === ']') this.#depth--;
    }
  }

  replace(text: string): void {
    this.text = '';
    this.#depth = 0;
    this.#within = this.#escaped = false;
    this.append(text);
  }

  /** Whether there is a value, and nothing is missing at its end. */
  get isWhole(): boolean {
    return this.#depth === 0 && !this.#within && /[}\]"`]\s*$/.test(this.text.slice(-64));
  }

  /** Whether it is an object without properties. */
  get isBlank(): boolean {
    return this.text.length < 64 && /^\s*\{\s*\}\s*$/.test(this.text);
  }
}

/**
 * Returns the arguments of each call in a text: mostly the text itself. Several objects in a row are several calls, but
 * an empty object before others is a placeholder, and a repeated object counts once. A text that cannot be read is
 * returned as it is.
 */
export function argumentTexts(text: string): readonly string[] {
  const bare = unfenced(text.trim());
  if (bare === '' || bare === 'null') return [''];
  const value = parseValue(bare);
  if (isObject(value)) return [bare];
  if (typeof value === 'string') return [heldIn(value) ?? text];
  const objects = value === undefined ? objectsIn(bare) : null;
  if (objects === null) return [text];
  const distinct = [...new Map(objects.map((each) => [JSON.stringify(parseValue(each)), each])).values()];
  const filled = distinct.filter((each) => Object.keys(parseValue(each) as object).length > 0);
  return filled.length > 0 ? filled : distinct.slice(0, 1);
}

const fence = '```';

/** The text within a fence of Markdown, whose first line may name a language. */
function unfenced(text: string): string {
  if (!text.startsWith(fence) || !text.endsWith(fence) || text.length < 2 * fence.length) return text;
  return text
    .slice(fence.length, -fence.length)
    .replace(/^[a-z]{1,16}(?![a-z])/i, '')
    .trim();
}

/** The text of the object that a text holds, also in a fence; null if it holds none. */
function heldIn(text: string): string | null {
  const bare = unfenced(text.trim());
  if (bare === '' || bare === 'null') return '';
  return isObject(parseValue(bare)) ? bare : null;
}

/**
 * The texts of the objects that a text is made of, and of nothing else but white space and `null`; null if it is not.
 */
function objectsIn(text: string): string[] | null {
  const texts: string[] = [];
  const part = new ArgumentText();
  for (const [piece] of text.matchAll(/[^{}]+|[{}]/g)) {
    if (part.text === '' && piece !== '{') {
      if (!/^(?:\s|null)*$/.test(piece)) return null;
      continue;
    }
    part.append(piece);
    if (piece !== '}' || !part.isWhole) continue;
    if (!isObject(parseValue(part.text))) return null;
    texts.push(part.text);
    part.replace('');
  }
  return part.text === '' && texts.length > 0 ? texts : null;
}

/** Prefixes and suffixes with which models and endpoints write a function's name. */
const wrappings: readonly RegExp[] = [/^(?:functions?|tools?|default_api)[.:]/, /:\d{1,9}$/];

/**
 * The name of a function as it was offered, where a model wrote it in the manner of its training. `offered`: our names by
 * those that it may call.
 */
export function offeredName(calledName: string, offered: ReadonlyMap<string, string>): string {
  // A mark of the model's format may follow.
  let name = calledName.split('<|', 1)[0]!.trim();
  for (const wrapping of [null, ...wrappings]) {
    if (wrapping !== null) name = name.replace(wrapping, '');
    const known = offered.get(name);
    if (known !== undefined) return known;
  }
  return calledName.startsWith('functions.') ? name : calledName;
}
