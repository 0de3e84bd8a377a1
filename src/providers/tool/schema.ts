/** Rules for the names and the schemas of a tool's functions (contract 13). */
import { isNestedWithin, isObject } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { isPattern } from './pattern.ts';

export const functionName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Maximum nesting of schemas within schemas, and of values of any kind: storing or sending deeper ones would overflow
 * the stack.
 */
const depthMax = 64;
export const nestingMax = 200;

/**
 * Whether a value is a JSON Schema of an object, not too large, without external references. Checks its size before its
 * contents.
 */
export function isSchema(
  value: unknown,
  bytesMax: number = limits.toolSchemaBytesMax,
): value is Record<string, unknown> {
  if (!isObject(value) || !isNestedWithin(value, nestingMax)) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= bytesMax && value['type'] === 'object' && isSound(value, 0);
}

/** Keywords whose values are schemas by names that the author chose. */
export const schemaMaps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** Keywords whose values are plain values, not schemas. */
export const valueKeywords: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'dependentRequired',
]);
export const types: ReadonlySet<unknown> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);

/** Whether the known keywords of a schema and of its parts have valid values. */
export function isSound(schema: unknown, depth: number): boolean {
  if (typeof schema === 'boolean') return true;
  if (typeof schema !== 'object' || schema === null || depth > depthMax) return false;
  if (Array.isArray(schema)) return schema.every((each) => isSound(each, depth + 1));
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === '$ref' || keyword === '$dynamicRef') return typeof value === 'string' && value.startsWith('#');
    if (keyword === 'type')
      return Array.isArray(value) ? value.length > 0 && value.every((each) => types.has(each)) : types.has(value);
    if (keyword === 'pattern') return typeof value === 'string' && isPattern(value);
    if (keyword === 'required') return Array.isArray(value) && value.every((each) => typeof each === 'string');
    if (keyword === 'enum') return Array.isArray(value);
    if (valueKeywords.has(keyword) || typeof value !== 'object' || value === null) return !schemaMaps.has(keyword);
    if (schemaMaps.has(keyword))
      return !Array.isArray(value) && Object.values(value).every((each) => isSound(each, depth + 1));
    return isSound(value, depth + 1);
  });
}
