/**
 * The shapes of requests, responses and events on the wire. The validators that run are compiled from these
 * schemas, and the OpenAPI document is made from them.
 */
import { Compile, type Validator } from 'typebox/compile';
import type { Static, TSchema } from 'typebox';
import { Failure, type ErrorName } from './errors.ts';
import { limits } from './limits.ts';

export * from './wire/conversation.ts';
export * from './wire/call.ts';
export * from './wire/console.ts';
export * from './wire/desk.ts';
export * from './wire/mcp.ts';
export * from './wire/openai.ts';
export * from './wire/realtime.ts';
export * from './wire/tools.ts';
export * from './wire/link.ts';
export * from './wire/sign-in.ts';
export * from './wire/history.ts';

/** A field whose bound has an error code of its own, by path. */
export type TooLong = Readonly<Record<string, { name: ErrorName; limit: number }>>;

export interface Shape<S extends TSchema> {
  readonly schema: S;
  /** The value, pruned, if it has the shape; throws the `Failure` that names the first field that has not. */
  parse(value: unknown): Static<S>;
}

/** A schema with its validator. Compilation waits for the first use, so that a start pays for none. */
export function shape<S extends TSchema>(schema: S, tooLong: TooLong = {}): Shape<S> {
  let compiled: Validator | undefined;
  return {
    schema,
    parse(given) {
      compiled ??= Compile(schema);
      const value = pruned(given, schema as Parts);
      if (compiled.Check(value)) return value as Static<S>;
      throw fieldFailure(compiled.Errors(value)[0] as SchemaError, schema as Parts, tooLong);
    },
  };
}

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: { readonly requiredProperties?: readonly string[]; readonly propertyNames?: readonly string[] };
}

/** The characters that a name chosen by the client may hold and that a log line or a terminal should not show; a back-tick would end the quotation. */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029`]/g;

/** A field's path, as in `visitor.email`; it ends before a name that the client chose too long to repeat, and at a list that is wrong as a whole. */
function pathOf(instancePath: string, schema: Parts): string {
  const parts = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const named: string[] = [];
  let within: Parts | undefined = schema;
  for (const part of parts) {
    if (within?.['~whole'] || part.length > limits.fieldCharactersShown) break;
    named.push(part.replace(unprintable, '\ufffd'));
    within = within && partOf(within, part);
  }
  return named.join('.');
}

/** Returns the schema of a field or an item of the value. */
function partOf(schema: Parts, name: string): Parts | undefined {
  const { items, properties = {}, additionalProperties } = (schema.anyOf ?? [schema]).find(({ type }) => type === 'object' || type === 'array') ?? {};
  return Object.hasOwn(properties, name) ? properties[name] : (items ?? additionalProperties);
}

function fieldFailure(error: SchemaError, schema: Parts, tooLong: TooLong): Failure {
  const path = pathOf(error.instancePath, schema);
  if (error.keyword === 'required') {
    const field = [path, error.params.requiredProperties?.[0] ?? ''].filter(Boolean).join('.');
    return new Failure('missing_field', { field });
  }
  if (path === '') return new Failure('not_an_object');
  const bound = error.keyword === 'maxLength' ? tooLong[path] : undefined;
  return bound ? new Failure(bound.name, { limit: bound.limit, param: path }) : new Failure('invalid_field', { field: path });
}

/** The parts of a schema that describe the values within its value. */
interface Parts {
  readonly type?: string;
  readonly anyOf?: readonly Parts[];
  readonly properties?: Readonly<Record<string, Parts>>;
  readonly additionalProperties?: Parts;
  readonly items?: Parts;
  /** See `whole`. */
  readonly '~whole'?: boolean;
}

/**
 * The value as its schema is to see it: null is the same as absent (contract 12), so it stays only where the schema has
 * a use for it, as a PATCH has to clear a field; and a field that the schema does not name is left out. How deep this goes
 * is up to the schema, never to the client's JSON.
 */
export function pruned(value: unknown, schema: Parts): unknown {
  // A schema that allows anything has no names of its own, such as that of a client's JSON Schema.
  if (typeof value !== 'object' || value === null || (schema.type === undefined && schema.anyOf === undefined)) return value;
  const { items, properties = {}, additionalProperties } = (schema.anyOf ?? [schema]).find(({ type }) => type === containerOf(value)) ?? {};
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => pruned(item, items));
  const object = value as Record<string, unknown>;
  const names = Object.keys(object);
  // Most values stay as they are, and then are not copied.
  let kept: [string, unknown][] | null = null;
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    const item = object[name];
    const part = Object.hasOwn(properties, name) ? properties[name]! : additionalProperties;
    const isLeftOut = part === undefined || (item === null && !takesNull(part));
    const left = isLeftOut ? undefined : pruned(item, part);
    if (isLeftOut || left !== item) kept ??= names.slice(0, index).map((before) => [before, object[before]]);
    if (!isLeftOut) kept?.push([name, left]);
  }
  return kept === null ? value : Object.fromEntries(kept);
}

const containerOf = (value: object): string => (Array.isArray(value) ? 'array' : 'object');
const takesNull = ({ type, anyOf }: Parts): boolean => type === 'null' || (anyOf?.some(takesNull) ?? false);

function valueOf(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** A query as an object: the last of duplicate names counts, and whole numbers and booleans are read where the schema wants them. */
export function queryObject(query: string, schema: TSchema): Record<string, unknown> {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
  const object: Record<string, unknown> = {};
  if (query === '') return object;
  for (const [name, text] of new URLSearchParams(query)) {
    if (!Object.hasOwn(properties, name)) continue;
    object[name] = valueOf(text, properties[name]!.type);
  }
  return object;
}
