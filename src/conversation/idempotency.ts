/** What is remembered under an `Idempotency-Key` (contract 6 and 12): scoped to the caller and the path, bodies compared as parsed JSON. */
import { createHash } from 'node:crypto';
import type { Party, Request } from '../request.ts';
import type { IdempotencyRecord } from '../store.ts';

export type Idempotency = Omit<IdempotencyRecord, 'resultId' | 'untilMs'>;

/** The idempotency record of the request; null without the header. */
export function idempotencyOf({ idempotencyKey, json }: Pick<Request, 'idempotencyKey' | 'json'>, { id }: Party, path: string): Idempotency | null {
  if (idempotencyKey === null) return null;
  return { scope: `${id} ${path}`, key: idempotencyKey, bodyDigest: createHash('sha256').update(canonical(json)).digest('base64url') };
}

/** A piece of JSON: finished text, or a value that must still be written. */
type Piece = string | { readonly value: unknown };

/** JSON with the names of every object sorted. Without recursion, because a body may be nested more deeply than the stack allows. */
function canonical(json: unknown): string {
  let text = '';
  const left: Piece[] = [{ value: json }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') text += next;
    else for (const piece of piecesOf(next.value).reverse()) left.push(piece);
  }
  return text;
}

function piecesOf(value: unknown): Piece[] {
  if (Array.isArray(value)) return ['[', ...listed(value.map((item) => [{ value: item }])), ']'];
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return ['{', ...listed(entries.map(([name, item]) => [`${JSON.stringify(name)}:`, { value: item as unknown }])), '}'];
}

const listed = (items: readonly Piece[][]): Piece[] => items.flatMap((item, index) => (index === 0 ? item : [',', ...item]));
