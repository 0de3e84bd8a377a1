/** A primary of the cluster killed under load: much may be refused and little may be lost, but nothing may be mixed. */
import t from 'tap';
import { ids, Scene, snapshot } from './fixtures.ts';
import { RedisCluster, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';
import { Speaker } from './speakers.ts';

const skip = whyNoRedis() ?? false;

t.test('a cluster', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());

  await t.test('a replicated step is acknowledged by primary and replica', async (t) => {
    const { store, dispose } = await openStore(cluster.url, { durability: 'replicated' });
    t.teardown(dispose);
    const turn = await new Scene(store, Date.now()).streaming();
    await turn.append(0, 'abc');
    t.same(await store.turns.finish(turn.finishStep({ session: { ...turn.step.session, machine: snapshot('open') } })), { outcome: 'finished', version: 3 });
    t.equal(await store.turns.output(turn.place), 'abc');
  });

  await t.test('a look at the cluster that finds nobody for a slot is not the last one', async (t) => {
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
    const creates = (to: Scene): Promise<boolean[]> =>
      Promise.all(stores.map(({ store }) => store.sessions.create(to.createStep()).then(() => true, () => false)));
    t.same(await creates(scene), [true, true]);
    const killed = await cluster.primaryOf(elsewhere.workspaceId);
    const slot = await home.command('CLUSTER', 'KEYSLOT', `{${scene.workspaceId}}`);
    await killed.kill();
    for (const server of cluster.servers) if (server !== killed) await server.command('CLUSTER', 'DELSLOTS', slot);
    // Both clients have looked at the cluster once they know who has the dead server's slots.
    const [first, second] = stores.map(({ store }) => store);
    while (!(await first!.sessions.read(elsewhere.workspaceId, ids.make('ses')).then(() => true, () => false)));
    await killed.run();
    while (!(await second!.sessions.create(elsewhere.createStep()).then(() => true, () => false)));
    await home.command('CLUSTER', 'ADDSLOTS', slot);
    let tries = 0;
    while (!(await creates(scene)).every(Boolean)) if (++tries === 20) return t.fail('the slot is not found again');
    while (!(await cluster.settled().catch(() => false)));
  });

  await t.test('a primary is killed', async (t) => {
    const { store, dispose } = await openStore(cluster.url);
    t.teardown(dispose);
    const speakers = Array.from({ length: 24 }, () => new Speaker(store));
    let ended = false;
    const all = Promise.all(speakers.map((speaker) => speaker.speak(() => ended)));
    const spoken = (): boolean => speakers.every(({ acknowledged }) => acknowledged > 2);
    while (!spoken()) await store.ping();
    await (await cluster.primaries())[0]!.kill();
    // Every speaker is heard again: those whose shard was lost as well.
    const troubles = ({ refused, failed }: Speaker): number => refused + failed;
    const counts = speakers.map((speaker) => ({ acknowledged: speaker.acknowledged, troubles: troubles(speaker) }));
    const again = (): boolean => speakers.some((speaker, index) => troubles(speaker) > counts[index]!.troubles) && speakers.every(({ session, acknowledged }, index) => session !== null && acknowledged > counts[index]!.acknowledged);
    const killedAt = performance.now();
    while (!again()) await store.ping().catch(() => {});
    t.comment(`all speak again after ${Math.round(performance.now() - killedAt)} ms`);
    ended = true;
    await all;
    for (const speaker of speakers) t.same(await speaker.mixed(), []);
    t.comment(`${speakers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)} turns acknowledged, ${speakers.reduce((sum, speaker) => sum + troubles(speaker), 0)} refused`);
  });
});
