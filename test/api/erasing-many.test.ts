/**
 * Erasing a visitor of many sessions among many others (contract 22): requests are answered meanwhile.
 * PARLEY_ERASED_SESSIONS=10000 measures as many, among five times as many others.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { usualPrefix } from '../../src/store/redis/keys.ts';
import type { Session, Store } from '../../src/store/store.ts';
import { Scene } from '../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openStore } from '../store/redis-stores.ts';
import { openHouse } from './house.ts';

const mine = Number(process.env['PARLEY_ERASED_SESSIONS'] ?? 500);
const others = 5 * mine;

interface Place {
  readonly url: string;
  readonly folder: string;
  open(): Promise<{ store: Store; dispose(): Promise<void> }>;
}

async function inFolder(t: Test): Promise<Place> {
  const folder = await temporaryFolder(t);
  return {
    url: 'lmdb:./data',
    folder,
    async open() {
      const store = lmdbStore(join(folder, 'data'));
      await store.open(Date.now());
      return { store, dispose: () => store.close() };
    },
  };
}

async function onRedis(t: Test): Promise<Place> {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  return {
    url: redis.url,
    folder: await temporaryFolder(t),
    open: () => openStore(redis.url, { prefix: usualPrefix }),
  };
}

for (const [name, place, skip] of [
  ['lmdb', inFolder, false],
  ['redis', onRedis, whyNoRedis() ?? false],
] as const) {
  t.test(`${name}: other requests are answered while a visitor of many sessions is erased`, { skip }, async (t) => {
    const { url, folder, open } = await place(t);
    const env = { PARLEY_STORE: url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
    const first = await openHouse(t, { folder, env });
    const { workspaceId } = first;
    await first.stop();
    const { store, dispose } = await open();
    await fill(store, workspaceId, others / 2, null);
    await fill(store, workspaceId, mine, 'vis_many');
    await fill(store, workspaceId, others / 2, null);
    await dispose();

    const house = await openHouse(t, { folder, env });
    const begunAt = performance.now();
    const answer = house.console(`/workspaces/${workspaceId}/visitors/vis_many`, { method: 'DELETE' });
    const waits: number[] = [];
    for (let over = false; !over;) {
      const askedAt = performance.now();
      await house.ask('/assistants');
      waits.push(performance.now() - askedAt);
      over = await Promise.race([
        answer.then(() => true),
        new Promise<false>((resolve) => setImmediate(resolve, false)),
      ]);
    }
    t.match((await answer).json, { sessions: mine, messages: 2 * mine, turns: mine });
    t.ok(waits.length > 1, 'other requests came in between');
    const [seconds, longest] = [(performance.now() - begunAt) / 1000, Math.max(...waits)];
    t.comment(
      `${mine} of ${mine + others} sessions in ${seconds.toFixed(1)} s; ${waits.length} other requests, the longest ${longest.toFixed(0)} ms`,
    );
    const left = await house.console(`/workspaces/${workspaceId}/sessions?limit=1&total=true`);
    t.equal(left.json.total, others <= 1000 ? others : null, 'the others stay');
  });
}

/** Stores open sessions of the link, each of a visitor with a turn, or of nobody without one. */
async function fill(store: Store, workspaceId: string, count: number, visitorId: string | null): Promise<void> {
  const scene = new Scene(store, Date.now());
  for (let at = 0; at < count; at += 500) {
    const some = Array.from({ length: Math.min(500, count - at) }, () =>
      scene.session({ workspaceId, channel: 'link', ...(visitorId !== null && { link: { visitorId, clock: null } }) }),
    );
    await Promise.all(some.map((session) => store.sessions.create(scene.createStep({ session }))));
    if (visitorId !== null) await Promise.all(some.map((session) => turn(scene, session)));
  }
}

async function turn(scene: Scene, session: Session): Promise<void> {
  const begun = await scene.begun(session, 1, { slot: null });
  await scene.store.turns.finish(begun.finishStep({ tail: { position: 0, text: 'A reply of some words.' } }));
}
