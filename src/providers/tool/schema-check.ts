/**
 * Checks in a bounded number of steps whether a value matches a tool's JSON Schema. The schema may come from a
 * stranger, and the value comes from a model. A validator without a bound would let them block the event loop for
 * seconds (a pattern that backtracks, `anyOf` within `$ref`, 32 KiB of small items). A value counts as matching if the
 * steps do not suffice or a keyword is not supported: the tool checks its arguments itself.
 */
import { isObject, type Json } from '../../base/json.ts';
import { codePoints } from '../../base/text.ts';

/** Steps of a check of arguments against their schema, all in one iteration of the event loop. */
const toolCheckStepsMax = 50_000;

type Schema = Json;

/** Verdict of a check; null if it is unknown. */
type Verdict = boolean | null;

/** Returns false only for a value that certainly does not match. */
export function mayFit(schema: Schema, value: unknown): boolean {
  try {
    return new SchemaCheck(schema).check(schema, value) !== false;
  } catch (error) {
    if (error === stepsExhausted) return true;
    throw error;
  }
}

/** Thrown by a check whose steps are used up. */
export const stepsExhausted = new Error('the steps are used up');

/** Checks values against one schema. Treats `format` and unsupported keywords as annotations. */
export class SchemaCheck {
  readonly #root: Schema;
  readonly #targets = new Map<string, unknown>();
  #left: number = toolCheckStepsMax;
  #depth = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  check(schema: unknown, value: unknown): Verdict {
    this.#spend(1);
    if (typeof schema === 'boolean') return schema;
    if (!isObject(schema)) return null;
    // Bounds the stack as well as the steps.
    if (++this.#depth > depthMax) throw stepsExhausted;
    const verdict = all(this.#verdicts(schema, value));
    this.#depth--;
    return verdict;
  }

  /** Yields a verdict for each keyword, the cheaper ones first: the first mismatch ends the check. */
  *#verdicts(schema: Schema, value: unknown): Generator<Verdict> {
    const { type, $ref } = schema;
    if (type !== undefined) yield (Array.isArray(type) ? type : [type]).some((one) => isOf(one, value));
    if ('const' in schema) yield this.#same(schema['const'], value);
    if (Array.isArray(schema['enum'])) yield this.#isAmong(schema['enum'], value);
    if (typeof value === 'number') yield inRange(schema, value);
    else if (typeof value === 'string') yield* this.#ofText(schema, value);
    else if (Array.isArray(value)) yield* this.#ofItems(schema, value);
    else if (isObject(value)) yield* this.#ofProperties(schema, value);
    if (typeof $ref === 'string') yield this.check(this.target($ref), value);
    // The meaning of these keywords depends on the path of references to them.
    if (
      '$dynamicRef' in schema ||
      '$recursiveRef' in schema ||
      'unevaluatedItems' in schema ||
      'unevaluatedProperties' in schema
    )
      yield null;
    yield* this.#combined(schema, value);
  }

