/** Redis stores for tests: each with keys of its own on a server that several share. */
import { readFileSync } from 'node:fs';
import { WheelClock } from '../../src/clock.ts';
import { randomIds } from '../../src/ids.ts';
import { redisStore } from '../../src/store/redis.ts';
import { loadScripts } from '../../src/store/redis/scripts.ts';
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

/** A script that is told the time by the key `now`: milliseconds since the epoch. */
export function tellingTheTime(source: string): string {
  const clock = "  local time = redis.call('TIME')\n  return time[1] * 1000 + math.floor(time[2] / 1000)\n";
  if (!source.includes(clock)) throw new Error('The scripts read the time elsewhere.');
  return source.replace(clock, "  return tonumber(redis.call('GET', 'now'))\n");
}

export const toldTheTime = loadScripts(tellingTheTime);

/** The scripts, each step taken twice as one whose answer was lost: it is the second that is answered. */
export const takenTwice = loadScripts((source, name) => {
  const prelude = readFileSync(new URL('../../src/store/redis/steps/prelude.lua', import.meta.url), 'utf8');
  const end = source.indexOf(prelude) + prelude.length;
  if (end < prelude.length) throw new Error(`${name} does not have what all share.`);
  return `${source.slice(0, end)}local function step()\n${source.slice(end)}\nend\nstep()\nreturn step()\n`;
});

export const storesOn = (url: string, over: Partial<RedisOptions> = {}): Factory => () => openStore(url, over);
