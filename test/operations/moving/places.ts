/** Stores to move from and to: each opened as a server does it, and told or filled as a move does it. */
import type { Test } from 'tap';
import { randomIds } from '../../../src/base/ids.ts';
import type { DumpSource, DumpTarget } from '../../../src/store/dump.ts';
import { EmbeddedSource } from '../../../src/store/embedded/dump.ts';
import { EmbeddedTarget } from '../../../src/store/embedded/load.ts';
import { EmbeddedStore } from '../../../src/store/embedded.ts';
import { LmdbFilling } from '../../../src/store/lmdb/filling.ts';
import { LmdbSnapshot } from '../../../src/store/lmdb/snapshot.ts';
import { lmdbStore } from '../../../src/store/lmdb.ts';
import { MemoryEngine } from '../../../src/store/memory.ts';
import { RedisSource } from '../../../src/store/redis/dump.ts';
import { RedisTarget } from '../../../src/store/redis/load.ts';
import { redisStore } from '../../../src/store/redis.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../folders.ts';
import { ids } from '../../store/fixtures.ts';
import { PatientClock } from '../../store/redis-stores.ts';

export interface Place {
  /** The store, not opened. */
  store(): Store;
  source(): DumpSource;
  target(): DumpTarget;
}

export type MakePlace = (t: Test) => Promise<Place>;

export const inMemory: MakePlace = async () => {
  const engine = new MemoryEngine();
  return {
    store: () => new EmbeddedStore(engine),
    source: () => new EmbeddedSource(engine),
    target: () => new EmbeddedTarget(engine),
  };
};

export const inFolder: MakePlace = async (t) => {
  const folder = await temporaryFolder(t);
  return {
    store: () => lmdbStore(folder, { ids }),
    source: () => new EmbeddedSource(new LmdbSnapshot(folder)),
    target: () => new EmbeddedTarget(new LmdbFilling(folder)),
  };
};

/** A separate key prefix on a server that several tests share. */
export const onRedis =
  (url: string): MakePlace =>
  async (t) => {
    const clock = new PatientClock();
    t.teardown(async () => clock.stop());
    const ids = randomIds(clock);
    const prefix = `${ids.secret()}:`;
    return {
      store: () => redisStore(url, { clock, ids, prefix }),
      source: () => new RedisSource(url, { clock, prefix }),
      target: () => new RedisTarget(url, { clock, prefix, allowVolatile: false }),
    };
  };

/** Does something with the store open. */
export async function opened<T>(place: Place, use: (store: Store) => Promise<T>): Promise<T> {
  const store = place.store();
  await store.open(Date.now());
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
