/** The first check of a request's header lines, before our code or an engine relies on them. */
import type { EdgeBounds, HeadFault } from '../../base/edge.ts';

/** Header lines in order of arrival: name, value, name, value …; the names in lower case, the values as Latin-1. */
export type HeaderLines = readonly string[];

/** Every value of a header, one item a line. */
export function valuesOf(lines: HeaderLines, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < lines.length; i += 2) if (lines[i] === name) values.push(lines[i + 1]!);
  return values;
}

const digits = /^[0-9]{1,15}$/;

/**
 * Reason to refuse a head, or null. A head is refused if it is too large, or if two readers could disagree about the
 * end of its body or about its host (contract 11, "Framing"). The bytes after such a body must never run either, so the
 * answer closes the connection.
 */
export function headFault(lines: HeaderLines, bounds: EdgeBounds): HeadFault | null {
  if (lines.length > 2 * bounds.headersCountMax) return 'size';
  let bytes = 0;
  let lengths = 0;
  let encodings = 0;
  let hosts = 0;
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!;
    const value = lines[i + 1]!;
    // A line is its name, a colon, a space, its value and a line end.
    bytes += name.length + value.length + 4;
    if (name === 'content-length') {
      lengths++;
      if (!digits.test(value)) return 'Content-Length';
    } else if (name === 'transfer-encoding') {
      encodings++;
      // Names of codings have no case (RFC 9112, 7).
      if (value.toLowerCase() !== 'chunked') return 'Transfer-Encoding';
    } else if (name === 'host') hosts++;
  }
  if (bytes > bounds.headerBytesMax) return 'size';
  if (lengths + encodings > 1) return encodings > 0 ? 'Transfer-Encoding' : 'Content-Length';
  return hosts > 1 ? 'Host' : null;
}

/**
 * The body's length as the head declares it: 0 without a body, null for a chunked one. Only for heads that were not
 * refused.
 */
export function declaredLength(lines: HeaderLines): number | null {
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i] === 'content-length') return Number(lines[i + 1]);
    if (lines[i] === 'transfer-encoding') return null;
  }
  return 0;
}

/** A base-64 key of 16 bytes, as RFC 6455 demands. */
const handshakeKey = /^[A-Za-z0-9+/]{22}==$/;

/**
 * Whether the request asks for a WebSocket exactly as RFC 6455 defines it. Any other request is an ordinary one,
 * because a server may always ignore a request to upgrade (RFC 9110, 7.8).
 */
export function isHandshake(method: string, lines: HeaderLines): boolean {
  const keys = valuesOf(lines, 'sec-websocket-key');
  return (
    method === 'GET' &&
    keys.length === 1 &&
    handshakeKey.test(keys[0]!) &&
    hasToken(lines, 'upgrade', 'websocket') &&
    hasToken(lines, 'connection', 'upgrade') &&
    valuesOf(lines, 'sec-websocket-version').join() === '13' &&
    declaredLength(lines) === 0
  );
}

const hasToken = (lines: HeaderLines, name: string, token: string): boolean =>
  valuesOf(lines, name).some((value) => value.split(',').some((item) => item.trim().toLowerCase() === token));
