/**
 * What crosses the wire: the shapes of requests, responses and events. The validators that run are compiled from these
 * schemas, and the OpenAPI document is made of them.
 */
import { Compile, type Validator } from 'typebox/compile';
import type { Static, TSchema } from 'typebox';
import { Failure, type ErrorName } from './errors.ts';

export * from './wire/conversation.ts';
export * from './wire/console.ts';

/** A field whose bound has an error code of its own, by path. */
export type TooLong = Readonly<Record<string, { name: ErrorName; limit: number }>>;

export interface Shape<S extends TSchema> {
  readonly schema: S;
  /** The value if it has the shape; throws the `Failure` that names the first field that has not. */
  parse(value: unknown): Static<S>;
}

/** A schema with its validator. Compilation waits for the first use, so that a start pays for none. */
export function shape<S extends TSchema>(schema: S, tooLong: TooLong = {}): Shape<S> {
  let compiled: Validator | undefined;
  return {
    schema,
    parse(value) {
      compiled ??= Compile(schema);
      if (compiled.Check(value)) return value as Static<S>;
      throw fieldFailure(compiled.Errors(value)[0] as SchemaError, tooLong);
    },
  };
}

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: { readonly requiredProperties?: readonly string[]; readonly propertyNames?: readonly string[] };
}

function fieldFailure(error: SchemaError, tooLong: TooLong): Failure {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
  if (error.keyword === 'required') {
    const field = [path, error.params.requiredProperties?.[0] ?? ''].filter(Boolean).join('.');
    return new Failure('missing_field', { field });
  }
  if (path === '') return new Failure('not_an_object');
  const bound = error.keyword === 'maxLength' ? tooLong[path] : undefined;
  return bound ? new Failure(bound.name, { limit: bound.limit }) : new Failure('invalid_field', { field: path });
}

/** The value without its null properties, at every depth: null is the same as absent (contract 12). Arrays keep theirs. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([name, item]) => [name, withoutNulls(item)]),
  );
}

/** A query as an object: the last of duplicate names counts, and whole numbers are read where the schema wants them. */
export function queryObject(query: string, schema: TSchema): Record<string, unknown> {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
  const object: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(query)) {
    if (!Object.hasOwn(properties, name)) continue;
    object[name] = properties[name]!.type === 'integer' && /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  }
  return object;
}
