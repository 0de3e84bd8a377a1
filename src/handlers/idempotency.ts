/** `Idempotency-Key` (contract 6 and 12): scoped to the key and the path, bodies compared as parsed JSON. */
import { createHash } from 'node:crypto';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import type { KeyCaller, Request } from '../request.ts';
import type { Remembered } from '../store.ts';

export type Idempotency = Omit<Remembered, 'resultId' | 'untilMs'>;

/** What the request wants remembered; null without the header. */
export function idempotencyOf({ head, caller, body }: Request<KeyCaller>, path: string): Idempotency | null {
  const values = head.headers('idempotency-key');
  if (values.length === 0) return null;
  const key = values[0]!;
  const readable = values.length === 1 && key.length <= limits.idempotencyKeyCharactersMax && /^[\x20-\x7e]+$/.test(key);
  if (!readable) throw new Failure('unreadable_header');
  return { scope: `${caller.keyId} ${path}`, key, bodyDigest: createHash('sha256').update(canonical(body)).digest('base64url') };
}

/** JSON with the names of every object in order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  ) ?? '';
