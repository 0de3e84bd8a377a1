/**
 * Repairs arguments that models write against their schema but mean otherwise: `null` for an omitted property, and a
 * text that contains the JSON value.
 */
import { isObject, type Json } from '../../base/json.ts';
import { stepsExhausted, SchemaCheck } from './schema-check.ts';

/**
 * Returns the arguments, repaired where they do not match. `parsed`: returns the value that a text contains; undefined
 * if it contains no JSON value.
 */
export function repairArguments(root: Json, given: Json, parsed: (text: string) => unknown): Json {
  try {
    return new ArgumentRepair(root, parsed).repair(root, given) as Json;
  } catch (error) {
    if (error === stepsExhausted) return given;
    throw error;
  }
}

class ArgumentRepair {
  readonly #check: SchemaCheck;
  readonly #parsed: (text: string) => unknown;

  constructor(root: Json, parsed: (text: string) => unknown) {
    this.#check = new SchemaCheck(root);
    this.#parsed = parsed;
  }

  repair(schema: unknown, value: unknown): unknown {
    if (!isObject(schema) || this.#fits(schema, value)) return value;
    if (typeof value === 'string') return this.#held(schema, value);
    let found = value;
    if (Array.isArray(value)) found = value.map((item, index) => this.repair(itemSchema(schema, index), item));
    else if (isObject(value)) found = this.#properties(schema, value);
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === 'string') found = this.repair(this.#check.target($ref), found);
    for (const each of Array.isArray(allOf) ? allOf : []) found = this.repair(each, found);
    for (const each of [anyOf, oneOf]) found = this.#chosen(each, found);
    return found;
  }

  /** Repairs the value for the first alternative that then accepts it. */
  #chosen(schemas: unknown, value: unknown): unknown {
    for (const each of Array.isArray(schemas) ? schemas : []) {
      const found = this.repair(each, value);
      if (this.#fits(each, found)) return found;
    }
    return value;
  }

  /** Returns the value in a text, if the schema accepts that value and not the text. */
  #held(schema: Json, text: string): unknown {
    const value = this.#parsed(text);
    if (value === undefined || value === null || typeof value === 'string') return text;
    const found = this.repair(schema, value);
    return this.#fits(schema, found) ? found : text;
  }

  #properties({ properties, required, additionalProperties }: Json, value: Json): Json {
    const known = isObject(properties) ? properties : {};
    const wanted: readonly unknown[] = Array.isArray(required) ? required : [];
    const found: [string, unknown][] = [];
    for (const [name, each] of Object.entries(value)) {
      const isKnown = Object.hasOwn(known, name);
      if (each === null && isKnown && !wanted.includes(name) && !this.#fits(known[name], null)) continue;
      found.push([name, this.repair(isKnown ? known[name] : additionalProperties, each)]);
    }
    return Object.fromEntries(found);
  }

  #fits(schema: unknown, value: unknown): boolean {
    return this.#check.check(schema, value) !== false;
  }
}

function itemSchema({ items, prefixItems }: Json, index: number): unknown {
  // JSON Schema before 2020 has the first items in `items` itself.
  const first = Array.isArray(items) ? items : prefixItems;
  if (Array.isArray(first) && index < first.length) return first[index];
  return Array.isArray(items) ? undefined : items;
}
