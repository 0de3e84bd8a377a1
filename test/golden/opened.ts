/** Golden files, opened as a later version opens them, at the time that they were made. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createClient } from 'redis';
import type { Test } from 'tap';
import { importFrom } from '../../src/operations/moving.ts';
import { EmbeddedTarget } from '../../src/store/embedded/load.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { redisStore } from '../../src/store/redis.ts';
import type { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { ids } from '../store/fixtures.ts';
import { appendOnly, RedisServer } from '../store/redis-server.ts';
import { toldTheTime } from '../store/redis-stores.ts';

/** The content of the files, as the API told it before the server was killed. */
export interface About {
  readonly takenAtMs: number;
  readonly secret: string;
  readonly workspaceId: string;
  readonly key: string;
  readonly revokedKey: string;
  readonly credential: { readonly id: string; readonly apiKey: string };
  readonly sessions: { readonly open: string; readonly ended: string; readonly expired: string; readonly cut: string };
  /** The text that a client had seen of the turn in flight. */
  readonly cutText: string;
  readonly transcripts: Readonly<Record<string, any>>;
  readonly usage: Readonly<Record<string, number>>;
}

export interface Golden {
  readonly about: About;
  readonly store: Store;
  readonly clock: ManualClock;
}

export const aboutOf = (folder: string, form: 'lmdb' | 'redis'): About => JSON.parse(readFileSync(join(folder, `${form}.json`), 'utf8'));

/** A minute after the files were made. */
function clockOf({ takenAtMs }: About): ManualClock {
  const clock = new ManualClock();
  clock.advance(takenAtMs + 60_000 - clock.now());
  return clock;
}

/** A copy of the data folder, secrets and journal included. */
export async function dataFolder(t: Test, folder: string): Promise<string> {
  const copy = join(await temporaryFolder(t), 'data');
  cpSync(join(folder, 'lmdb'), copy, { recursive: true });
  return copy;
}

export const forms: Readonly<Record<string, (t: Test, folder: string) => Promise<Golden>>> = {
  async lmdb(t, folder) {
    const about = aboutOf(folder, 'lmdb');
    return { about, clock: clockOf(about), store: lmdbStore(await dataFolder(t, folder)) };
  },
  async 'an export'(_t, folder) {
    const about = aboutOf(folder, 'lmdb');
    const engine = new MemoryEngine();
    await importFrom({ target: new EmbeddedTarget(engine), secret: about.secret, from: join(folder, 'export.jsonl.gz'), onRows: () => {} });
    return { about, clock: clockOf(about), store: new EmbeddedStore(engine) };
  },
  async redis(t, folder) {
    const about = aboutOf(folder, 'redis');
    const clock = clockOf(about);
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    const client = createClient({ url: server.url });
    await client.connect();
    for (const line of gunzipSync(readFileSync(join(folder, 'redis.jsonl.gz'))).toString().trimEnd().split('\n')) {
      await client.sendCommand((JSON.parse(line) as string[]).map((word) => Buffer.from(word, 'base64')));
    }
    await client.set('now', clock.now());
    client.destroy();
    return { about, clock, store: redisStore(server.url, { clock, ids, scripts: toldTheTime }) };
  },
};
