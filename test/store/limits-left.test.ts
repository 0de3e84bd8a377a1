/** Limits beyond the contract: that no row outlives its use, and many processes at once. */
import { createClient } from 'redis';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import type { AskedLimit, Store } from '../../src/store/store.ts';
import { ids, Scene, workspace } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const [hour, day] = [3_600_000, 86_400_000];

const takeAll = async (store: Store, workspaceId: string, nowMs: number): Promise<void> => {
  for (let visitor = 0; visitor < 5; visitor++) {
    const asked: AskedLimit[] = [
      { kind: 'bucket', name: 'address', ceiling: 120, periodMs: hour, cost: 1 },
      { kind: 'counter', name: `messages/vis_${visitor}`, ceiling: 100, periodMs: day, cost: 1 },
      { kind: 'place', name: 'visitors', ceiling: 25, holder: `vis_${visitor}`, untilMs: nowMs + 1000 * (9 - visitor) },
    ];
    await store.limits.take({ workspaceId, asked, nowMs });
  }
};

t.test(
  'a sweep takes the rows of limits that change no answer any more, and a removed workspace takes its own',
  async (t) => {
    const engine = new MemoryEngine();
    const store = new EmbeddedStore(engine);
    const nowMs = Date.now() - (Date.now() % day) + day / 2;
    await store.open(nowMs);
    t.teardown(() => store.close());
    const { workspaceId } = new Scene(store, nowMs);
    const rows = (): number =>
      [...engine.range('', '\x7f', false)].filter(([key]) => key.startsWith('limit/') || key.startsWith('memory-end/'))
        .length;
    await takeAll(store, workspaceId, nowMs);
    t.equal(rows(), 22, 'a bucket, five counters, five places, and when each ends');
    await store.sweep(nowMs + 5000, 100);
    t.equal(rows(), 20, 'the first place');
    await store.sweep(nowMs + (5 * hour) / 120, 100);
    t.equal(rows(), 10, 'all places and the bucket, which is full');
    await store.sweep(nowMs + day / 2, 100);
    t.equal(rows(), 0, 'at midnight the counters');

    await store.catalog.create('workspace', workspace({ id: workspaceId }));
    await takeAll(store, workspaceId, nowMs);
    await store.catalog.remove('workspace', workspaceId, workspaceId);
    t.equal([...engine.range('limit/', 'limit0', false)].length, 0);
  },
);

t.test('on Redis every key of a limit has an end', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const { store, dispose } = await openStore(server.url);
  const client = createClient({ url: server.url });
  await client.connect();
  t.teardown(async () => {
    client.destroy();
    await dispose();
  });
  await takeAll(store, ids.make('wks'), Date.now());
  const names = await client.keys('*:limit:*');
  t.equal(names.length, 12, 'a bucket, five counters, the places, and the seats of each holder');
  for (const name of names) {
    const left = await client.pTTL(name);
    const lasts = name.endsWith('address') ? (5 * hour) / 120 : name.includes('visitors') ? 9000 : day;
    t.ok(left > 0 && left <= lasts + limits.redisStepKeptMs, `${name}: ${left}`);
  }
});

t.test(
  'many processes that ask at once pass exactly as often as there is room',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    const prefix = `${ids.secret()}:`;
    const opened = await Promise.all([1, 2, 3].map(() => openStore(server.url, { prefix })));
    t.teardown(() => Promise.all(opened.map(({ dispose }) => dispose())));
    const [workspaceId, nowMs] = [ids.make('wks'), Date.now()];
    const ask = async ({ store }: (typeof opened)[number], index: number): Promise<boolean> => {
      const asked: AskedLimit[] = [
        { kind: 'counter', name: 'messages', ceiling: 40, periodMs: day, cost: 1 },
        { kind: 'place', name: 'visitors', ceiling: 25, holder: `vis_${index % 60}`, untilMs: nowMs + hour },
      ];
      return (await store.limits.take({ workspaceId, asked, nowMs })).every(({ passed }) => passed);
    };
    const passed = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        ask(opened[index % 3]!, index).then((passes) => (passes ? index % 60 : null)),
      ),
    );
    const visitors = passed.filter((each) => each !== null);
    t.equal(visitors.length, 40, 'as many messages as the counter lets through');
    t.equal(new Set(visitors).size, 25, 'from as many visitors as there are places');
  },
);
