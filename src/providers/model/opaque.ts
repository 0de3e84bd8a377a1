/** Collects the fields that a provider put on a call or its round, over the pieces of a stream (contract 13). */
import { createHash } from 'node:crypto';
import { isNestedWithin, isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { evictOldest } from '../../base/evict-oldest.ts';

/**
 * Names providers as their fields are kept for them: by dialect and endpoint. Every request asks, mostly for the same.
 */
export function originsOf(provider: string): (baseUrl: string) => string {
  const known = new Map<string, string>();
  return (baseUrl) => {
    const found =
      known.get(baseUrl) ?? createHash('sha256').update(`${provider} ${baseUrl}`).digest('base64url').slice(0, 16);
    known.set(baseUrl, found);
    evictOldest(known, limits.providerOriginsMax);
    return found;
  };
}

/** Returns the unknown fields of an object that have a value; null for an object without such fields. */
export function unknownFields(given: Json, known: ReadonlySet<string>): Json | null {
  let found: Record<string, unknown> | null = null;
  for (const [name, value] of Object.entries(given)) {
    if (known.has(name) || isEmpty(value)) continue;
    (found ??= {})[name] = value;
  }
  return found;
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** The deepest nesting of fields: what they are stored with would need a stack as deep. */
const nestingMax = 64;

/**
 * The fields of a call or a round, over the pieces of a stream: objects are merged, the parts of a list are joined, and
 * of the rest the last counts. They grow in place, since to copy them for each piece would take the square of their
 * number. Once they are too much all of them are dropped: providers refuse a part.
 */
export class GrowingFields {
  #fields: Record<string, unknown> | null = {};
  /** The last place of each kind of part in a list. */
  readonly #places = new WeakMap<object, Map<string, number>>();
  /** Characters of the pieces since the whole was measured. */
  #fresh = 0;

  /** Null for none. */
  get whole(): Json | null {
    return this.#fields === null || isEmpty(this.#fields) ? null : this.#fields;
  }

  /** Takes a piece, which belongs to the fields from now on. */
  take(piece: Json): void {
    if (this.#fields === null) return;
    const characters = isNestedWithin(piece, nestingMax) ? JSON.stringify(piece).length : Infinity;
    if (characters <= limits.toolOpaqueCharactersMax) this.#merge(this.#fields, piece);
    else this.#fields = null;
    // Pieces repeat much that the whole has once, so the whole is measured, but only as often as it may have grown by
    // its bound.
    this.#fresh += characters;
    if (this.#fresh <= limits.toolOpaqueCharactersMax) return;
    this.#fresh = 0;
    if (JSON.stringify(this.#fields).length > limits.toolOpaqueCharactersMax) this.#fields = null;
  }

  #merge(fields: Record<string, unknown>, later: Json): void {
    for (const [name, value] of Object.entries(later)) {
      const before = fields[name];
      if (isEmpty(value)) continue;
      if (Array.isArray(before) && Array.isArray(value)) this.#join(before, value);
      else if (isObject(before) && isObject(value)) this.#merge(before, value);
      else fields[name] = value;
    }
  }

  /**
   * Adds parts to a list, or the next pieces of those that it has: a part of reasoning comes in pieces that have its
   * kind and its place.
   */
  #join(list: unknown[], later: readonly unknown[]): void {
    let places = this.#places.get(list);
    if (places === undefined)
      this.#places.set(
        list,
        (places = new Map(list.flatMap((part, at) => (isObject(part) ? [[placeOf(part), at]] : [])))),
      );
    for (const part of later) {
      const at = isObject(part) ? (places.get(placeOf(part)) ?? -1) : -1;
      if (isObject(part) && at >= 0 && (part['index'] !== undefined || at === list.length - 1))
        grow(list[at] as Record<string, unknown>, part);
      else {
        if (isObject(part)) places.set(placeOf(part), list.length);
        list.push(part);
      }
    }
  }
}

const placeOf = ({ type, index }: Json): string => `${String(type)} ${String(index)}`;

/** The names of texts that come in pieces, within the parts of a list. */
const grows: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

function grow(part: Record<string, unknown>, piece: Json): void {
  for (const [name, value] of Object.entries(piece)) {
    const text = part[name];
    if (grows.has(name) && typeof text === 'string' && typeof value === 'string') part[name] = text + value;
    else if (!isEmpty(value)) part[name] = value;
  }
}
