/** Representations that a client may have already (RFC 9110, 13.1.2). */
import { createHash } from 'node:crypto';
import type { RequestHead } from './edge.ts';

/** A strong tag: another for every other content. */
export const etagOf = (content: string | Uint8Array): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`;

/** The tags that a header names. */
const tagsOf = (head: RequestHead, header: 'if-match' | 'if-none-match'): string[] =>
  head
    .headers(header)
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim());

/**
 * Whether `If-Match` names the tag, or is absent; the comparison is the strong one (RFC 9110, 13.1.1). A tag without its
 * quotes names it too: callers take the digest from a field.
 */
export function isExpected(head: RequestHead, etag: string): boolean {
  if (head.headers('if-match').length === 0) return true;
  const tags = tagsOf(head, 'if-match');
  return ['*', etag, etag.slice(1, -1)].some((name) => tags.includes(name));
}

/** Whether `If-None-Match` names the tag; the comparison is the weak one, as for every GET. */
export function isCurrent(head: RequestHead, etag: string): boolean {
  const tags = tagsOf(head, 'if-none-match').map((tag) => tag.replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag.replace(/^W\//, ''));
}
