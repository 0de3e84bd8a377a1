/** Redis stores for tests: each with keys of its own on a server that several share. */
import { WheelClock } from '../../src/clock.ts';
import { randomIds } from '../../src/ids.ts';
import { redisStore } from '../../src/store/redis.ts';
import type { RedisOptions } from '../../src/store/redis.ts';
import type { Store } from '../../src/store.ts';
import type { Factory } from './contract.ts';

export interface Opened {
  readonly store: Store;
  /** Closes it and its clock. */
  dispose(): Promise<void>;
}

export async function openStore(url: string, over: Partial<RedisOptions> = {}): Promise<Opened> {
  const clock = new WheelClock();
  const ids = randomIds(clock);
  const store = redisStore(url, { clock, ids, prefix: `${ids.secret()}:`, ...over });
  const dispose = async (): Promise<void> => {
    await store.close();
    clock.stop();
  };
  try {
    await store.open(Date.now());
  } catch (error) {
    clock.stop();
    throw error;
  }
  return { store, dispose };
}

export const storesOn = (url: string, over: Partial<RedisOptions> = {}): Factory => () => openStore(url, over);
