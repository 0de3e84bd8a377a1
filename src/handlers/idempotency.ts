/** What is remembered under an `Idempotency-Key` (contract 6 and 12): scoped to the API key and the path, bodies compared as parsed JSON. */
import { createHash } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { KeyCaller, Request } from '../request.ts';
import type { Remembered } from '../store.ts';

export type Idempotency = Omit<Remembered, 'resultId' | 'untilMs'>;

/** What the request wants remembered; null without the header. */
export function idempotencyOf({ idempotencyKey, caller, json }: Request<KeyCaller>, path: string): Idempotency | null {
  if (idempotencyKey === null) return null;
  return { scope: `${caller.keyId} ${path}`, key: idempotencyKey, bodyDigest: createHash('sha256').update(canonical(json)).digest('base64url') };
}

/** JSON with the names of every object in order. What is nested too deep to be written down again cannot be compared, and counts as unreadable. */
function canonical(json: unknown): string {
  try {
    return JSON.stringify(json, (_, item) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
        : item,
    );
  } catch {
    throw new Failure('malformed_json');
  }
}
