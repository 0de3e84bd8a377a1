/**
 * The parser of one HTTP/1 answer: bytes in, calls out, no I/O. How the bytes are split changes only how `data` is
 * divided.
 */
import { limits } from '../../base/limits.ts';
import { HeadReader, isFoldedLine, isHeaderLine } from './head.ts';
import type { ResponseHead } from './head.ts';

/** Interim answers (1xx) before the answer. */
export const providerInterimMax = 10;
/** Bytes of the extensions of one chunk. */
export const providerChunkExtensionBytesMax = 1024;

/** Gets a head, data, then at most one of the two endings; no call after `stop`. */
export interface ResponseListener {
  head(head: ResponseHead): void;
  /** A view of the bytes passed to `feed`, valid only during the call: the reader reuses its buffer. */
  data(chunk: Buffer): void;
  ended(): void;
  /** The bytes are no answer as RFC 9112 defines it, or exceed a bound. */
  malformed(): void;
}

type State =
  | 'head'
  | 'size'
  | 'size space'
  | 'extension'
  | 'size end'
  | 'body'
  | 'body CR'
  | 'body LF'
  | 'trailers'
  | 'until close'
  | 'over';

/** 48 bits, so that a sum of sizes stays an exact number. */
const sizeDigitsMax = 12;

const tab = 9;
const space = 32;
const lf = 10;
const cr = 13;
const del = 127;
const semicolon = 59;

export class ResponseParser {
  readonly #listener: ResponseListener;
  #state: State = 'head';
  /** Null once the head is complete, because its lines keep the text that they were cut from in memory. */
  #reader: HeadReader | null = new HeadReader();
  #interim = 0;
  /** The beginning of a line whose end has not come yet. */
  #partial = '';
  /** The bytes and the number of the head's or the trailers' lines so far. */
  #lineBytes = 0;
  #lineCount = 0;
  #chunked = false;
  /** The bytes of the body, or of its current chunk, that are still to come. */
  #left = 0;
  #digits = 0;
  #extensionBytes = 0;

  constructor(listener: ResponseListener) {
    this.#listener = listener;
  }

  /** Parses `bytes` up to `end`; returns how many of them belong to the answer. */
  feed(bytes: Buffer, end: number): number {
    let at = 0;
    while (at < end && this.#state !== 'over') at = this.#step(bytes, at, end);
    return at;
  }

  /**
   * The connection has ended. Returns true if that completes the answer; otherwise the answer was cut short, and the
   * listener gets no call.
   */
  finish(): boolean {
    if (this.#state !== 'until close') return false;
    this.#end();
    return true;
  }

  /** Stops all calls to the listener. */
  stop(): void {
    this.#state = 'over';
  }

  #step(bytes: Buffer, at: number, end: number): number {
    switch (this.#state) {
      case 'head':
      case 'trailers':
        return this.#lines(bytes, at, end);
      case 'size':
        return this.#size(bytes, at, end);
      case 'body':
        return this.#body(bytes, at, end);
      case 'body CR':
        return this.#expect(bytes[at] === cr, 'body LF', at);
      case 'body LF':
        this.#newSize();
        return this.#expect(bytes[at] === lf, 'size', at);
      case 'size space':
        return this.#sizeSpace(bytes[at]!, at);
      case 'size end':
        return this.#sizeEnd(bytes[at] === lf, at);
      case 'extension':
        return this.#extension(bytes[at]!, at);
      default:
        this.#listener.data(bytes.subarray(at, end));
        return end;
    }
  }

  #expect(met: boolean, next: State, at: number): number {
    if (met) this.#state = next;
    else this.#reportMalformed();
    return at + 1;
  }

