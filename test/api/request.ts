/** A client of HTTP in few lines: `fetch` takes three times the CPU time for a request, and more than the server. */
import { Agent, request, type IncomingMessage } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

export interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Lets go of an idle connection well before a server does: a request that crosses the server's close would fail. */
const agent = new Agent({ keepAlive: true, timeout: 1000 });
const secureAgent = new SecureAgent({ keepAlive: true, timeout: 1000 });

/** Certificates that requests of this process trust, as PEM. Node's own `fetch` takes them only from its start. */
export const trusted: string[] = [];

/** Has the requests of this process trust a certificate. */
export function trust(certificate: string): void {
  trusted.push(certificate);
  secureAgent.options.ca = trusted;
}

/** A failure of the connection is a TypeError with a cause, as `fetch` has it, and so no failure of a check. */
export const cut = (error: unknown, what = 'an answer'): unknown =>
  error instanceof Error && error.name === 'AbortError'
    ? error
    : new TypeError(`the connection failed: ${what}`, { cause: error });

/** Resolves with the head of the answer. */
export function send(url: string, { method, headers, body, signal }: Sent): Promise<IncomingMessage> {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const askedAt = performance.now();
  return new Promise((resolve, reject) => {
    const way = url.startsWith('https:') ? { request: secureRequest, agent: secureAgent } : { request, agent };
    const sent = way.request(
      url,
      { method, headers: { ...length, ...headers }, agent: way.agent, ...(signal && { signal }) },
      (response) => {
        // An answer may be cut when nobody reads it any more.
        response.on('error', () => {});
        resolve(response);
      },
    );
    sent.on('error', (error) =>
      reject(
        cut(
          error,
          `${method} ${new URL(url).pathname} on a ${sent.reusedSocket ? 'kept' : 'new'} connection, after ${Math.round(performance.now() - askedAt)} ms`,
        ),
      ),
    );
    sent.end(body);
  });
}

export function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!);
  return headers;
}

/** `fetch` by the same client, for programs that take one. */
export async function fetchTrusting(
  url: string | URL,
  { method = 'GET', headers = {}, body, signal }: RequestInit = {},
): Promise<Response> {
  const sent = {
    method,
    headers: Object.fromEntries(new Headers(headers)),
    body: (body ?? undefined) as string | undefined,
    signal: signal ?? undefined,
  };
  const response = await send(String(url), sent);
  const isEmpty = [204, 304].includes(response.statusCode!);
  return new Response(isEmpty ? null : (Readable.toWeb(response) as ReadableStream), {
    status: response.statusCode!,
    headers: headersOf(response),
  });
}

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { gzip: gunzipSync, br: brotliDecompressSync };

/** The body as text, decompressed. */
export async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch (error) {
    throw cut(error);
  }
  const bytes = Buffer.concat(pieces);
  return (decoders[response.headers['content-encoding'] ?? '']?.(bytes) ?? bytes).toString();
}
