/** The bytes of a request. Nothing that a customer gives can add a line to it. */
import type { ModelFailure } from '../../model.ts';
import type { Target } from './target.ts';

export interface ProviderPost {
  readonly baseUrl: string;
  /** Follows the base URL's path; begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

const pathText = /^[\x21-\x7e]*$/;
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The whole request, to be written at once; or why it cannot be formed. */
export function requestBytes(target: Target, { path, headers, body }: ProviderPost): Buffer | ModelFailure {
  const fullPath = target.path + path;
  if (!pathText.test(fullPath)) return 'address';
  let head = `POST ${fullPath} HTTP/1.1\r\nhost: ${target.authority}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    // Of all that goes into a request only the key is free text, so only the key can make a header invalid.
    if (!headerName.test(name) || !headerValue.test(value)) return 'credential';
    head += `${name}: ${value}\r\n`;
  }
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  head += `content-length: ${length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + length);
  bytes.write(head, 'latin1');
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8');
  else bytes.set(body, head.length);
  return bytes;
}
