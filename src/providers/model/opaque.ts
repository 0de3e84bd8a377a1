/** Collects the fields that a provider put on a call or its round, over the pieces of a stream (contract 13). */
import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { keepNewest } from '../../base/newest.ts';

/** Names providers as their fields are kept for them: by dialect and endpoint. Every request asks, mostly for the same. */
export function originsOf(provider: string): (baseUrl: string) => string {
  const known = new Map<string, string>();
  return (baseUrl) => {
    const found = known.get(baseUrl) ?? createHash('sha256').update(`${provider} ${baseUrl}`).digest('base64url').slice(0, 16);
    known.set(baseUrl, found);
    keepNewest(known, limits.providerOriginsMax);
    return found;
  };
}

/** The fields of an object that are not known and not empty; null if there are none. */
export function unknownFields(given: Json, known: ReadonlySet<string>): Json | null {
  let found: Record<string, unknown> | null = null;
  for (const [name, value] of Object.entries(given)) {
    if (known.has(name) || isEmpty(value)) continue;
    (found ??= {})[name] = value;
  }
  return found;
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** The fields with those of a later piece: objects are merged, the parts of a list are joined, and of the rest the last counts. */
export function mergedFields(before: Json, later: Json): Json {
  const found: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(later)) found[name] = merged(found[name], value);
  return found;
}

function merged(before: unknown, later: unknown): unknown {
  if (isEmpty(later)) return before;
  if (Array.isArray(before) && Array.isArray(later)) return later.reduce(withPart, before);
  return isObject(before) && isObject(later) ? mergedFields(before, later) : later;
}

/** The names of texts that come in pieces, within the parts of a list. */
const grows: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** A list with one more part, or with the next piece of its last one: a part of reasoning comes in pieces that have its kind and its place. */
function withPart(parts: readonly unknown[], part: unknown): unknown[] {
  const at = isObject(part) ? parts.findLastIndex((other) => isObject(other) && other['type'] === part['type'] && other['index'] === part['index']) : -1;
  const isLater = at >= 0 && isObject(part) && (part['index'] !== undefined || at === parts.length - 1);
  if (!isLater) return [...parts, part];
  const found: Record<string, unknown> = { ...(parts[at] as Json) };
  for (const [name, value] of Object.entries(part)) {
    const before = found[name];
    if (grows.has(name) && typeof before === 'string' && typeof value === 'string') found[name] = before + value;
    else if (!isEmpty(value)) found[name] = value;
  }
  return parts.with(at, found);
}
