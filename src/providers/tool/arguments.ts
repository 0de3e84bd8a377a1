/** Checks the arguments that a model gives a function against its schema, before the call is sent (contract 13). */
import { isObject, parseValue } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';
import { mayFit } from './schema-check.ts';
import { repairArguments } from './argument-repair.ts';
import { schemaError } from './schema-error.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Arguments that are nested more deeply than this are none: what comes later would need a stack as deep. */
export const argumentsNestingMax = 100;

const tooDeep = `The arguments are nested more than ${argumentsNestingMax} deep.`;
const tooLong = `The arguments have more than ${limits.toolArgumentsBytesMax / 1024} KiB.`;

/** Names of properties are a model's, and may be long. */
const cut = (sentence: string): string =>
  codePoints(sentence) <= limits.toolSchemaErrorCharactersMax
    ? sentence
    : `${sentence.slice(0, indexAfter(sentence, limits.toolSchemaErrorCharactersMax))}…`;

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
 * The object that a text is in JSON; null if it is none, too long, or nested too deeply. No text is an empty object.
 */
export function argumentsOf(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  return Buffer.byteLength(text) > limits.toolArgumentsBytesMax ? null : objectOf(text);
}

/** The object that a text of any length is in JSON; null if it is none, or nested too deeply. */
export function objectOf(text: string): Record<string, unknown> | null {
  const value = valueOf(text);
  return isObject(value) ? value : null;
}

/**
 * The arguments as the function takes them, mended where a model writes them so; null if they do not fit its schema.
 */
export function checkArguments(parameters: Schema, text: string): Record<string, unknown> | null {
  const value = argumentsOf(text);
  if (value === null || mayFit(parameters, value)) return value;
  const found = repairArguments(parameters, value, valueOf);
  return mayFit(parameters, found) ? found : null;
}

/** The value that a text is in JSON; undefined if it is none, or nested too deeply. */
const valueOf = (text: string): unknown => (isDeep(text) ? undefined : parseValue(text));

/** Why the function does not take what a model wrote as its arguments, in a sentence for the model. */
export function argumentsError(parameters: Schema, text: string): string {
  const value = argumentsOf(text);
  if (value !== null) return cut(parsedArgumentsError(parameters, value));
  if (Buffer.byteLength(text) > limits.toolArgumentsBytesMax) return tooLong;
  return isDeep(text) ? tooDeep : 'They are not an object in JSON.';
}

/** Why the function does not take the arguments, in a sentence for whoever has written them. */
export function parsedArgumentsError(parameters: Schema, given: Readonly<Record<string, unknown>>): string {
  const text = textOf(given);
  if (text === null || isDeep(text)) return tooDeep;
  if (Buffer.byteLength(text) > limits.toolArgumentsBytesMax) return tooLong;
  return schemaError(parameters, given) ?? 'The arguments do not fit the schema.';
}

/** The text of arguments; null for those that are nested more deeply than the stack allows. */
export function textOf(given: object): string | null {
  try {
    return JSON.stringify(given);
  } catch {
    return null;
  }
}
