/** Answers as bytes, and the parser's results: shared by the tests of the parser and of the connections. */
import {
  ResponseParser,
  providerInterimMax,
  providerChunkExtensionBytesMax,
} from '../../../src/providers/client/response.ts';
import type { ResponseHead } from '../../../src/providers/client/head.ts';
import { limits } from '../../../src/base/limits.ts';

export interface Reading {
  readonly head: ResponseHead | null;
  readonly body: string;
  readonly ending: 'ended' | 'malformed' | 'cut';
  /** Bytes that came after the answer. */
  readonly surplus: number;
}

/** Feeds bytes in pieces that end at `cuts`, through one buffer that is overwritten after each, then closes. */
export function readIn(bytes: Buffer, cuts: readonly number[]): Reading {
  let head: ResponseHead | null = null;
  let body = '';
  const endings: Reading['ending'][] = [];
  const parser = new ResponseParser({
    head: (given) => (head = given),
    data: (chunk) => (body += chunk.toString('latin1')),
    ended: () => endings.push('ended'),
    malformed: () => endings.push('malformed'),
  });
  const buffer = Buffer.alloc(bytes.length + 1);
  let used = 0;
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    const length = bytes.copy(buffer, 0, from, cut);
    used += parser.feed(buffer, length);
    buffer.fill(0xaa);
    from = cut;
  }
  parser.finish();
  if (endings.length > 1) throw new Error(`several endings: ${endings.join()}`);
  const ending = endings[0] ?? 'cut';
  return { head, body, ending, surplus: ending === 'ended' ? bytes.length - used : 0 };
}

export const ok = 'HTTP/1.1 200 OK\r\n';
const long = (count: number): string => 'x'.repeat(count);
/** A head of exactly so many bytes. */
const headOf = (count: number): string => `${ok}a: ${long(count - ok.length - 7)}\r\n\r\n`;
const lines = (count: number): string => 'a: b\r\n'.repeat(count);
const chunked = 'transfer-encoding: chunked\r\n\r\n';
const extension = (count: number): string => `${ok}${chunked}1;${long(count)}\r\na\r\n0\r\n\r\n`;
const interim = (count: number): string =>
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(count) + `${ok}content-length: 2\r\n\r\nhi`;

