/** A server behind a proxy with TLS, which is started first: so the server can be told its public address. */
import { probePort } from '../../src/operations/supervisor/port.ts';
import type { Owner } from '../folders.ts';
import { houseAt, openHouse, type House } from './house.ts';
import { openProxy, type Proxy } from './proxy.ts';

/**
 * Source of the server's knowledge that its clients come by TLS: a proxy that it trusts, its public address alone, or
 * nothing.
 */
export type Knows = 'the proxy' | 'its public address' | 'nothing';

export interface Behind {
  /** Asked without the proxy, as a backend of the same network does. */
  readonly direct: House;
  /** Asked through the proxy. */
  readonly house: House;
}

type Env = Readonly<Record<string, string>>;

export async function openBehind(t: Owner, proxy: Proxy, knows: Knows, more: Env = {}): Promise<Behind> {
  const port = String(await probePort('127.0.0.1', 0));
  const { url, ready } = await openProxy(t, proxy, [{ url: `http://127.0.0.1:${port}` }]);
  const known: Record<Knows, Env> = {
    'the proxy': { PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
    'its public address': { PARLEY_PUBLIC_URL: url },
    nothing: {},
  };
  const direct = await openHouse(t, { env: { ...more, PORT: port, ...known[knows] } });
  await ready();
  return { direct, house: await houseAt({ ...direct, url }) };
}
