/**
 * Values made for a schema of the wire: at each place of a body a list, a map or a text that is as long as is wanted,
 * beside the least that the rest needs.
 */

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly pattern?: string;
}

/** A value of so many characters, about. */
type Make = (length: number) => unknown;

export interface Place {
  readonly name: string;
  readonly make: Make;
}

const repeated = (make: (index: number) => unknown, length: number, each: number): unknown[] =>
  Array.from({ length: Math.ceil(length / each) }, (_, index) => make(index));
const mapOf = (value: unknown, length: number): object =>
  Object.fromEntries(repeated((index) => [`n${index}`, value], length, 10) as [string, unknown][]);

/** Makes a value of each length once. */
function once(make: Make): Make {
  const made = new Map<number, unknown>();
  return (length) => {
    if (!made.has(length)) made.set(length, make(length));
    return made.get(length);
  };
}

/** Values that every validator gets, of any type. No validator changes them. */
const any: Readonly<Record<string, Make>> = {
  'a text': (length) => 'a'.repeat(length),
  'a text of white space': (length) => `a${' '.repeat(length)}\0`,
  'a list of nothing': once((length) => repeated(() => ({}), length, 3)),
  'a map of nothing': once((length) => mapOf({}, length)),
};

/** The places of a schema, each with the values made for it. */
export function placesIn(schema: Schema, path = ''): Place[] {
  const kinds = (schema.anyOf ?? [schema]).flatMap((one) => [...own(one), ...within(one)]);
  const found = [...Object.entries(any).map(([name, make]) => ({ name, make })), ...kinds];
  return found.map(({ name, make }) => ({ name: path === '' ? name : `${path} ${name}`, make }));
}

/** Values of the schema's own kind, all right and with a fault at their end. */
function own({ type, items, additionalProperties }: Schema): Place[] {
  if (type === 'array' && items !== undefined) {
    const item = sampleOf(items);
    const each = Math.max(2, JSON.stringify(item).length + 1);
    return [
      { name: 'a list', make: (length) => repeated(() => item, length, each) },
      { name: 'a list with a fault', make: (length) => [...repeated(() => item, length, each), Symbol] },
    ];
  }
  return type === 'object' && additionalProperties !== undefined
    ? [{ name: 'a map', make: (length) => mapOf(sampleOf(additionalProperties), length) }]
    : [];
}

/** The places within a list, a map or an object. */
function within(schema: Schema): Place[] {
  const { type, properties = {}, items } = schema;
  const fields = Object.entries(properties).flatMap(([name, field]) =>
    placesIn(field, name).map((place) => ({
      ...place,
      make: (length: number) => ({ ...(sampleOf(schema) as object), [name]: place.make(length) }),
    })),
  );
  const ofItems =
    type === 'array' && items !== undefined
      ? placesIn(items, 'item').map(({ name, make }) => ({ name, make: (length: number) => [make(length)] }))
      : [];
  return [...fields, ...ofItems];
}

/** The least that a schema takes, about. */
export function sampleOf({
  type,
  const: constant,
  enum: choices,
  anyOf,
  properties = {},
  required = [],
  items,
  minItems = 0,
  minimum = 1,
}: Schema): unknown {
  if (constant !== undefined) return constant;
  if (choices !== undefined) return choices[0];
  if (anyOf !== undefined) return sampleOf(anyOf[0]!);
  if (type === 'string') return 'a';
  if (type === 'number' || type === 'integer') return minimum;
  if (type === 'boolean') return true;
  if (type === 'array') return Array.from({ length: minItems }, () => sampleOf(items!));
  return type === 'object' ? Object.fromEntries(required.map((name) => [name, sampleOf(properties[name]!)])) : null;
}

/** The patterns in a schema, which its validator builds. */
export function patternsIn(schema: unknown, found = new Set<string>(), seen = new Set<unknown>()): Set<string> {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return found;
  seen.add(schema);
  const { pattern } = schema as Schema;
  if (typeof pattern === 'string') found.add(pattern);
  for (const inner of Object.values(schema)) patternsIn(inner, found, seen);
  return found;
}