/** Vectors by name: the bytes, in latin1, and how they end; the body where there is one. */
export const vectors: Readonly<Record<string, readonly [bytes: string, ending: Reading['ending'], body?: string]>> = {
  'a length': [`${ok}Content-Length: 5\r\n\r\nhello`, 'ended', 'hello'],
  'a length of nothing': [`${ok}content-length: 0\r\n\r\n`, 'ended'],
  'a length with zeros in front': [`${ok}content-length: 005\r\n\r\nhello`, 'ended', 'hello'],
  'white space around a value': [`${ok}content-length: \t 5 \t\r\n\r\nhello`, 'ended', 'hello'],
  'no reason': ['HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'an empty reason': ['HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'a reason in latin1': ['HTTP/1.1 200 d\xe9j\xe0\r\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'an empty header': [`${ok}a:\r\ncontent-length: 2\r\n\r\nhi`, 'ended', 'hi'],
  'a length not reached': [`${ok}content-length: 5\r\n\r\nhell`, 'cut', 'hell'],
  'until close': [`${ok}\r\nhello`, 'ended', 'hello'],
  'until close, nothing': [`${ok}\r\n`, 'ended'],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'HTTP/1.0 in chunks': [`HTTP/1.0 200 OK\r\n${chunked}2\r\nhi\r\n0\r\n\r\n`, 'ended', 'hi'],
  chunks: [`${ok}${chunked}5\r\nhello\r\nB\r\n, big world\r\n0\r\n\r\n`, 'ended', 'hello, big world'],
  'small and large digits': [
    `${ok}${chunked}00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n`,
    'ended',
    '01234567890123456789',
  ],
  'chunk extensions': [`${ok}${chunked}2;a=b;c="d e"\r\nhi\r\n0;last\r\n\r\n`, 'ended', 'hi'],
  'white space before an extension': [`${ok}${chunked}2 \t;a=b\r\nhi\r\n0\r\n\r\n`, 'ended', 'hi'],
  trailers: [`${ok}${chunked}2\r\nhi\r\n0\r\nDigest: abc\r\nb: c\r\n\r\n`, 'ended', 'hi'],
  'line ends within a chunk': [`${ok}${chunked}6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`, 'ended', '\r\n0\r\n\r'],
  'another coding name in capitals': [`${ok}Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, 'ended', 'hi'],
  'an extension at its bound': [extension(providerChunkExtensionBytesMax), 'ended', 'a'],
  'no content': ['HTTP/1.1 204 No Content\r\n\r\n', 'ended'],
  'not modified, with the length of what was not sent': [
    'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
    'ended',
  ],
  'interim answers': [interim(providerInterimMax), 'ended', 'hi'],
  'an interim answer with a length': [
    `HTTP/1.1 100 Continue\r\ncontent-length: 7\r\n\r\n${ok}content-length: 2\r\n\r\nhi`,
    'ended',
    'hi',
  ],
  'a head at its bound': [`${headOf(limits.headerBytesMax)}hi`, 'ended', 'hi'],
  'headers at their bound': [`${ok}${lines(limits.headersCountMax)}\r\nhi`, 'ended', 'hi'],
  'trailers at their bound': [`${ok}${chunked}0\r\n${lines(limits.headersCountMax)}\r\n`, 'ended'],
  'more than the answer': [`${ok}content-length: 2\r\n\r\nhi${ok}`, 'ended', 'hi'],
  'more than the last chunk': [`${ok}${chunked}2\r\nhi\r\n0\r\n\r\n\r\n`, 'ended', 'hi'],
  'a folded line': [`${ok}a: b\r\n c\r\n\tcontent-length: 1\r\ncontent-length:\r\n \t2\r\n\r\nhi`, 'ended', 'hi'],
  'a folded line of white space': [`${ok}content-length: 2\r\n \r\n\r\nhi`, 'ended', 'hi'],
  'a folded trailer': [`${ok}${chunked}0\r\na: b\r\n c\r\n\r\n`, 'ended'],
  'HTTP/1.2': ['HTTP/1.2 200 OK\r\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'one length twice': [`${ok}content-length: 2\r\ncontent-length: 2\r\n\r\nhi`, 'ended', 'hi'],
  'a list of one length': [`${ok}content-length: 2, 2 ,02\r\n\r\nhi`, 'ended', 'hi'],
  'a bare line feed after the status': ['HTTP/1.1 200 OK\ncontent-length: 2\r\n\r\nhi', 'ended', 'hi'],
  'a bare line feed after a header': [`${ok}content-length: 2\n\r\nhi`, 'ended', 'hi'],
  'a bare line feed for the empty line': [`${ok}content-length: 2\r\n\nhi`, 'ended', 'hi'],
  'a bare line feed at the very end': [`${ok}${chunked}2\r\nhi\r\n0\r\n\n`, 'ended', 'hi'],

  nothing: ['', 'cut'],
  'half a head': [`${ok}a: b\r\n`, 'cut'],
  'half a line': ['HTTP/1.1 2', 'cut'],
  'chunks without their end': [`${ok}${chunked}5\r\nhello\r\n`, 'cut', 'hello'],
  'half a chunk': [`${ok}${chunked}5\r\nhel`, 'cut', 'hel'],
  'chunks without the last line end': [`${ok}${chunked}2\r\nhi\r\n0\r\n`, 'cut', 'hi'],

  'what is no HTTP': ['SSH-2.0-x\r\n\r\n', 'malformed'],
  'an empty first line': [`\r\n${ok}content-length: 0\r\n\r\n`, 'malformed'],
  'HTTP/2.0': ['HTTP/2.0 200 OK\r\n\r\n', 'malformed'],
  'a status of two digits': ['HTTP/1.1 20 OK\r\n\r\n', 'malformed'],
  'a status of four digits': ['HTTP/1.1 2000 OK\r\n\r\n', 'malformed'],
  'a status below 100': ['HTTP/1.1 099 OK\r\n\r\n', 'malformed'],
  'switching protocols': ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n', 'malformed'],
  'too many interim answers': [interim(providerInterimMax + 1), 'malformed'],
  'a bare carriage return': [`${ok}a: b\rc: d\r\n\r\n`, 'malformed'],
  'NUL in a value': [`${ok}a: b\0c\r\n\r\n`, 'malformed'],
  'NUL in a name': [`${ok}a\0: b\r\n\r\n`, 'malformed'],
  'a folded first trailer': [`${ok}${chunked}0\r\n a: b\r\n\r\n`, 'malformed'],
  'NUL in a folded line': [`${ok}a: b\r\n \0\r\n\r\n`, 'malformed'],
  'a bare carriage return in a folded line': [`${ok}a: b\r\n c\rd: e\r\n\r\n`, 'malformed'],
  'a length that is folded into two': [`${ok}content-length: 2\r\n 3\r\n\r\nhi`, 'malformed'],
  'a coding that is folded into two': [
    `${ok}transfer-encoding: chunked\r\n ,chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    'malformed',
  ],
  'a list of two lengths': [`${ok}content-length: 2, 3\r\n\r\nhi!`, 'malformed'],
  'a list with an empty length': [`${ok}content-length: 2,\r\n\r\nhi`, 'malformed'],
  'a length and an empty one': [`${ok}content-length: 2\r\ncontent-length:\r\n\r\nhi`, 'malformed'],
  'three lengths, two alike': [
    `${ok}content-length: 2\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!`,
    'malformed',
  ],
  'one length twice, and chunks': [
    `${ok}content-length: 2\r\ncontent-length: 2\r\n${chunked}2\r\nhi\r\n0\r\n\r\n`,
    'malformed',
  ],
  'a folded first line': [`${ok} a: b\r\n\r\n`, 'malformed'],
  'a space before the colon': [`${ok}content-length : 2\r\n\r\nhi`, 'malformed'],
  'no colon': [`${ok}content-length\r\n\r\n`, 'malformed'],
  'no name': [`${ok}: b\r\n\r\n`, 'malformed'],
  'two lengths': [`${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nhi!`, 'malformed'],
  'an empty length': [`${ok}content-length:\r\n\r\nhi`, 'malformed'],
  'a signed length': [`${ok}content-length: +2\r\n\r\nhi`, 'malformed'],
  'a negative length': [`${ok}content-length: -2\r\n\r\nhi`, 'malformed'],
  'a hexadecimal length': [`${ok}content-length: 0x2\r\n\r\nhi`, 'malformed'],
  'a length before a no-break space': [`${ok}content-length: 2\xa0\r\n\r\nhi`, 'malformed'],
  'a length beyond counting': [`${ok}content-length: 9999999999999999\r\n\r\nhi`, 'malformed'],
  'a length and chunks': [`${ok}content-length: 2\r\n${chunked}2\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'chunks and a length': [
    `${ok}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    'malformed',
  ],
  'a coding that is not chunked': [`${ok}transfer-encoding: gzip\r\n\r\nhi`, 'malformed'],
  'chunked and another coding': [`${ok}transfer-encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'chunked twice': [`${ok}transfer-encoding: chunked\r\n${chunked}2\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'chunked and identity': [`${ok}transfer-encoding: chunked, identity\r\n\r\nhi`, 'malformed'],
  'an empty coding': [`${ok}transfer-encoding:\r\n\r\nhi`, 'malformed'],
  'a coding before a vertical tab': [`${ok}transfer-encoding: chunked\x0b\r\n\r\nhi`, 'malformed'],
  'a head beyond its bound': [`${headOf(limits.headerBytesMax + 1)}hi`, 'malformed'],
  'a line beyond the bound of the head': [`${ok}a: ${long(limits.headerBytesMax)}`, 'malformed'],
  'headers beyond their bound': [`${ok}${lines(limits.headersCountMax + 1)}\r\nhi`, 'malformed'],
  'trailers beyond their bound': [`${ok}${chunked}0\r\n${lines(limits.headersCountMax + 1)}\r\n`, 'malformed'],
  'trailers of too many bytes': [`${ok}${chunked}0\r\na: ${long(limits.headerBytesMax)}\r\n\r\n`, 'malformed'],
  'a trailer that is none': [`${ok}${chunked}0\r\nabc\r\n\r\n`, 'malformed'],
  'no size': [`${ok}${chunked}\r\nhi\r\n`, 'malformed'],
  'a size that is no number': [`${ok}${chunked}g\r\nhi\r\n`, 'malformed'],
  'a signed size': [`${ok}${chunked}+2\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'a size after 0x': [`${ok}${chunked}0x2\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'a space after the size': [`${ok}${chunked}2 \r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'a size beyond counting': [`${ok}${chunked}1000000000000\r\nhi\r\n`, 'malformed'],
  'a bare line feed after the size': [`${ok}${chunked}2\nhi\r\n0\r\n\r\n`, 'malformed'],
  'a bare line feed after an extension': [`${ok}${chunked}2;a\nhi\r\n0\r\n\r\n`, 'malformed'],
  'line feeds alone after an extension': [`${ok}${chunked}2;a\n\nhi\r\n0\r\n\r\n`, 'malformed'],
  'a chunk that ends in something else': [`${ok}${chunked}2\r\nhi!\n0\r\n\r\n`, 'malformed', 'hi'],
  'a carriage return within an extension': [`${ok}${chunked}2;a\rb\r\nhi\r\n0\r\n\r\n`, 'malformed'],
  'an extension beyond its bound': [extension(providerChunkExtensionBytesMax + 1), 'malformed'],
  'a chunk longer than its size': [`${ok}${chunked}2\r\nhi!\r\n0\r\n\r\n`, 'malformed', 'hi'],
  'a chunk without its carriage return': [`${ok}${chunked}2\r\nhi\n0\r\n\r\n`, 'malformed', 'hi'],
};
