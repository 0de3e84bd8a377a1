/** The `Authorization` header (contract 4). */
import { Failure } from '../../../base/errors.ts';
import type { RequestHead } from '../../../base/edge.ts';

const usual = 'Bearer ';

/**
 * The Bearer credential; null without the header. White space inside it is part of the credential and makes it wrong.
 * Throws 400 for any other header.
 */
export function bearer(head: RequestHead): string | null {
  const values = head.headers('authorization');
  if (values.length === 0) return null;
  const value = values[0]!;
  // The fast path for the usual spelling.
  if (values.length === 1 && value.startsWith(usual) && value.length > usual.length && value[usual.length] !== ' ')
    return value.slice(usual.length);
  const credential = values.length === 1 ? /^bearer +(.+)$/is.exec(value) : null;
  if (credential === null) throw new Failure('unreadable_header', { field: 'Authorization' });
  return credential[1]!;
}
