/**
 * Records of requests with an `Idempotency-Key` (contract 6): scoped to the caller and the path, bodies compared
 * as parsed JSON.
 */
import { createHash } from 'node:crypto';
import type { IdempotencyRecord } from '../store/store.ts';
import type { Principal } from './principal.ts';

export type Idempotency = Omit<IdempotencyRecord, 'resultId' | 'untilMs'>;

/**
 * The parts of a request that identify a repeat: the header `Idempotency-Key` (null without one), and the parsed body
 * before its fields were checked.
 */
export interface Repeatable {
  readonly idempotencyKey: string | null;
  readonly json: unknown;
}

/**
 * The idempotency record of the request; null without the header. The digest of a body costs more than the rest of a
 * refusal, so it is computed when it is first read.
 */
export function idempotencyOf(
  { idempotencyKey, json }: Repeatable,
  { id }: Principal,
  path: string,
): Idempotency | null {
  if (idempotencyKey === null) return null;
  let digest: string | null = null;
  return {
    scope: `${id} ${path}`,
    key: idempotencyKey,
    // A property of the object itself and not of a class, so that a spread copy has the digest.
    get bodyDigest() {
      return (digest ??= digestOf(json));
    },
  };
}

/** An array, or an object with its sorted names, that is being written; `at` counts its written items. */
interface Open {
  readonly value: Readonly<Record<string | number, unknown>>;
  readonly names: readonly string[] | null;
  readonly size: number;
  at: number;
}

/** Characters that are hashed at a time: a text that grows by a character at a time costs more, the longer it is. */
const hashedCharacters = 4096;

/**
 * The digest of JSON with the names of every object sorted. Without recursion, because a body may be nested more deeply
 * than the stack allows.
 */
function digestOf(json: unknown): string {
  const hash = createHash('sha256');
  const open: Open[] = [];
  let text = openValue(json, open);
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    if (text.length >= hashedCharacters) {
      hash.update(text);
      text = '';
    }
    if (last.at === last.size) {
      text += last.names === null ? ']' : '}';
      open.pop();
      continue;
    }
    if (last.at > 0) text += ',';
    const name = last.names === null ? last.at : last.names[last.at]!;
    if (typeof name === 'string') text += `${JSON.stringify(name)}:`;
    last.at++;
    text += openValue(last.value[name], open);
  }
  return hash.update(text).digest('base64url');
}

/** The whole of a value that holds no others; else its bracket, and it is open from then on. */
function openValue(value: unknown, open: Open[]): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Array.isArray(value) ? null : Object.keys(value).sort();
  open.push({
    value: value as Open['value'],
    names,
    size: names === null ? (value as unknown[]).length : names.length,
    at: 0,
  });
  return names === null ? '[' : '{';
}
