/** Checks the arguments that a model gives a function against its schema, before the call is sent (contract 13). */
import { Check } from 'typebox/schema';
import { limits } from '../../base/limits.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The object that a text is in JSON; null if it is none, or too long. No text is an empty object. */
export function argumentsOf(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  if (Buffer.byteLength(text) > limits.toolArgumentsBytesMax) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The arguments as the function takes them; null if they do not fit its schema. */
export function checkArguments(parameters: Schema, text: string): Record<string, unknown> | null {
  const value = argumentsOf(text);
  if (value === null) return null;
  try {
    return Check(parameters, value) ? value : null;
  } catch {
    // A schema that refers to itself without end, or is deeper than the stack.
    return null;
  }
}
