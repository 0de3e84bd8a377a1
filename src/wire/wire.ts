/**
 * The shapes of requests, responses and events on the wire. The validators that run are compiled from these
 * schemas, and the OpenAPI document is made from them.
 */
import type { Static, TSchema } from 'typebox';
import { Failure, type ErrorName } from '../base/errors.ts';
import { firstProblem, overfull, pruned, validatorOf, type Parts, type Problem } from './check.ts';

export * from './conversation.ts';
export * from './call.ts';
export * from './console.ts';
export * from './desk.ts';
export * from './erasures.ts';
export * from './mcp.ts';
export * from './openai.ts';
export * from './realtime.ts';
export * from './tests.ts';
export * from './tools.ts';
export * from './link.ts';
export * from './people.ts';
export * from './sign-in.ts';
export * from './history.ts';
export * from './versions.ts';
export * from './webhooks.ts';

/** Characters of a client's own name for a field that a message shows. */
const fieldCharactersShown = 128;

/** Fields whose bound has a special error code, by path. */
export type TooLong = Readonly<Record<string, { name: ErrorName; limit: number }>>;

export interface Shape<S extends TSchema> {
  readonly schema: S;
  /** The value, pruned, if it has the shape; throws the `Failure` that names the first field that has not. */
  parse(value: unknown): Static<S>;
}

/** A schema with its validator. Compilation waits for the first use, so that a start pays for none. */
export function shape<S extends TSchema>(schema: S, tooLong: TooLong = {}): Shape<S> {
  return {
    schema,
    parse(given) {
      const value = pruned(given, schema);
      if (value !== overfull && validatorOf(schema).Check(value)) return value as Static<S>;
      throw fieldFailure(firstProblem(schema, given)!, schema, tooLong);
    },
  };
}

/**
 * The characters that a name chosen by the client may hold and that a log line or a terminal should not show; a
 * back-tick would end the quotation.
 */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029`]/g;

/**
 * A field's path, as in `visitor.email`; it ends before a name that the client chose too long to repeat, and at a list
 * that is wrong as a whole.
 */
function pathOf(parts: readonly string[], schema: Parts): string {
  const named: string[] = [];
  let within: Parts | undefined = schema;
  for (const part of parts) {
    if (within?.['~whole'] || part.length > fieldCharactersShown) break;
    named.push(part.replace(unprintable, '\ufffd'));
    within = within && partOf(within, part);
  }
  return named.join('.');
}

/** Returns the schema of a field or an item of the value. */
export function partOf(schema: Parts, name: string): Parts | undefined {
  const {
    items,
    properties = {},
    additionalProperties,
  } = (schema.anyOf ?? [schema]).find(({ type }) => type === 'object' || type === 'array') ?? {};
  return Object.hasOwn(properties, name) ? properties[name] : (items ?? additionalProperties);
}

function fieldFailure({ path: parts, keyword, missing }: Problem, schema: Parts, tooLong: TooLong): Failure {
  const path = pathOf(parts, schema);
  if (missing !== undefined) return new Failure('missing_field', { field: [path, missing].filter(Boolean).join('.') });
  if (path === '') return new Failure('not_an_object');
  const bound = keyword === 'maxLength' ? tooLong[path] : undefined;
  return bound
    ? new Failure(bound.name, { limit: bound.limit, param: path })
    : new Failure('invalid_field', { field: path });
}

function valueOf(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/**
 * A query as an object: the last of duplicate names counts, and whole numbers and booleans are read where the schema
 * wants them.
 */
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
