/** A primary of the cluster killed under load: much may be refused and little may be lost, but nothing may be mixed. */
import t from 'tap';
import { Scene, snapshot } from './fixtures.ts';
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
    t.same(await store.finishTurn(turn.finishStep({ session: { ...turn.step.session, machine: snapshot('open') } })), { outcome: 'finished', version: 3 });
    t.equal(await store.output(turn.place), 'abc');
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
