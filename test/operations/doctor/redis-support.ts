/** Redis servers for the doctor's tests, and the store of an installation on one. */
import type { Test } from 'tap';
import type { Store } from '../../../src/store/store.ts';
import { RedisServer } from '../../store/redis-server.ts';
import { openStore } from '../../store/redis-stores.ts';
import { diagnose, type Diagnosed } from './diagnosis.ts';

export async function redis(t: Test, ...settings: string[]): Promise<RedisServer> {
  const server = await RedisServer.start(...settings);
  t.teardown(() => server.stop());
  return server;
}

export const examined = (server: RedisServer, environment: Readonly<Record<string, string>> = {}): Promise<Diagnosed> =>
  diagnose({ PARLEY_STORE: server.url, ...environment });

/** Runs with the store of an installation. */
export async function stored<T>(url: string, run: (store: Store) => Promise<T>): Promise<T> {
  const { store, dispose } = await openStore(url, { prefix: 'parley:' });
  try {
    return await run(store);
  } finally {
    await dispose();
  }
}
