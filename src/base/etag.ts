/** Representations that a client may have already (RFC 9110, 13.1.2). */
import { createHash } from 'node:crypto';
import type { RequestHead } from './edge.ts';

/** A strong tag: another for every other content. */
export const etagOf = (content: string | Uint8Array): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`;

/** Whether `If-None-Match` names the tag; the comparison is the weak one, as for every GET. */
export function isCurrent(head: RequestHead, etag: string): boolean {
  const tags = head
    .headers('if-none-match')
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag.replace(/^W\//, ''));
}
