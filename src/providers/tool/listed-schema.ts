/**
 * The schemas that MCP servers list and that clients of other protocols bring (contract 13, 14): a keyword that cannot
 * be checked is left out, so that it does not cost the whole function.
 */
import { isNestedWithin, isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { isPattern } from './pattern.ts';
import { isSound, nestingMax, schemaMaps, types, valueKeywords } from './schema.ts';

/**
 * The schema of an object with the keywords that can be checked; null if it is of something else, is too large, or
 * refers to elsewhere. Its size is looked at first.
 */
export function listedSchema(value: unknown): Json | null {
  if (!isObject(value) || !isNestedWithin(value, nestingMax)) return null;
  if (Buffer.byteLength(JSON.stringify(value)) > limits.toolMcpSchemaBytesMax || !isOfObject(value['type']))
    return null;
  const schema = { ...checkable(value), type: 'object' };
  return isSound(schema, 0) ? schema : null;
}

/** A server that leaves the type out means an object, as the protocol demands one. */
const isOfObject = (type: unknown): boolean => type === undefined || type === null || [type].flat().includes('object');

const checkable = (schema: Json): Json =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => {
      const kept = checkableValue(keyword, value);
      return kept === undefined ? [] : [[keyword, kept]];
    }),
  );

/** The value of a keyword without what cannot be checked; undefined if nothing of it can. */
function checkableValue(keyword: string, value: unknown): unknown {
  const read = readers[keyword];
  if (read !== undefined) return read(value);
  if (schemaLists.has(keyword) && Array.isArray(value)) return value.length === 0 ? undefined : value.map(subschema);
  if (schemaLists.has(keyword) && keyword !== 'items') return undefined;
  if (schemaKeywords.has(keyword)) return typeof value === 'boolean' || isObject(value) ? subschema(value) : undefined;
  if (schemaMaps.has(keyword))
    return isObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([name]) => keyword !== 'patternProperties' || isPattern(name))
            .map(([name, each]) => [name, subschema(each)]),
        )
      : undefined;
  return valueKeywords.has(keyword) || typeof value !== 'object' || (value !== null && isSound(value, 0))
    ? value
    : undefined;
}

/** A schema within a schema; one that is none takes any value. */
const subschema = (value: unknown): unknown =>
  typeof value === 'boolean' ? value : isObject(value) ? checkable(value) : {};

const schemaLists: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

type Reader = (value: unknown) => unknown;

const number: Reader = (value) => (typeof value === 'number' ? value : undefined);
const text: Reader = (value) => (typeof value === 'string' ? value : undefined);
const texts: Reader = (value) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined);

/** Keywords whose values have one form. */
const readers: Readonly<Record<string, Reader | undefined>> = Object.assign(Object.create(null) as object, {
  ...Object.fromEntries(
    [
      'minimum',
      'maximum',
      'exclusiveMinimum',
      'exclusiveMaximum',
      'multipleOf',
      'minLength',
      'maxLength',
      'minItems',
      'maxItems',
      'minProperties',
      'maxProperties',
      'minContains',
      'maxContains',
    ].map((one) => [one, number]),
  ),
  ...Object.fromEntries(
    ['title', 'description', 'format', '$schema', '$id', '$anchor', '$comment'].map((one) => [one, text]),
  ),
  // To elsewhere: refused as a whole, since the meaning is there.
  $ref: (value: unknown) => value,
  $dynamicRef: (value: unknown) => value,
  type: (value: unknown) =>
    Array.isArray(value) ? nonEmpty(value.filter((each) => types.has(each))) : types.has(value) ? value : undefined,
  required: texts,
  enum: (value: unknown) => (Array.isArray(value) ? value : undefined),
  pattern: (value: unknown) => (typeof value === 'string' && isPattern(value) ? value : undefined),
  dependentRequired: (value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, texts(each) ?? []]))
      : undefined,
});

const nonEmpty = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items);
