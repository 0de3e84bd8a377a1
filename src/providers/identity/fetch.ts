/** `fetch` for the client of OpenID Connect, over the client to all providers, with a bound on bytes and time. */
import type { Clock } from '../../base/clock.ts';
import { isLoopback } from '../../base/config/oidc.ts';
import type { ProviderHttp, ProviderListener } from '../client.ts';
import { IssuerAway } from '../identity.ts';

/** Bytes of one answer of the issuer. */
export const oidcAnswerBytesMax = 512 * 1024;
/** Milliseconds for all answers of the issuer to one request of a browser. */
export const oidcMs = 10_000;

/** The part of the options of `fetch` that the client uses. */
interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export type Fetch = (url: string, options: FetchOptions) => Promise<Response>;

/**
 * Returns a `fetch` whose requests have to be answered within one span of time together. It rejects with `IssuerAway`
 * unless the answer is a success, or a refusal that the client can read. `allowPrivate` is
 * `PARLEY_ALLOW_PRIVATE_PROVIDERS`.
 */
export function issuerFetch(http: ProviderHttp, clock: Clock, allowPrivate: boolean): Fetch {
  const until = clock.monotonic() + oidcMs;
  return (url, options) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search, protocol } = new URL(url);
      const request = { baseUrl: origin, path: `${pathname}${search}`, headers: options.headers };
      if (protocol !== 'https:' && !allowPrivate && !isLoopback(new URL(url)))
        return reject(new IssuerAway('the issuer names an address without encryption'));
      const end = (act: () => void): void => {
        timer.cancel();
        act();
      };
      const fail = (why: string): void =>
        end(() => {
          sent.cancel();
          reject(new IssuerAway(why));
        });
      const listener = collect(fail, (response) => end(() => resolve(response)));
      const timer = clock.after(Math.max(0, until - clock.monotonic()), () => fail('the issuer is too slow'));
      const sent =
        options.method === 'POST'
          ? http.post({ ...request, body: bodyOf(options.body), once: true }, listener)
          : http.get(request, listener);
    });
}

const bodyOf = (body: unknown): string =>
  body instanceof URLSearchParams || typeof body === 'string' ? String(body) : '';

function collect(fail: (why: string) => void, done: (response: Response) => void): ProviderListener {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: ResponseInit = {};
  return {
    head(contentType, contentEncoding, { status }) {
      if (contentEncoding !== '') return fail('the issuer sends an encoded body');
      if (status === 204 || status === 205) return fail(`the issuer answers ${status}`);
      head = { status, headers: { 'content-type': contentType } };
    },
    data(chunk) {
      bytes += chunk.length;
      if (bytes > oidcAnswerBytesMax) return fail('the issuer sends too much');
      chunks.push(Buffer.from(chunk));
    },
    ended: () => done(new Response(Buffer.concat(chunks), head)),
    failed(failure, status, errorText) {
      if (status === null || status === 429 || status < 400 || status >= 500)
        return fail(status === null ? `the issuer does not answer (${failure})` : `the issuer answers ${status}`);
      done(new Response(errorText, { status, headers: { 'content-type': 'application/json' } }));
    },
  };
}
