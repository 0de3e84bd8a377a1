/** The fields of a visitor as flags give them. */
import type { Assistant, VisitorField } from '../client/types.ts';
import { pairs } from './arguments.ts';
import { UsageFailure } from './exit.ts';

type Value = string | number | boolean;

export interface GivenVisitor {
  readonly visitor: Record<string, Value>;
  /** Required fields that no flag names. */
  readonly missing: readonly VisitorField[];
}

/** The values of `--visitor name=value`, each of its field's type. */
export function givenVisitor(assistant: Assistant, items: readonly string[]): GivenVisitor {
  const values = pairs('--visitor', items);
  const visitor: Record<string, Value> = {};
  for (const [name, text] of Object.entries(values)) {
    const field = assistant.visitor_fields.find((one) => one.name === name);
    const value = field ? fieldValue(field, text) : text;
    if (value === null) throw new UsageFailure(`--visitor ${name}=… must be of type ${field!.type}.`);
    visitor[name] = value;
  }
  return { visitor, missing: assistant.visitor_fields.filter((field) => field.required && !values[field.name]) };
}

/** The same where nobody can be asked. */
export function wholeVisitor(assistant: Assistant, items: readonly string[]): Record<string, Value> {
  const { visitor, missing } = givenVisitor(assistant, items);
  if (missing.length > 0)
    throw new UsageFailure(
      `The assistant asks for visitor fields: ${missing.map((field) => `--visitor ${field.name}=…`).join(' ')}`,
    );
  return visitor;
}

/** The text as the field's type; null if it is not one. */
export function fieldValue(field: VisitorField, text: string): Value | null {
  if (field.type === 'number') return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : null;
  if (field.type === 'email') return /^[^\s@]+@[^\s@]+$/.test(text) ? text : null;
  if (field.type !== 'boolean') return text;
  if (['yes', 'y', 'true'].includes(text.toLowerCase())) return true;
  return ['no', 'n', 'false'].includes(text.toLowerCase()) ? false : null;
}
