/** The contract on the embedded stores, and what concerns them alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Store } from '../../src/store/store.ts';
import { cases, runCase } from './contract.ts';
import type { Factory } from './contract.ts';

const opened = async (store: Store, after: () => Promise<void>) => {
  await store.open(Date.now());
  return {
    store,
    dispose: async () => {
      await store.close();
      await after();
    },
  };
};

const factories: Record<string, Factory> = {
  memory: () => opened(memoryStore(), async () => {}),
  lmdb: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
    return opened(lmdbStore(folder), () => rm(folder, { recursive: true }));
  },
};

for (const [name, factory] of Object.entries(factories)) {
  t.test(name, async (t) => {
    for (const each of cases) {
      await t.test(each.name, async () => {
        await runCase(each, factory);
      });
    }
  });
}
