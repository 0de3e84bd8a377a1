/** The header `Idempotency-Key` (contract 6): at most 255 printable ASCII characters. */
import { Failure } from '../errors.ts';
import type { RequestHead } from '../edge.ts';
import { limits } from '../limits.ts';

/** The key; null without the header. */
export function idempotencyKeyOf(head: RequestHead): string | null {
  const values = head.headers('idempotency-key');
  if (values.length === 0) return null;
  const key = values[0]!;
  const readable = values.length === 1 && key.length <= limits.idempotencyKeyCharactersMax && /^[\x20-\x7e]+$/.test(key);
  if (!readable) throw new Failure('unreadable_header', { field: 'Idempotency-Key' });
  return key;
}
