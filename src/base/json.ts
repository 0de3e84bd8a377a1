/** JSON as it is sent to clients (contract 1), and read where it may be anything. */

/** A JSON object of unknown make-up. */
export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Ends of a line to some readers, though not to JSON. V8 finds at once that a text of Latin-1 has none. */
const lineEnds = /[\u2028\u2029]/;

/** A value as JSON text, with U+2028 and U+2029 escaped. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return lineEnds.test(text) ? text.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029') : text;
}

/** Parses JSON; undefined for an invalid text. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; null for any other text. */
export function parseObject(text: string): Json | null {
  const value = parseValue(text);
  return isObject(value) ? value : null;
}

/** The text without the byte order mark that may stand before JSON. */
export const withoutMark = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

/**
 * Whether arrays and objects are nested in a value at most so deep. Without recursion, since a value may be nested more
 * deeply than the stack allows.
 */
export function isNestedWithin(value: unknown, depthMax: number): boolean {
  let level = [value].filter(holdsValues);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === depthMax) return false;
    const next: object[] = [];
    for (const one of level) for (const inner of Object.values(one)) if (holdsValues(inner)) next.push(inner);
    level = next;
  }
  return true;
}

const holdsValues = (value: unknown): value is object => typeof value === 'object' && value !== null;
