/** Redis stores for tests, each under a separate prefix on a server that several share. */
import { WheelClock, type Timer } from '../../src/base/clock.ts';
import { randomIds } from '../../src/base/ids.ts';
import { redisStore } from '../../src/store/redis.ts';
import { loadScripts, type Scripts } from '../../src/store/redis/scripts.ts';
import type { ScriptName } from '../../src/store/redis/steps.ts';
import type { RedisOptions } from '../../src/store/redis.ts';
import type { Store } from '../../src/store/store.ts';
import { patient } from '../run/speed.mjs';
import type { Factory } from './contract.ts';

export interface Opened {
  readonly store: Store;
  /** Closes it and its clock. */
  dispose(): Promise<void>;
}

/** Waits by the machine's speed: a store in a process that is held up gives its Redis as much longer to answer. */
export class PatientClock extends WheelClock {
  override after(delayMs: number, callback: () => void): Timer {
    return super.after(patient(delayMs), callback);
  }
}

export async function openStore(url: string, over: Partial<RedisOptions> = {}): Promise<Opened> {
  const clock = new PatientClock();
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

/** A script that reads the time from the key `now`: milliseconds since the epoch. */
export function tellingTheTime(source: string): string {
  const clock = "  local time = redis.call('TIME')\n  return time[1] * 1000 + math.floor(time[2] / 1000)\n";
  const told = source.replace(clock, "  return tonumber(redis.call('GET', 'now'))\n");
  if (told.includes("'TIME'")) throw new Error('The scripts read the time elsewhere.');
  return told;
}

export const toldTheTime = loadScripts(tellingTheTime);

/** The scripts, each step taken twice as one whose answer was lost: it is the second that is answered. */
export const takenTwice = loadScripts((source) => `local function taken()\n${source}end\ntaken()\nreturn taken()\n`);

/**
 * The scripts with wrong texts in place of sound ones: in one script, or in each that has them. Each sound text must be
 * there.
 */
export function editedScripts(
  of: ScriptName | null,
  put: readonly (readonly [sound: string, wrong: string])[],
  edited = (source: string): string => source,
): Scripts {
  const missing = new Set(put.map(([sound]) => sound));
  const scripts = loadScripts((source, name) => {
    if (of !== null && name !== of) return edited(source);
    return put.reduce((text, [sound, wrong]) => {
      if (text.includes(sound)) missing.delete(sound);
      return text.replace(sound, () => wrong);
    }, edited(source));
  });
  if (missing.size > 0) throw new Error(`${of ?? 'No script'} has no such place: ${[...missing].join(', ')}`);
  return scripts;
}

export const storesOn =
  (url: string, over: Partial<RedisOptions> = {}): Factory =>
  () =>
    openStore(url, over);
