/** The pieces that requests and responses are made of (contract, part 1). */
import { Type, type Static, type TSchema } from 'typebox';
import type { IdPrefix } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { isOneLine } from '../base/text.ts';

/** A string without lone surrogates; its length counts Unicode code points. */
export const Text = (charactersMax: number, charactersMin = 1, description?: string) =>
  Type.Refine(
    Type.String({ minLength: charactersMin, maxLength: charactersMax, ...(description ? { description } : {}) }),
    (value) => value.isWellFormed(),
  );

/** The name of a record, which lists, logs and terminals show in a line. */
export const Name = (description?: string) => Type.Refine(Text(limits.nameCharactersMax, 1, description), isOneLine);

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A named schema becomes a component of the OpenAPI document. */
export const named = <S extends TSchema>(name: string, schema: S): S => Object.assign(schema, { title: name });

export const Id = (prefix: string) =>
  Type.String({ pattern: `^${prefix}_[0-9a-z]{26}$`, description: `An id that begins with \`${prefix}_\`.` });

export const UnixSeconds = () => Type.Integer({ description: 'Unix time in seconds.' });

export const Strings = <const T extends string>(values: readonly T[], description?: string) =>
  Type.Enum([...values], description === undefined ? {} : { description });

/** A list that is wrong as a whole if an item is: its refusal names no item. */
export const whole = <S extends TSchema>(list: S): S => Object.assign(list, { '~whole': true });

export const listOf = <S extends TSchema>(name: string, item: S) =>
  named(
    name,
    Type.Object({
      object: Type.Literal('list'),
      data: Type.Array(item),
      has_more: Type.Boolean(),
      next_cursor: Nullable(Type.String({ description: 'Pass it as `after` for the next page.' })),
    }),
  );

/**
 * An object with names of the client's choice, including names that are special in JavaScript; a lone surrogate cannot
 * be stored as text.
 */
export const mapOf = <S extends TSchema>(
  value: S,
  options: { maxProperties?: number; propertyNames?: object; description?: string } = {},
) =>
  Type.Refine(
    Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: value, ...options }),
    (map) => Object.keys(map).every((name) => name.isWellFormed()),
  );

/** A client's own pairs of strings (contract 6). */
export const metadataOf = (description?: string) =>
  mapOf(Text(limits.metadataValueCharactersMax, 0), {
    maxProperties: limits.metadataPairsMax,
    propertyNames: { type: 'string', maxLength: limits.metadataKeyCharactersMax },
    ...(description !== undefined && { description }),
  });

/** The query of a list whose cursors look like this; `orders` describes the two orders. */
export const pageQuery = (
  cursor: string,
  order: 'asc' | 'desc',
  orders = 'By creation: `asc` is oldest first, `desc` newest first.',
) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listMax,
      default: limits.listDefault,
      description: 'How many items a page has at most.',
    }),
  ),
  after: Type.Optional(Type.String({ pattern: cursor, description: 'The `next_cursor` of the page before.' })),
  order: Type.Optional(Type.Enum(['asc', 'desc'], { default: order, description: orders })),
});

/** The query of a list of records, newest first; their ids are its cursors. */
export const recordsQuery = (prefix: IdPrefix) => pageQuery(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`, 'desc');
/** The query of a list that is no record's; its cursors are indexes. */
export const indexQuery = () => pageQuery('^[0-9]{1,12}$', 'desc');
/** The query of a transcript, oldest first; its cursors are indexes. */
export const messagesQuery = () => pageQuery('^[0-9]{1,12}$', 'asc');
