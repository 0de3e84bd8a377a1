/**
 * JSON Schema with the keywords that the documents use, read as it stands: a compiler of schemas takes longer than the
 * few answers of a test file are worth. `json-schema.test.ts` holds it to ajv.
 */
import { isDeepStrictEqual } from 'node:util';
import { codePoints } from '../src/base/text.ts';

export interface Schema {
  readonly [keyword: string]: unknown;
}

/** Finds what is wrong with a value, one line each. */
type Check = (value: any, keyword: any, schema: Schema, document: unknown, at: string) => string[];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const unless = (isRight: boolean, fault: string): string[] => (isRight ? [] : [fault]);

const isOf: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: isObject,
};

const objects =
  (check: Check): Check =>
  (value, ...rest) =>
    isObject(value) ? check(value, ...rest) : [];
const arrays =
  (check: Check): Check =>
  (value, ...rest) =>
    Array.isArray(value) ? check(value, ...rest) : [];
const ofType =
  (type: 'string' | 'number', isRight: (value: any, bound: any) => boolean, name: string): Check =>
  (value, bound, _, __, at) =>
    unless(typeof value !== type || isRight(value, bound), `${at} must be ${name} ${bound}`);
const words: Check = () => [];

const checks: Readonly<Record<string, Check>> = {
  type: (value, types, _, __, at) =>
    unless(
      [types].flat().some((type: string) => isOf[type]!(value)),
      `${at} must be ${types}`,
    ),
  enum: (value, values: unknown[], _, __, at) =>
    unless(
      values.some((each) => isDeepStrictEqual(each, value)),
      `${at} must be one of ${values}`,
    ),
  const: (value, wanted, _, __, at) =>
    unless(isDeepStrictEqual(wanted, value), `${at} must be ${JSON.stringify(wanted)}`),
  required: objects((value, names: string[], _, __, at) =>
    names.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at} must have ${name}`),
  ),
  properties: objects((value, properties: Record<string, Schema>, _, document, at) =>
    Object.entries(properties).flatMap(([name, schema]) =>
      Object.hasOwn(value, name) ? faultsOf(schema, value[name], document, `${at}/${name}`) : [],
    ),
  ),
  additionalProperties: objects((value, schema: Schema | boolean, { properties = {} }, document, at) =>
    Object.keys(value)
      .filter((name) => !Object.hasOwn(properties as object, name))
      .flatMap((name) =>
        typeof schema === 'boolean'
          ? unless(schema, `${at} must not have ${name}`)
          : faultsOf(schema, value[name], document, `${at}/${name}`),
      ),
  ),
  propertyNames: objects((value, schema: Schema, _, document, at) =>
    Object.keys(value).flatMap((name) => faultsOf(schema, name, document, `${at}, the name ${name}`)),
  ),
  maxProperties: objects((value, most: number, _, __, at) =>
    unless(Object.keys(value).length <= most, `${at} must have at most ${most} properties`),
  ),
  items: arrays((value: unknown[], schema: Schema, _, document, at) =>
    value.flatMap((each, index) => faultsOf(schema, each, document, `${at}/${index}`)),
  ),
  minItems: arrays((value: unknown[], least: number, _, __, at) =>
    unless(value.length >= least, `${at} must have at least ${least} items`),
  ),
  maxItems: arrays((value: unknown[], most: number, _, __, at) =>
    unless(value.length <= most, `${at} must have at most ${most} items`),
  ),
  anyOf(value, schemas: Schema[], _, document, at) {
    const found = schemas.map((schema) => faultsOf(schema, value, document, at));
    return found.some((faults) => faults.length === 0) ? [] : found.flat();
  },
  $ref: (value, reference: string, _, document, at) => faultsOf(referred(reference, document), value, document, at),
  minimum: ofType('number', (value, least) => value >= least, 'at least'),
  maximum: ofType('number', (value, most) => value <= most, 'at most'),
  minLength: ofType('string', (value, least) => codePoints(value) >= least, 'of a length of at least'),
  maxLength: ofType('string', (value, most) => codePoints(value) <= most, 'of a length of at most'),
  pattern: ofType('string', (value, pattern) => new RegExp(pattern, 'u').test(value), 'of the pattern'),
  ...Object.fromEntries(
    ['description', 'default', 'examples', 'format', 'contentMediaType', 'contentSchema', 'components'].map((name) => [
      name,
      words,
    ]),
  ),
};

/** The schema that a reference within the document leads to. */
function referred(reference: string, document: unknown): Schema {
  const names = reference
    .replace(/^#\//, '')
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const found = names.reduce((value: any, name) => value?.[name], document);
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}

/**
 * Returns the faults of a value under a schema of a document, within which its references lead. Throws at a keyword
 * that it does not know.
 */
export function faultsOf(schema: Schema, value: unknown, document: unknown, at = 'it'): string[] {
  return Object.entries(schema).flatMap(([name, keyword]) => {
    const check = checks[name];
    if (check === undefined) throw new Error(`test/json-schema.ts does not know the keyword ${name}`);
    return check(value, keyword, schema, document, at);
  });
}
