/** The first look at a request's header lines, before anything else of ours or of an engine believes them. */
import type { EdgeBounds, HeadFault } from '../edge.ts';

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
 * Why a head must not run, or null: it is too large, or two readers could disagree about where its body ends or whom it is for
 * (contract 12, "Framing"). What comes behind such a body must never run either, so the answer ends the connection.
 */
export function faultOf(lines: HeaderLines, bounds: EdgeBounds): HeadFault | null {
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
      if (value !== 'chunked') return 'Transfer-Encoding';
    } else if (name === 'host') hosts++;
  }
  if (bytes > bounds.headerBytesMax) return 'size';
  if (lengths + encodings > 1) return encodings > 0 ? 'Transfer-Encoding' : 'Content-Length';
  return hosts > 1 ? 'Host' : null;
}

/** The body's length as the head declares it: 0 for none, null for a chunked body. For heads that were not refused. */
export function declaredLength(lines: HeaderLines): number | null {
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i] === 'content-length') return Number(lines[i + 1]);
    if (lines[i] === 'transfer-encoding') return null;
  }
  return 0;
}

/** A base-64 key of 16 bytes, as RFC 6455 asks for. */
const handshakeKey = /^[A-Za-z0-9+/]{22}==$/;

/**
 * Whether a request asks for a WebSocket in the one way that RFC 6455 knows. Everything short of it is an ordinary
 * request, because a server may always ignore a wish to upgrade (RFC 9110, 7.8).
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
