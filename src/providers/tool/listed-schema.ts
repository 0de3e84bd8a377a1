/**
 * Reads schemas that MCP servers list and that clients of other protocols send (contract 13, 14). Drops a keyword that
 * cannot be checked, so that it does not cost the whole function.
 */
import { isNestedWithin, isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { isPattern } from './pattern.ts';
import { isSound, nestingMax, schemaMaps, types, valueKeywords } from './schema.ts';

/**
 * Returns the schema of an object with the keywords that can be checked; null for a schema of another type, one that is
 * too large, or one with an external reference. Checks its size first.
 */
export function listedSchema(value: unknown): Json | null {
  if (!isObject(value) || !isNestedWithin(value, nestingMax)) return null;
  if (Buffer.byteLength(JSON.stringify(value)) > limits.toolMcpSchemaBytesMax || !isOfObject(value['type']))
    return null;
  const schema = { ...checkable(value), type: 'object' };
  return isSound(schema, 0) ? schema : null;
}

/** A missing type means an object, as the protocol demands. */
const isOfObject = (type: unknown): boolean => type === undefined || type === null || [type].flat().includes('object');

const checkable = (schema: Json): Json =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => {
      const checkable = checkableValue(keyword, value);
      return checkable === undefined ? [] : [[keyword, checkable]];
    }),
  );

/** Returns the value of a keyword without its unsupported parts; undefined if all of it is unsupported. */
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

/** A nested schema; a value of another type accepts any value. */
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
  // An external reference refuses the whole schema, because its meaning lies elsewhere.
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
