/** Sessions put into an embedded store as the API puts them there, without the HTTP. */
import { setTimeout as pause } from 'node:timers/promises';
import { WheelClock } from '../../src/base/clock.ts';
import { Host } from '../../src/host.ts';
import { randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { openLog } from '../../src/base/log.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { StoreUnavailable } from '../../src/store/store.ts';

/** Sessions that are opened at once, as so many clients would. */
const abreast = 200;

/** The store refuses steps that come faster than it can write, which a client would see as 503; so wait and retry. */
async function patiently<T>(create: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await pause(refusedMs);
    }
  }
}

const refusedMs = 20;

/**
 * Opens `count` sessions in the store of a folder that no server has open; resolves with the ids of up to `sample` of
 * them, evenly spread.
 */
export async function seedSessions(
  folder: string,
  workspaceId: string,
  assistantId: string,
  count: number,
  sample: number,
): Promise<string[]> {
  const clock = new WheelClock();
  const store = lmdbStore(folder);
  await store.open(clock.now());
  const host = new Host(store, clock, randomIds(clock), openLog('silent', clock), limits.turnMsMax);
  const wanted = {
    workspaceId,
    assistantId,
    channel: 'api',
    visitor: {},
    metadata: {},
    maxCallSeconds: 24 * 3600,
    greeting: null,
    remember: null,
  } as const;
  const every = Math.max(1, Math.floor(count / sample));
  const sampled: string[] = [];
  try {
    for (let made = 0; made < count; made += abreast) {
      const opened = await Promise.all(
        Array.from({ length: Math.min(abreast, count - made) }, () => patiently(() => host.sessions.create(wanted))),
      );
      opened.forEach(
        ({ session }, index) => (made + index) % every === 0 && sampled.length < sample && sampled.push(session.id),
      );
    }
  } finally {
    host.close();
    await store.close();
    clock.stop();
  }
  return sampled;
}
