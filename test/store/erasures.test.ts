/** Rows of an erased session: none is left, also if the erasure is cut between two of its steps. */
import t from 'tap';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import type { Write } from '../../src/store/engine.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { nothingErased } from '../../src/store/parts/erasures.ts';
import type { Erasure, Store } from '../../src/store/store.ts';
import { message, Scene, toolCall } from './fixtures.ts';
import { move } from './contract/history.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

/** Erases a session whose turn is in flight with output and a tool call; returns its id. */
async function erased(store: Store): Promise<string> {
  const scene = new Scene(store, Date.now());
  const session = scene.session({
    messageCount: 1,
    channel: 'link',
    link: { visitorId: 'vis_1', clock: null },
  });
  await store.sessions.create(scene.createStep({ session, greeting: message(), move: move(1) }));
  const first = await scene.begun(session, 1, { move: move(2) });
  await store.turns.finish(first.finishStep({ tail: { position: 0, text: 'a reply' }, move: move(3) }));
  const second = await scene.begun(first.step.session, 3, { slot: { name: 'visitor/vis_1', ceiling: 1 } });
  await second.append(0, 'half');
  await store.turns.step({ ...second.place, fence: second.fence, from: 0, calls: [toolCall()] });
  const erasure: Erasure = { workspaceId: scene.workspaceId, kind: 'session', id: session.id };
  await store.erasures.begin(erasure, scene.nowMs);
  await store.erasures.eraseSession(erasure, session.id);
  await store.erasures.finish(erasure);
  return session.id;
}

t.test('an erased session is gone from all rows of an embedded store', async (t) => {
  const engine = new MemoryEngine();
  const store = new EmbeddedStore(engine);
  await store.open(Date.now());
  const id = await erased(store);
  const rows = [...engine.range('', '~', false)].filter(([key, row]) => `${key} ${Buffer.from(row)}`.includes(id));
  t.same(
    rows.map(([key]) => key),
    [],
  );
  await store.close();
});

t.test('an erased session is gone from all keys of Redis', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly, '--rdbcompression', 'no');
  t.teardown(() => redis.stop());
  const { store, dispose } = await openStore(redis.url);
  const id = await erased(store);
  const keys = (await redis.command('KEYS', '*')).split('\n');
  t.ok(keys.length > 1);
  for (const key of keys) t.notOk(`${key} ${await redis.command('DUMP', key)}`.includes(id), key);
  await dispose();
});

t.test('an erasure that is cut between two steps is listed, and continues with its counts', async (t) => {
  let failsAfter = Infinity;
  class FailingEngine extends MemoryEngine {
    override async write(rows: Iterable<Write>): Promise<void> {
      if (failsAfter-- <= 0) throw new Error('The disk is full.');
      return super.write(rows);
    }
  }
  const engine = new FailingEngine();
  const store = new EmbeddedStore(engine);
  await store.open(Date.now());
  const scene = new Scene(store, Date.now());
  const session = scene.session({ messageCount: 2500 });
  const earlier = Array.from({ length: 2500 }, () => message());
  await store.sessions.create(scene.createStep({ session, earlier }));
  const erasure: Erasure = { workspaceId: scene.workspaceId, kind: 'visitor', id: 'vis_1' };
  await store.erasures.begin(erasure, scene.nowMs);
  failsAfter = 1;
  await t.rejects(store.erasures.eraseSession(erasure, session.id));
  failsAfter = Infinity;
  t.equal(await store.sessions.read(scene.workspaceId, session.id), null, 'nobody finds the session any more');
  t.same(await store.erasures.unfinished(), [erasure]);
  await store.close();

  const next = new EmbeddedStore(engine);
  await next.open(Date.now());
  // The visitor has no session any more: the end of the erasure removes the rest of the one that was cut.
  t.same(await next.erasures.finish(erasure), { ...nothingErased, sessions: 1, messages: 2500 });
  t.same(
    [...engine.range('', '~', false)].map(([key]) => key).filter((key) => key.includes(session.id)),
    [],
  );
  t.same(await next.erasures.unfinished(), []);
  await next.close();
});
