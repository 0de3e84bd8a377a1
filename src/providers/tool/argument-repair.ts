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
export function repairArguments(root: Json, values: Json, parsed: (text: string) => unknown): Json {
  try {
    return new ArgumentRepair(root, parsed).repair(root, values) as Json;
  } catch (error) {
    if (error === stepsExhausted) return values;
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
    if (typeof value === 'string') return this.#parsedValue(schema, value);
    let repaired = value;
    if (Array.isArray(value)) repaired = value.map((item, index) => this.repair(itemSchema(schema, index), item));
    else if (isObject(value)) repaired = this.#properties(schema, value);
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === 'string') repaired = this.repair(this.#check.target($ref), repaired);
    for (const each of Array.isArray(allOf) ? allOf : []) repaired = this.repair(each, repaired);
    for (const each of [anyOf, oneOf]) repaired = this.#chosen(each, repaired);
    return repaired;
  }

  /** Repairs the value for the first alternative that then accepts it. */
  #chosen(schemas: unknown, value: unknown): unknown {
    for (const each of Array.isArray(schemas) ? schemas : []) {
      const repaired = this.repair(each, value);
      if (this.#fits(each, repaired)) return repaired;
    }
    return value;
  }

  /** Returns the value in a text, if the schema accepts that value and not the text. */
  #parsedValue(schema: Json, text: string): unknown {
    const value = this.#parsed(text);
    if (value === undefined || value === null || typeof value === 'string') return text;
    const repaired = this.repair(schema, value);
    return this.#fits(schema, repaired) ? repaired : text;
  }

  #properties({ properties, required, additionalProperties }: Json, value: Json): Json {
    const schemas = isObject(properties) ? properties : {};
    const wanted: readonly unknown[] = Array.isArray(required) ? required : [];
    const repaired: [string, unknown][] = [];
    for (const [name, each] of Object.entries(value)) {
      const isKnown = Object.hasOwn(schemas, name);
      if (each === null && isKnown && !wanted.includes(name) && !this.#fits(schemas[name], null)) continue;
      repaired.push([name, this.repair(isKnown ? schemas[name] : additionalProperties, each)]);
    }
    return Object.fromEntries(repaired);
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
