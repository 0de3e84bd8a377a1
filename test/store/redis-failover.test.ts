/**
 * Steps on a cluster: waited for, redirected, and over a primary that is killed under load (the other durabilities:
 * `npm run faults -- --promise P4`).
 */
import t from 'tap';
import { failover } from '../../bench/failover.ts';
import { StoreRefused } from '../../src/store/store.ts';
import { ids, Scene, snapshot } from './fixtures.ts';
import { RedisCluster, type RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;

t.test('a cluster keeps every write in a failover', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());

  await t.test('a member is no single Redis', async (t) => {
    const refusal = new StoreRefused(
      'This Redis is a member of a cluster: its address begins with redis-cluster:// or rediss-cluster://.',
    );
    for (const { url } of cluster.servers) await t.rejects(openStore(url), refusal);
  });

  await t.test('a replicated step is acknowledged by primary and replica', async (t) => {
    const { store, dispose } = await openStore(cluster.url, { durability: 'replicated' });
    t.teardown(dispose);
    const turn = await new Scene(store, Date.now()).streaming();
    await turn.append(0, 'abc');
    t.same(
      await store.turns.finish(turn.finishStep({ session: { ...turn.step.session, machine: snapshot('open') } })),
      { outcome: 'finished', version: 3 },
    );
    t.equal(await store.turns.output(turn.place), 'abc');
  });

  await t.test("a slot without an owner makes the client read the cluster's map again", async (t) => {
    for (const server of cluster.servers) await server.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    const stores = await Promise.all([openStore(cluster.url), openStore(cluster.url, { durability: 'replicated' })]);
    t.teardown(() => Promise.all(stores.map(({ dispose }) => dispose())));
    const scene = new Scene(stores[0].store, Date.now());
    await scene.created();
    const home = await cluster.primaryOf(scene.workspaceId);
    let elsewhere = scene;
    while ((await cluster.primaryOf(elsewhere.workspaceId)) === home) {
      elsewhere = new Scene(stores[0].store, Date.now());
      await elsewhere.created();
    }
    const isTaken = (step: Promise<unknown>): Promise<boolean> =>
      step.then(
        () => true,
        () => false,
      );
    const creates = (to: Scene): Promise<boolean[]> =>
      Promise.all(stores.map(({ store }) => isTaken(store.sessions.create(to.createStep()))));
    t.same(await creates(scene), [true, true]);
    const killed = await cluster.primaryOf(elsewhere.workspaceId);
    const slot = await home.command('CLUSTER', 'KEYSLOT', `{${scene.workspaceId}}`);
    await killed.kill();
    for (const server of cluster.servers) if (server !== killed) await server.command('CLUSTER', 'DELSLOTS', slot);
    // Both clients have looked at the cluster once they know who has the dead server's slots.
    const [first, second] = stores.map(({ store }) => store);
    await cluster.until(() => isTaken(first!.sessions.read(elsewhere.workspaceId, ids.make('ses'))));
    await killed.run();
    await cluster.until(() => isTaken(second!.sessions.create(elsewhere.createStep())));
    await home.command('CLUSTER', 'ADDSLOTS', slot);
    await cluster.until(async () => (await creates(scene)).every(Boolean));
    await cluster.settles();
  });

  await t.test(
    'a primary killed while its replica lags loses, undoes and mixes no text with replicated-output',
    async (t) => {
      const counts = { speakers: 8, clerks: 4 };
      const { acknowledged, failed, refused, firstMs, done, ...found } = await failover(
        cluster,
        'replicated-output',
        300,
        counts,
      );
      t.same(found, { lost: 0, mixed: 0, forgotten: 0, undone: [], isReplaced: true });
      t.ok(acknowledged > 0 && done > 0);
      t.comment(`heard again after ${firstMs} ms; ${acknowledged} turns acknowledged, ${failed + refused} refused`);
    },
  );
});

t.test('who waits for a cluster learns that a server of it has ended', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const [first, second] = cluster.servers as [RedisServer, RedisServer];
  await first.kill();
  await cluster.until(async () => !(await cluster.primaries()).includes(first));
  second.signal('SIGKILL');
  await t.rejects(cluster.settles(), { message: `The Redis on port ${second.port} has ended, and no test killed it.` });
});
