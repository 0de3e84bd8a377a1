/** Whether requests reach the server from where clients ask, through the proxy in front of it. */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { fail, ok } from '../../store/doctor/check.ts';
import type { Finding } from '../../store/doctor/check.ts';

const correction = 'Correct the address, or the address of the server in the proxy.';

export async function way(url: string, clock: Clock): Promise<Finding> {
  const address = URL.canParse(url) ? new URL('/healthz', url) : null;
  if (address === null || !/^https?:$/.test(address.protocol)) return fail(`${url} is no address of HTTP`, 'Give the address as clients have it: parley doctor --url https://parley.example.com.');
  const aborted = new AbortController();
  const deadline = clock.after(limits.doctorUrlMs, () => aborted.abort());
  try {
    const answer = await fetch(address, { signal: aborted.signal, redirect: 'manual' });
    await answer.arrayBuffer();
    if (answer.status === 505) return oldVersion(address);
    if (answer.headers.get('x-request-id')?.startsWith('req_')) return ok(`a parley answers at ${address.origin}`);
    return fail(`${address} answers ${answer.status}, and not from a parley`, correction);
  } catch (error) {
    const { cause, name } = error as Error & { readonly cause?: { readonly code?: string } };
    return fail(`${address} does not answer (${cause?.code ?? name})`, `Start the server and the proxy. ${correction}`);
  } finally {
    deadline.cancel();
  }
}

/** uWebSockets.js takes no HTTP/1.0, which nginx speaks to servers unless it is told otherwise. */
const oldVersion = ({ origin }: URL): Finding =>
  fail(`${origin} answers 505: the proxy speaks HTTP/1.0 to the server, which uWebSockets.js does not take`, 'nginx: proxy_http_version 1.1; in the location of proxy_pass. Where a proxy has no other version: PARLEY_EDGE=node.');
