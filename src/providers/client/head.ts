/**
 * Parses the head of an answer, line by line. An ambiguous head is refused: a guess could attribute one answer's bytes
 * to another.
 */

export interface ResponseHead {
  readonly status: number;
  /** Value in lower case, empty if absent. */
  readonly contentType: string;
  readonly contentEncoding: string;
  /** `Mcp-Session-Id`, empty if absent. */
  readonly mcpSession: string;
  /** `Location`, empty if absent. */
  readonly location: string;
  /** `Retry-After`, empty if absent. */
  readonly retryAfter: string;
  /** The length of the body in bytes, or how its end is marked. */
  readonly body: number | 'chunked' | 'until close';
  /**
   * Milliseconds for which the server keeps the connection after the response: 0 if it closes the connection, Infinity
   * if it does not say.
   */
  readonly keptMs: number;
}

/** A later minor version is read as 1.1 (RFC 9110, 2.5). */
const statusLine = /^HTTP\/1\.(\d) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const headerLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header line is well formed: no space before the colon, no control character. */
export const isHeaderLine = (line: string): boolean => headerLine.test(line);

const foldedLine = /^[\t ][\t\x20-\x7e\x80-\xff]*$/;

/**
 * Whether a line continues the header line before it, as old servers fold them. A client reads the fold as a space (RFC
 * 9112, 5.2).
 */
export const isFoldedLine = (line: string): boolean => foldedLine.test(line);

const lengthValue = /^\d{1,15}$/;
const timeoutValue = /\btimeout\s{0,9}=\s{0,9}"?(\d{1,9})/;

export class HeadReader {
  #status = 0;
  /** The header line before, which the next line may continue. */
  #last = '';
  #version = '1';
  #keeping = false;
  #contentType = '';
  #contentEncoding = '';
  #mcpSession = '';
  #location = '';
  #retryAfter = '';
  #length: number | null = null;
  #chunked = false;
  #keptMs = Infinity;

  /** Takes the next line, without its line end. False if the head is malformed. */
  line(line: string): boolean {
    if (this.#status === 0) return this.#begin(line);
    if (this.#last !== '' && isFoldedLine(line)) {
      this.#last += line;
      return true;
    }
    return isHeaderLine(line) && this.#goOn(line);
  }

  /** The head, after its empty line; null if the end of its body cannot be known. */
  finish(): ResponseHead | null {
    if (this.#status === 0 || !this.#goOn('') || (this.#chunked && this.#length !== null)) return null;
    const empty = this.#status < 200 || this.#status === 204 || this.#status === 304;
    // HTTP/1.0 has no chunks: the answer is read, but its connection is not reused (RFC 9112, 6.1).
    const isReusable = this.#keeping && !(this.#chunked && this.#version === '0');
    const body = empty ? 0 : this.#chunked ? 'chunked' : (this.#length ?? 'until close');
    return {
      status: this.#status,
      contentType: this.#contentType,
      contentEncoding: this.#contentEncoding,
      mcpSession: this.#mcpSession,
      location: this.#location,
      retryAfter: this.#retryAfter,
      body,
      keptMs: isReusable && body !== 'until close' ? this.#keptMs : 0,
    };
  }

  #begin(line: string): boolean {
    const match = statusLine.exec(line);
    if (match === null) return false;
    // HTTP/1.0 closes the connection unless it says otherwise, HTTP/1.1 keeps it (RFC 9112, 9.3).
    this.#version = match[1]!;
    this.#keeping = this.#version !== '0';
    this.#status = Number(match[2]);
    return true;
  }

  /** Reads the line before, which is whole now. */
  #goOn(next: string): boolean {
    const line = this.#last;
    this.#last = next;
    return line === '' || this.#header(line);
  }

  #header(line: string): boolean {
    const colon = line.indexOf(':');
    switch (line.slice(0, colon).toLowerCase()) {
      case 'content-length':
        return this.#lengthGiven(valueAfter(line, colon));
      case 'transfer-encoding':
        return this.#codingGiven(valueAfter(line, colon));
      case 'connection':
        this.#connectionGiven(valueAfter(line, colon));
        return true;
      case 'keep-alive':
        this.#keepAliveGiven(valueAfter(line, colon));
        return true;
      case 'content-type':
        this.#contentType = joined(this.#contentType, valueAfter(line, colon));
        return true;
      case 'content-encoding':
        this.#contentEncoding = joined(this.#contentEncoding, valueAfter(line, colon));
        return true;
      case 'mcp-session-id':
        this.#mcpSession = trimmed(line.slice(colon + 1));
        return true;
      case 'location':
        this.#location = trimmed(line.slice(colon + 1));
        return true;
      case 'retry-after':
        this.#retryAfter = trimmed(line.slice(colon + 1));
        return true;
      default:
        return true;
    }
  }

  /** A length that is given several times, in lines or in a list, is one if they are all the same (RFC 9112, 6.3). */
  #lengthGiven(value: string): boolean {
    return value.split(',').every((item) => {
      const text = trimmed(item);
      const before = this.#length;
      this.#length = Number(text);
      return lengthValue.test(text) && (before ?? this.#length) === this.#length;
    });
  }

  #codingGiven(value: string): boolean {
    if (this.#chunked || value !== 'chunked') return false;
    this.#chunked = true;
    return true;
  }

  #connectionGiven(value: string): void {
    for (const option of value.split(',')) {
      const name = trimmed(option);
      if (name === 'close') this.#keptMs = 0;
      if (name === 'keep-alive') this.#keeping = true;
    }
  }

  /** One second less than the server says, because a request must reach the server before it closes. */
  #keepAliveGiven(value: string): void {
    const match = timeoutValue.exec(value);
    if (match !== null) this.#keptMs = Math.min(this.#keptMs, Math.max(0, Number(match[1]) - 1) * 1000);
  }
}

/** The values compared here are case-insensitive. */
const valueAfter = (line: string, colon: number): string => trimmed(line.slice(colon + 1)).toLowerCase();

/**
 * Removes HTTP's white space at both ends. `trim` removes more: a length before a no-break space is not a valid length.
 */
function trimmed(value: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && isSpace(value[from])) from++;
  while (to > from && isSpace(value[to - 1])) to--;
  return value.slice(from, to);
}

const isSpace = (character: string | undefined): boolean => character === ' ' || character === '\t';

const joined = (values: string, value: string): string => (values === '' ? value : `${values}, ${value}`);
