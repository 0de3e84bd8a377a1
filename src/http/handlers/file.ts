/** A file as an answer: compressed for clients that take it, and not sent again to those that have it. */
import { weighted } from './accept.ts';
import { isCurrent } from '../../base/etag.ts';
import type { RequestHead, ResponseHeaders } from '../../base/edge.ts';
import type { Reply } from '../request.ts';
import { codings, type Coding, type StaticFile } from '../../base/static-files.ts';

/**
 * Answers 304 to a client that has the file; clients keep a copy and check it each time, unless `headers` say
 * otherwise.
 */
export function fileReply(file: StaticFile, head: RequestHead, headers: ResponseHeaders = {}): Reply {
  const coding = acceptedCoding(
    head,
    codings.filter((one) => file.coded[one] !== undefined),
  );
  // The tag names the content: of each coding it is another representation, so it is weak there.
  const etag = coding === null ? file.etag : `W/${file.etag}`;
  const common = {
    etag,
    vary: 'accept-encoding',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    ...headers,
  };
  if (isCurrent(head, file.etag)) return { status: 304, headers: common, empty: true };
  const typed = { 'content-type': file.type, ...common };
  if (coding === null) return { status: 200, headers: typed, bytes: file.bytes };
  return { status: 200, headers: { ...typed, 'content-encoding': coding }, bytes: file.coded[coding]! };
}

/** The best of these codings that the client accepts; null for none (RFC 9110, 12.5.3). */
export function acceptedCoding(head: RequestHead, offered: readonly Coding[]): Coding | null {
  const weights = new Map(weighted(head.headers('accept-encoding')));
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0;
  return (
    offered.filter((coding) => weightOf(coding) > 0).toSorted((one, other) => weightOf(other) - weightOf(one))[0] ??
    null
  );
}
