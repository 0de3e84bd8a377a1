/** Checks the arguments that a model gives a function against its schema, before the call is sent (contract 13). */
import { isObject, parseValue } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';
import { mayFit } from './schema-check.ts';
import { repairArguments } from './argument-repair.ts';
import { schemaError } from './schema-error.ts';

/** Code points of the sentence for a model whose arguments do not match the schema. */
export const toolSchemaErrorCharactersMax = 400;

type Schema = Readonly<Record<string, unknown>>;

/** Maximum nesting of arguments. Rejects deeper nesting: later recursion would overflow the stack. */
export const argumentsNestingMax = 100;

const tooDeep = `The arguments are nested more than ${argumentsNestingMax} deep.`;
const tooLong = `The arguments have more than ${limits.toolArgumentsBytesMax / 1024} KiB.`;

/** Shortens a sentence: names of properties come from a model and may be long. */
const cut = (sentence: string): string =>
  codePoints(sentence) <= toolSchemaErrorCharactersMax
    ? sentence
    : `${sentence.slice(0, indexAfter(sentence, toolSchemaErrorCharactersMax))}…`;

function isDeep(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '"') isString = !isString;
    else if (isString) at += sign === '\\' ? 1 : 0;
    else if (sign === '[' || sign === '{') depth++;
    else if (sign === ']' || sign === '}') depth--;
    if (depth > argumentsNestingMax) return true;
  }
  return false;
}

/**
 * Parses the arguments; null if the text is not a JSON object, is too long or is nested too deeply. An empty text is an
 * empty object.
 */
export function argumentsOf(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  return Buffer.byteLength(text) > limits.toolArgumentsBytesMax ? null : objectOf(text);
}

/** Parses a JSON object of any length; null for another value or one that is nested too deeply. */
export function objectOf(text: string): Record<string, unknown> | null {
  const value = valueOf(text);
  return isObject(value) ? value : null;
}

/** Returns the arguments, repaired where the model meant another value; null if they do not match the schema. */
export function checkArguments(parameters: Schema, text: string): Record<string, unknown> | null {
  const value = argumentsOf(text);
  if (value === null || mayFit(parameters, value)) return value;
  const repaired = repairArguments(parameters, value, valueOf);
  return mayFit(parameters, repaired) ? repaired : null;
}

/** Parses a JSON value; undefined for invalid JSON or a value that is nested too deeply. */
const valueOf = (text: string): unknown => (isDeep(text) ? undefined : parseValue(text));

/** Returns a sentence for the model that says why the function rejects its arguments. */
export function argumentsError(parameters: Schema, text: string): string {
  const value = argumentsOf(text);
  if (value !== null) return cut(parsedArgumentsError(parameters, value));
  if (Buffer.byteLength(text) > limits.toolArgumentsBytesMax) return tooLong;
  return isDeep(text) ? tooDeep : 'They are not an object in JSON.';
}

/** Returns a sentence for the author of the arguments that says why the function rejects them. */
export function parsedArgumentsError(parameters: Schema, values: Readonly<Record<string, unknown>>): string {
  const text = argumentsText(values);
  if (text === null || isDeep(text)) return tooDeep;
  if (Buffer.byteLength(text) > limits.toolArgumentsBytesMax) return tooLong;
  return schemaError(parameters, values) ?? 'The arguments do not fit the schema.';
}

/** Serialises arguments; null if they are nested more deeply than the stack allows. */
export function argumentsText(values: object): string | null {
  try {
    return JSON.stringify(values);
  } catch {
    return null;
  }
}