  *#combined(
    { allOf, anyOf, oneOf, not, if: condition, then = true, else: otherwise = true }: Schema,
    value: unknown,
  ): Generator<Verdict> {
    for (const each of schemasIn(allOf)) yield this.check(each, value);
    if (Array.isArray(anyOf)) yield any(anyOf, (each) => this.check(each, value));
    if (Array.isArray(oneOf)) yield this.#one(oneOf, value);
    if (not !== undefined) yield negated(this.check(not, value));
    if (condition === undefined) return;
    const holds = this.check(condition, value);
    if (holds !== null) yield this.check(holds ? then : otherwise, value);
    else yield any([then, otherwise], (each) => this.check(each, value)) === false ? false : null;
  }

  #one(schemas: readonly unknown[], value: unknown): Verdict {
    let fitting = 0;
    let open = 0;
    for (const each of schemas) {
      const verdict = this.check(each, value);
      if (verdict === true && ++fitting > 1) return false;
      if (verdict === null) open++;
    }
    return open > 0 ? null : fitting === 1;
  }

  *#ofText({ minLength, maxLength, pattern }: Schema, value: string): Generator<Verdict> {
    if (minLength !== undefined || maxLength !== undefined) {
      this.#spend(value.length >> 4);
      yield isWithin(codePoints(value), minLength, maxLength);
    }
    if (typeof pattern !== 'string') return;
    this.#spend(patternSteps);
    yield isPlain(pattern) && value.length <= patternTextMax ? new RegExp(pattern, 'u').test(value) : null;
  }

  *#ofItems(
    {
      items,
      prefixItems,
      additionalItems,
      contains,
      minContains = 1,
      maxContains,
      minItems,
      maxItems,
      uniqueItems,
    }: Schema,
    value: readonly unknown[],
  ): Generator<Verdict> {
    yield isWithin(value.length, minItems, maxItems);
    // JSON Schema before 2020 has the first items in `items` itself.
    const first = schemasIn(Array.isArray(items) ? items : prefixItems);
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [index, each] of value.entries()) {
      const schema = index < first.length ? first[index] : rest;
      if (schema !== undefined) yield this.check(schema, each);
    }
    if (contains !== undefined) yield this.#holds(contains, value, minContains, maxContains);
    if (uniqueItems === true) yield this.#isUnique(value);
  }

  #holds(schema: unknown, value: readonly unknown[], least: unknown, most: unknown): Verdict {
    let count = 0;
    for (const each of value) {
      const verdict = this.check(schema, each);
      if (verdict === null) return null;
      if (verdict) count++;
    }
    return isWithin(count, least, most);
  }

  #isUnique(value: readonly unknown[]): boolean {
    const seen = new Set<string>();
    for (const each of value) seen.add(this.#textOf(each));
    return seen.size === value.length;
  }

  *#ofProperties(schema: Schema, value: Schema): Generator<Verdict> {
    const {
      properties,
      required,
      additionalProperties,
      patternProperties,
      propertyNames,
      minProperties,
      maxProperties,
    } = schema;
    const names = Object.keys(value);
    this.#spend(names.length);
    yield isWithin(names.length, minProperties, maxProperties);
    for (const name of schemasIn(required)) {
      this.#spend(1);
      yield Object.hasOwn(value, String(name));
    }
    for (const name of names) {
      if (isObject(properties) && Object.hasOwn(properties, name)) yield this.check(properties[name], value[name]);
      // Property names are not checked against `patternProperties`.
      else if (patternProperties !== undefined) yield null;
      else if (additionalProperties !== undefined) yield this.check(additionalProperties, value[name]);
      if (propertyNames !== undefined) yield this.check(propertyNames, name);
    }
    yield* this.#dependent(schema, value);
  }

  *#dependent({ dependentRequired, dependentSchemas, dependencies }: Schema, value: Schema): Generator<Verdict> {
    for (const map of [dependentRequired, dependentSchemas, dependencies]) {
      if (!isObject(map)) continue;
      for (const [name, due] of Object.entries(map)) {
        this.#spend(1);
        if (!Object.hasOwn(value, name)) continue;
        if (!Array.isArray(due)) yield this.check(due, value);
        else for (const other of due) yield (this.#spend(1), Object.hasOwn(value, String(other)));
      }
    }
  }

  #isAmong(options: readonly unknown[], value: unknown): boolean {
    this.#spend(options.length);
    if (typeof value !== 'object' || value === null) return options.includes(value);
    return options.some((option) => this.#same(option, value));
  }

  #same(one: unknown, other: unknown): boolean {
    if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other;
    return this.#textOf(one) === this.#textOf(other);
  }

  /** Returns the same text for equal values, without regard to the order of fields. */
  #textOf(value: unknown): string {
    const text = JSON.stringify(
      value,
      (_, part: unknown) => (
        this.#spend(1),
        isObject(part)
          ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
          : part
      ),
    );
    this.#spend(text.length >> 6);
    return text;
  }

  /**
   * Returns the part of the schema that a reference names; null, an unknown verdict, for a reference without a target.
   */
  target(reference: string): unknown {
    if (this.#targets.has(reference)) return this.#targets.get(reference);
    const found =
      reference === '#'
        ? this.#root
        : reference.startsWith('#/')
          ? this.#at(reference.slice(2).split('/'))
          : this.#anchored(this.#root, reference.slice(1));
    this.#targets.set(reference, found);
    return found;
  }

  #at(path: readonly string[]): unknown {
    this.#spend(path.length);
    let part: unknown = this.#root;
    for (const step of path) {
      const name = unescaped(step);
      if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return undefined;
      part = (part as Record<string, unknown>)[name];
    }
    return part;
  }

  #anchored(part: unknown, anchor: string): unknown {
    this.#spend(1);
    if (typeof part !== 'object' || part === null) return undefined;
    if (isObject(part) && [part['$anchor'], part['$dynamicAnchor']].includes(anchor)) return part;
    for (const each of Object.values(part)) {
      const found = this.#anchored(each, anchor);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw stepsExhausted;
  }
}

/** The deepest nesting of checks: of schemas within schemas, and of values within values. */
const depthMax = 200;

const schemasIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function all(verdicts: Iterable<Verdict>): Verdict {
  let found: Verdict = true;
  for (const verdict of verdicts) {
    if (verdict === false) return false;
    if (verdict === null) found = null;
  }
  return found;
}

function any(schemas: readonly unknown[], check: (schema: unknown) => Verdict): Verdict {
  let found: Verdict = false;
  for (const schema of schemas) {
    const verdict = check(schema);
    if (verdict === true) return true;
    if (verdict === null) found = null;
  }
  return found;
}

const negated = (verdict: Verdict): Verdict => (verdict === null ? null : !verdict);

function isOf(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Ignores a bound that is not a number. */
const isWithin = (count: number, least: unknown, most: unknown): boolean =>
  !(typeof least === 'number' && count < least) && !(typeof most === 'number' && count > most);

function inRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Schema, value: number): boolean {
  if (!isWithin(value, minimum, maximum)) return false;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false;
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return true;
  // 0.3 is a multiple of 0.1, though not in binary.
  const times = value / multipleOf;
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times));
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** Steps charged for a plain pattern, and the maximum lengths of the texts that it is tried on. */
const patternSteps = 500;
const patternTextMax = 256;

/**
 * Matches a plain pattern: a sequence of characters and classes from the beginning of the text, without groups,
 * alternatives and references.
 */
const plain =
  /^\^(?:(?:\\[dDwWsS./\\^$*+?()[\]{}|-]|\[(?:[^\]\\[]|\\[dDwWsS./\\^$*+?()[\]{}|-])+\]|[^\\[\](){}|*+?^$])(?:\{\d{1,2}(?:,\d{0,2})?\}|[*+?])?)*\$?$/u;

/**
 * Whether a pattern needs few steps on a text of this length: with two repetitions of varying length it takes at most
 * the square.
 */
const isPlain = (pattern: string): boolean =>
  pattern.length <= 128 && plain.test(pattern) && (pattern.match(/[*+?]|\{\d+,/g)?.length ?? 0) <= 2;
