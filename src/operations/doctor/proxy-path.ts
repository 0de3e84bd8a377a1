/**
 * Whether requests reach the server from where clients ask, through the proxy in front of it, and whether the server
 * knows that address.
 */
import { isUntrusted } from '../../base/certificates.ts';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import { fail, ok, warn } from '../../store/doctor/check.ts';
import type { Finding } from '../../store/doctor/check.ts';

/** Milliseconds for an answer through the proxy. */
const doctorUrlMs = 10_000;

const correction = 'Correct the address, or the address of the server in the proxy.';

/** `config`: the settings that the server would have. */
export async function proxyPath(url: string, clock: Clock, config: Pick<Config, 'publicUrl'>): Promise<Finding> {
  const address = URL.canParse(url) ? new URL('/healthz', url) : null;
  if (address === null || !/^https?:$/.test(address.protocol))
    return fail(
      `${url} is not an HTTP address`,
      'Give the address as clients have it: parley doctor --url https://parley.example.com.',
    );
  const aborted = new AbortController();
  const deadline = clock.after(doctorUrlMs, () => aborted.abort());
  try {
    const answer = await fetch(address, { signal: aborted.signal, redirect: 'manual' });
    await answer.arrayBuffer();
    return judged(answer, address, config);
  } catch (error) {
    const { cause, name } = error as Error & { readonly cause?: { readonly code?: string } };
    if (isUntrusted(cause?.code)) return untrusted(address, cause!.code!);
    return fail(`${address} does not answer (${cause?.code ?? name})`, `Start the server and the proxy. ${correction}`);
  } finally {
    deadline.cancel();
  }
}

function judged({ status, headers }: Response, address: URL, config: Pick<Config, 'publicUrl'>): Finding {
  if (status === 505) return oldVersion(address);
  if (headers.get('x-request-id')?.startsWith('req_') === true)
    return knownAddress(address, headers.get('x-reached-at'), config);
  const location = headers.get('location');
  if (status >= 300 && status < 400 && location !== null && URL.canParse(location, address.href)) {
    const { origin } = new URL(location, address);
    return fail(
      `${address.origin} leads to ${origin} (${status})`,
      `Check that address: parley doctor --url ${origin}`,
    );
  }
  return fail(`${address} answers ${status}, but the response is not from parley`, correction);
}

/**
 * Compares the address that was asked with the one at which the server believes to be reached, and with the one that it
 * gives to clients.
 */
function knownAddress(
  { origin, protocol, host }: URL,
  reachedAt: string | null,
  { publicUrl }: Pick<Config, 'publicUrl'>,
): Finding {
  const answered = `a parley answers at ${origin}`;
  const reached = reachedAt !== null && URL.canParse(reachedAt) ? new URL(reachedAt) : null;
  if (reached !== null && reached.protocol !== protocol)
    return otherScheme(`${answered}, and believes to be reached at ${reached.origin}`, protocol, publicUrl);
  if (publicUrl !== null && publicUrl !== origin) {
    return warn(
      `${answered}; sockets, links and snippets lead to ${publicUrl}, as PARLEY_PUBLIC_URL or PARLEY_CONSOLE_ORIGIN says`,
      `If clients are to use ${origin}: PARLEY_PUBLIC_URL=${origin}.`,
    );
  }
  // A proxy that gives the server another name hinders nobody who uses no sockets and links.
  if (reached !== null && reached.host !== host && publicUrl === null)
    return ok(`${answered}; without PARLEY_PUBLIC_URL sockets, links and snippets lead to ${reached.origin}`);
  return ok(`${answered}, and knows that address`);
}

function otherScheme(found: string, protocol: string, publicUrl: string | null): Finding {
  if (protocol === 'http:')
    return fail(
      found,
      'Let the proxy send the scheme of each request as X-Forwarded-Proto: without it the server takes plain HTTP for a secure connection.',
    );
  const advice =
    "Let the proxy send X-Forwarded-Proto (docs/many-processes), and name the proxy's address in PARLEY_TRUSTED_PROXIES";
  if (publicUrl?.startsWith('https:') === true)
    return warn(`${found}; PARLEY_PUBLIC_URL or PARLEY_CONSOLE_ORIGIN stands in`, `${advice}.`);
  return fail(
    `${found}: nobody can sign in to the console, and sockets get ws:// addresses, which no https page can open`,
    `${advice}, or set PARLEY_PUBLIC_URL to this address.`,
  );
}

/** uWebSockets.js takes no HTTP/1.0, which nginx speaks to servers by default. */
const oldVersion = ({ origin }: URL): Finding =>
  fail(
    `${origin} answers 505: the proxy speaks HTTP/1.0 to the server, which uWebSockets.js does not take`,
    'nginx: proxy_http_version 1.1; in the location of proxy_pass. Where a proxy has no other version: PARLEY_EDGE=node.',
  );

const untrusted = ({ origin }: URL, code: string): Finding =>
  fail(
    `${origin} shows a certificate that is not trusted here (${code})`,
    'Give the proxy the certificate with its whole chain, made out to this name. An authority of your own: name its file in NODE_EXTRA_CA_CERTS.',
  );
