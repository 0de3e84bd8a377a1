/**
 * Finds the first argument that does not match its schema and says why, for a person who tests a function (contract
 * 13). The check's bound of steps applies: past it the error names the whole.
 */
import { isObject, type Json } from '../../base/json.ts';
import { stepsExhausted, SchemaCheck } from './schema-check.ts';

type Schema = Json;

/** Keywords whose meaning depends on their neighbours. */
const neighbours: Readonly<Record<string, readonly string[]>> = {
  items: ['prefixItems'],
  additionalItems: ['items'],
  additionalProperties: ['properties', 'patternProperties'],
  contains: ['minContains', 'maxContains'],
  if: ['then', 'else'],
};

/** Returns a sentence that names the argument; null if it matches or the verdict is unknown. */
export function schemaError(schema: Schema, value: unknown): string | null {
  try {
    return new Misfit(schema).find(schema, value, '');
  } catch (error) {
    if (error === stepsExhausted) return null;
    throw error;
  }
}

class Misfit {
  readonly #check: SchemaCheck;

  constructor(root: Schema) {
    this.#check = new SchemaCheck(root);
  }

  find(schema: unknown, value: unknown, path: string): string | null {
    if (this.#fits(schema, value)) return null;
    if (!isObject(schema)) return `${named(path)} must not be given.`;
    for (const [keyword, wanted] of Object.entries(schema)) {
      const beside = (neighbours[keyword] ?? []).filter((one) => one in schema).map((one) => [one, schema[one]]);
      if (!this.#fits({ ...Object.fromEntries(beside), [keyword]: wanted }, value))
        return this.#within(keyword, schema, value, path) ?? `${named(path)} does not fit ${written(keyword, wanted)}.`;
    }
    return `${named(path)} does not fit its schema.`;
  }

  /** Searches the parts of the value for a keyword about parts. */
  #within(keyword: string, schema: Schema, value: unknown, path: string): string | null {
    const wanted = schema[keyword];
    if (keyword === 'type')
      return `${named(path)} must be ${[wanted]
        .flat()
        .map((type) => `${type === 'array' || type === 'integer' || type === 'object' ? 'an' : 'a'} ${String(type)}`)
        .join(' or ')}.`;
    if (keyword === '$ref') return this.find(this.#check.target(String(wanted)), value, path);
    if (keyword === 'allOf') return this.#first((wanted as unknown[]).map((each) => [each, value, path]));
    if (Array.isArray(value))
      return this.#first(value.map((item, index) => [itemSchema(schema, keyword, index), item, `${path}[${index}]`]));
    if (!isObject(value)) return null;
    if (keyword === 'required')
      return `${named(inside(path, String((wanted as unknown[]).find((name) => !Object.hasOwn(value, String(name))))))} is missing.`;
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const names = Object.keys(value);
    if (keyword === 'properties')
      return this.#first(
        names
          .filter((name) => Object.hasOwn(properties, name))
          .map((name) => [properties[name], value[name], inside(path, name)]),
      );
    if (keyword === 'additionalProperties')
      return this.#first(
        names
          .filter((name) => !Object.hasOwn(properties, name))
          .map((name) => [wanted, value[name], inside(path, name)]),
      );
    return null;
  }

  #first(parts: readonly (readonly [schema: unknown, value: unknown, path: string])[]): string | null {
    for (const part of parts) {
      const error = this.find(...part);
      if (error !== null) return error;
    }
    return null;
  }

  #fits(schema: unknown, value: unknown): boolean {
    return this.#check.check(schema, value) !== false;
  }
}

/** Returns the schema that the keyword gives for an item. */
function itemSchema(schema: Schema, keyword: string, index: number): unknown {
  const first = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : [];
  if (keyword === 'prefixItems') return first[index] ?? true;
  return keyword === 'items' && index >= first.length ? schema['items'] : true;
}

const named = (path: string): string => (path === '' ? 'The whole' : `\`${path}\``);

const inside = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

const writtenMax = 200;

/** Writes a keyword as the schema has it; a long one without its value. */
function written(keyword: string, wanted: unknown): string {
  const text = JSON.stringify(wanted) ?? '';
  return text.length > writtenMax ? `\`${keyword}\`` : `\`${keyword}\`: ${text}`;
}
