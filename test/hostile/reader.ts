/** Reads requests and answers as bytes, by the letter of RFC 9112 and with no leniency at all. Bytes are Latin-1. */
import { limits } from '../../src/base/limits.ts';

export interface ReadRequest {
  /**
   * `whole`: one request and nothing behind it. `torn`: it may become one. `odd`: anything else, which an engine may
   * take or not.
   */
  readonly kind: 'whole' | 'torn' | 'odd';
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\/[!$%&'()*+,./0-9:;=?@A-Z_a-z~-]*) HTTP\/1\.1$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;

export function readRequest(text: string): ReadRequest {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = (end < 0 ? text : text.slice(0, end)).split('\r\n');
  const [, method = '', target = ''] = requestLine.exec(first) ?? [];
  const headers = lines.map((line): [string, string] => {
    const [, name = '', value = ''] = headerLine.exec(line) ?? [];
    return [name.toLowerCase(), value];
  });
  const kind =
    end < 0
      ? 'torn'
      : method === '' || !isSound(text.slice(0, end), headers)
        ? 'odd'
        : bodyKind(text.slice(end + 4), headers);
  return { kind, method, target, headers };
}

const valuesOf = (headers: ReadRequest['headers'], name: string): string[] =>
  headers.filter(([one]) => one === name).map(([, value]) => value);

function isSound(head: string, headers: ReadRequest['headers']): boolean {
  if (head.length > limits.headerBytesMax - 1024 || headers.length >= limits.headersCountMax - 10) return false;
  if (headers.some(([name]) => name === '')) return false;
  const framings = [...valuesOf(headers, 'content-length'), ...valuesOf(headers, 'transfer-encoding')];
  return valuesOf(headers, 'host').length === 1 && framings.length <= 1;
}

function bodyKind(body: string, headers: ReadRequest['headers']): ReadRequest['kind'] {
  const [encoding] = valuesOf(headers, 'transfer-encoding');
  if (encoding !== undefined) return encoding === 'chunked' ? chunkedKind(body) : 'odd';
  const [length = '0'] = valuesOf(headers, 'content-length');
  if (!/^\d{1,9}$/.test(length)) return 'odd';
  return body.length === Number(length) ? 'whole' : body.length < Number(length) ? 'torn' : 'odd';
}

function chunkedKind(body: string): ReadRequest['kind'] {
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at);
    if (end < 0) return 'torn';
    if (!/^[0-9A-Fa-f]{1,7}$/.test(body.slice(at, end))) return 'odd';
    const size = Number.parseInt(body.slice(at, end), 16);
    if (size === 0) return body.slice(end) === '\r\n\r\n' ? 'whole' : body.slice(end).length < 4 ? 'torn' : 'odd';
    at = end + 2 + size;
    if (body.length < at + 2) return 'torn';
    if (body.slice(at, at + 2) !== '\r\n') return 'odd';
    at += 2;
  }
}

export interface ReadAnswer {
  /** The bytes as received. */
  readonly bytes: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface ReadAnswers {
  readonly answers: readonly ReadAnswer[];
  /** The bytes after the last whole answer. */
  readonly rest: string;
}

/** `toHead`: the first answer is to HEAD, and so has no body if it is ours. */
export function readAnswers(text: string, toHead: boolean): ReadAnswers {
  const answers: ReadAnswer[] = [];
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n\r\n', at);
    const [first = '', ...lines] = end < 0 ? [] : text.slice(at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1] ?? NaN);
    if (Number.isNaN(status)) return { answers, rest: text.slice(at) };
    const headers = new Headers(
      lines.map((line): [string, string] => [
        line.slice(0, line.indexOf(':')),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const bodiless =
      status < 200 ||
      status === 204 ||
      status === 304 ||
      (toHead && answers.length === 0 && headers.has('x-request-id'));
    const body = bodiless ? { text: '', length: 0 } : answerBody(text.slice(end + 4), headers);
    if (body === null) return { answers, rest: text.slice(at) };
    const next = end + 4 + body.length;
    if (status !== 100) answers.push({ bytes: text.slice(at, next), status, headers, body: body.text });
    // The bytes after it are no HTTP any more.
    if (status === 101) return { answers, rest: '' };
    at = next;
  }
}

function answerBody(text: string, headers: Headers): { text: string; length: number } | null {
  if (headers.get('transfer-encoding') === 'chunked') return dechunked(text);
  const length = headers.get('content-length');
  if (length === null) return { text, length: text.length };
  return text.length < Number(length) ? null : { text: text.slice(0, Number(length)), length: Number(length) };
}

function dechunked(text: string): { text: string; length: number } | null {
  let body = '';
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n', at);
    const size = end < 0 ? NaN : Number.parseInt(text.slice(at, end), 16);
    if (Number.isNaN(size) || text.length < end + 4 + size) return null;
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
    if (size === 0) return { text: body, length: at };
  }
}
