/** The bytes of a request. A customer's values cannot add a line to it. */
import manifest from '../../../package.json' with { type: 'json' };
import type { ModelFailure } from '../model.ts';
import type { Target } from './target.ts';

export interface ProviderGet {
  readonly baseUrl: string;
  /** The path after the base URL's; begins with a slash. */
  readonly path: string;
  /** Not changed any more once it was sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends what the path names. `GET` if absent. */
  readonly method?: 'DELETE';
}

export interface ProviderPost extends Omit<ProviderGet, 'method'> {
  readonly body: string | Uint8Array;
  /** Sends the request on a new connection and never repeats it, because its effect must not happen twice. */
  readonly once?: true;
  /**
   * Called once the connection is open, right before the request is written: unless it resolves with true, no byte of the
   * request is sent, and it fails as one that could not connect. For a request with `once` only.
   */
  readonly mayWrite?: () => Promise<boolean>;
}

/** Gateways and firewalls refuse requests without one, as bots. */
const userAgent = `parley/${manifest.version}`;

const pathText = /^[\x21-\x7e]*$/;
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

interface Head {
  readonly method: string;
  readonly path: string;
  readonly headers: ProviderGet['headers'];
  readonly text: string;
}

/** The newest head for each target: requests to one mostly differ in their bodies alone. */
const newest = new WeakMap<Target, Head>();

/** The whole request as one buffer, or the failure that it cannot be formed. */
export function requestBytes(target: Target, request: ProviderGet | ProviderPost): Buffer | ModelFailure {
  const { path, headers } = request;
  const body = 'body' in request ? request.body : null;
  const method = 'body' in request ? 'POST' : (request.method ?? 'GET');
  const known = newest.get(target);
  const made =
    known?.method === method && known.path === path && isSame(known.headers, headers)
      ? known.text
      : headText(target, method, request);
  if (typeof made === 'object') return made.failure;
  if (made !== known?.text) newest.set(target, { method, path, headers, text: made });
  if (body === null) return Buffer.from(`${made}\r\n`, 'latin1');
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  const head = `${made}content-length: ${length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + length);
  bytes.write(head, 'latin1');
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8');
  else bytes.set(body, head.length);
  return bytes;
}

/** The head but for the length of a body. */
function headText(
  target: Target,
  method: string,
  { path, headers }: Pick<ProviderGet, 'path' | 'headers'>,
): string | { readonly failure: ModelFailure } {
  const fullPath = target.path + path;
  if (!pathText.test(fullPath)) return { failure: 'address' };
  let text = `${method} ${fullPath} HTTP/1.1\r\nhost: ${target.authority}\r\nconnection: keep-alive\r\nuser-agent: ${userAgent}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    // Only the key is free text, so only the key can make a header invalid.
    if (!headerName.test(name) || !headerValue.test(value)) return { failure: 'credential' };
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

function isSame(one: ProviderGet['headers'], other: ProviderGet['headers']): boolean {
  for (const name in one) if (one[name] !== other[name]) return false;
  for (const name in other) if (!(name in one)) return false;
  return true;
}
