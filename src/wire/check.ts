/**
 * Holds a value to a schema of the wire: bounds before what is within them, and the first fault alone, so that a
 * refusal costs no more than an acceptance.
 */
import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';

/** The parts of a schema that describe the values within its value, and bound their number. */
export interface Parts {
  readonly type?: string;
  readonly anyOf?: readonly Parts[];
  readonly properties?: Readonly<Record<string, Parts>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Parts;
  readonly propertyNames?: Parts;
  readonly maxProperties?: number;
  readonly items?: Parts;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** See `whole`. */
  readonly '~whole'?: boolean;
}

/** The first fault of a value. */
export interface Problem {
  readonly path: readonly string[];
  readonly keyword: string;
  /** The name of a field that is missing there. */
  readonly missing?: string;
}

const validators = new WeakMap<object, Validator>();

/** The validator of a schema. Compilation waits for the first use, so that a start pays for none. */
export function validatorOf(schema: object): Validator {
  let validator = validators.get(schema);
  if (validator === undefined) validators.set(schema, (validator = Compile(schema as TSchema)));
  return validator;
}

/** Stands for a value in which a list or a map has more items than it may have: nothing of them is looked at. */
export const overfull = Symbol('overfull');

/**
 * The value as its schema is to see it: null is the same as absent (contract 1), so it stays only where the schema has
 * a use for it, as a PATCH has to clear a field; and a field that the schema does not name is left out. How deep this
 * goes is up to the schema, never to the client's JSON.
 */
export function pruned(value: unknown, schema: Parts): unknown {
  // A schema that allows anything names no fields; a client's JSON Schema is such a value.
  if (typeof value !== 'object' || value === null || (schema.type === undefined && schema.anyOf === undefined))
    return value;
  const part = containerIn(schema, value) ?? {};
  if (Array.isArray(value)) return prunedItems(value, part);
  const { properties = {}, additionalProperties, maxProperties = Infinity } = part;
  const object = value as Record<string, unknown>;
  const names = Object.keys(object);
  if (names.length > maxProperties && givenOf(object, additionalProperties ?? {}).length > maxProperties)
    return overfull;
  // Most values stay as they are, and then are not copied.
  let kept: [string, unknown][] | null = null;
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    const item = object[name];
    const field = Object.hasOwn(properties, name) ? properties[name]! : additionalProperties;
    const isLeftOut = field === undefined || (item === null && !takesNull(field));
    const left = isLeftOut ? undefined : pruned(item, field);
    if (left === overfull) return overfull;
    if (isLeftOut || left !== item) kept ??= names.slice(0, index).map((before) => [before, object[before]]);
    if (!isLeftOut) kept?.push([name, left]);
  }
  return kept === null ? value : Object.fromEntries(kept);
}

function prunedItems(list: readonly unknown[], { items, maxItems = Infinity }: Parts): unknown {
  if (list.length > maxItems) return overfull;
  if (items === undefined) return list;
  const left = list.map((item) => pruned(item, items));
  return left.includes(overfull) ? overfull : left;
}

/** The names whose values are there: null is the same as absent. */
const givenOf = (object: Readonly<Record<string, unknown>>, field: Parts): string[] =>
  Object.keys(object).filter((name) => object[name] !== null || takesNull(field));

const takesNull = ({ type, anyOf }: Parts): boolean => type === 'null' || (anyOf?.some(takesNull) ?? false);

/** The schema, or the one of its choices, that takes such a list or map. */
export function containerIn(schema: Parts, value: object): Parts | undefined {
  const type = Array.isArray(value) ? 'array' : 'object';
  return (schema.anyOf ?? [schema]).find((one) => one.type === type);
}

/** The first fault of a value; null for none. Only what leads to it is looked at twice. */
export function firstProblem(schema: Parts, given: unknown): Problem | null {
  const value = pruned(given, schema);
  const validator = validatorOf(schema);
  if (value !== overfull && validator.Check(value)) return null;
  const part = typeof given === 'object' && given !== null ? containerIn(schema, given) : undefined;
  if (part !== undefined)
    return (
      (Array.isArray(given)
        ? problemOfItems(given, part)
        : problemOfFields(given as Record<string, unknown>, part)) ?? { path: [], keyword: 'refine' }
    );
  return { path: [], keyword: validator.Errors(value)[0]!.keyword };
}

function problemOfItems(list: readonly unknown[], { items, minItems = 0, maxItems = Infinity }: Parts): Problem | null {
  if (list.length > maxItems) return { path: [], keyword: 'maxItems' };
  if (list.length < minItems) return { path: [], keyword: 'minItems' };
  if (items === undefined) return null;
  for (let index = 0; index < list.length; index++) {
    const found = firstProblem(items, list[index]);
    if (found !== null) return within(String(index), found);
  }
  return null;
}

function problemOfFields(object: Readonly<Record<string, unknown>>, part: Parts): Problem | null {
  const { properties = {}, required = [], additionalProperties, propertyNames, maxProperties = Infinity } = part;
  const isGiven = (name: string, field: Parts): boolean =>
    Object.hasOwn(object, name) && (object[name] !== null || takesNull(field));
  const missing = required.find((name) => !isGiven(name, properties[name] ?? {}));
  if (missing !== undefined) return { path: [], keyword: 'required', missing };
  const others =
    additionalProperties === undefined
      ? []
      : givenOf(object, additionalProperties).filter((name) => !Object.hasOwn(properties, name));
  if (others.length > maxProperties) return { path: [], keyword: 'maxProperties' };
  const misnamed = propertyNames && others.find((name) => !validatorOf(propertyNames).Check(name));
  if (misnamed !== undefined) return { path: [misnamed], keyword: 'propertyNames' };
  const fields = [...Object.entries(properties), ...others.map((name) => [name, additionalProperties!] as const)];
  for (const [name, field] of fields) {
    const found = isGiven(name, field) ? firstProblem(field, object[name]) : null;
    if (found !== null) return within(name, found);
  }
  return null;
}

const within = (name: string, { path, ...problem }: Problem): Problem => ({ ...problem, path: [name, ...path] });