  #lines(bytes: Buffer, at: number, end: number): number {
    // One byte more than allowed is searched, so that an overflow shows.
    const until = Math.min(end, at + limits.headerBytesMax + 1 - this.#lineBytes - this.#partial.length);
    // Only new bytes are searched, and a line is put together once it has ended: it may come one byte at a time.
    const text = bytes.toString('latin1', at, until);
    let from = 0;
    for (;;) {
      const next = text.indexOf('\n', from) + 1;
      if (next === 0) break;
      const line = this.#partial + text.slice(from, next - 1);
      this.#partial = '';
      this.#lineBytes += line.length + 1;
      from = next;
      const state = this.#state;
      // A client may take a line feed alone for the end of a line (RFC 9112, 2.2).
      const content = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (this.#lineBytes > limits.headerBytesMax || !this.#line(content)) this.#reportMalformed();
      if (this.#state !== state) return at + next;
    }
    this.#partial += text.slice(from);
    if (this.#lineBytes + this.#partial.length > limits.headerBytesMax) this.#reportMalformed();
    return until;
  }

  /** Parses one line; false if it is malformed. */
  #line(line: string): boolean {
    if (line === '') return this.#state === 'head' ? this.#headEnd() : this.#end();
    if (++this.#lineCount > limits.headersCountMax + (this.#state === 'head' ? 1 : 0)) return false;
    if (this.#state === 'head') return this.#reader!.line(line);
    return isHeaderLine(line) || (this.#lineCount > 1 && isFoldedLine(line));
  }

  #headEnd(): boolean {
    const head = this.#reader!.finish();
    this.#newLines();
    if (head === null || head.status === 101) return false;
    if (head.status < 200) {
      this.#reader = new HeadReader();
      return ++this.#interim <= providerInterimMax;
    }
    this.#reader = null;
    this.#chunked = head.body === 'chunked';
    this.#left = typeof head.body === 'number' ? head.body : 0;
    this.#newSize();
    this.#state = this.#chunked ? 'size' : head.body === 'until close' ? 'until close' : 'body';
    this.#listener.head(head);
    if (head.body === 0 && !this.#stopped()) this.#end();
    return true;
  }

  #newLines(): void {
    this.#lineBytes = 0;
    this.#lineCount = 0;
  }

  #newSize(): void {
    this.#digits = 0;
    this.#extensionBytes = 0;
  }

  #size(bytes: Buffer, from: number, end: number): number {
    let at = from;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      const digit = hexadecimal(byte);
      if (digit < 0) {
        if (this.#digits === 0) this.#reportMalformed();
        else if (byte === cr) this.#state = 'size end';
        else if (byte === semicolon) this.#state = 'extension';
        else if (isSpace(byte)) this.#state = 'size space';
        else this.#reportMalformed();
        return at + 1;
      }
      this.#left = this.#left * 16 + digit;
      if (++this.#digits > sizeDigitsMax) {
        this.#reportMalformed();
        return at + 1;
      }
    }
    return at;
  }

  /** White space before an extension, where it has no business but is to be passed over (RFC 9112, 7.1.1). */
  #sizeSpace(byte: number, at: number): number {
    if (byte === semicolon) this.#state = 'extension';
    else if (!isSpace(byte) || ++this.#extensionBytes > providerChunkExtensionBytesMax) this.#reportMalformed();
    return at + 1;
  }

  /** Chunk extensions have no meaning here and are short; only their end and control characters are searched for. */
  #extension(byte: number, at: number): number {
    if (byte === cr) this.#state = 'size end';
    else if ((byte < 32 && byte !== tab) || byte === del || ++this.#extensionBytes > providerChunkExtensionBytesMax)
      this.#reportMalformed();
    return at + 1;
  }

  #sizeEnd(met: boolean, at: number): number {
    return this.#expect(met, this.#left === 0 ? 'trailers' : 'body', at);
  }

  #body(bytes: Buffer, at: number, end: number): number {
    const until = Math.min(end, at + this.#left);
    this.#left -= until - at;
    if (this.#left === 0 && this.#chunked) this.#state = 'body CR';
    this.#listener.data(bytes.subarray(at, until));
    if (this.#left === 0 && !this.#chunked && !this.#stopped()) this.#end();
    return until;
  }

  #end(): true {
    this.#state = 'over';
    this.#listener.ended();
    return true;
  }

  #reportMalformed(): void {
    if (this.#stopped()) return;
    this.#state = 'over';
    this.#listener.malformed();
  }

  /** Checked after each call to the listener, which may have stopped the parser. */
  #stopped(): boolean {
    return this.#state === 'over';
  }
}

const isSpace = (byte: number): boolean => byte === space || byte === tab;

/** The value of a hexadecimal digit, or -1. */
function hexadecimal(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
