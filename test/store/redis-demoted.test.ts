/**
 * A failover that keeps the connections open: the server that is a replica now answers on them, and the address leads
 * to another one.
 */
import t, { type Test } from 'tap';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { until } from '../api/talk.ts';
import { Way } from '../faults/way.ts';
import { Scene } from './fixtures.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;

/** Whether a write is answered, and not refused. */
const writes = (store: Store): Promise<boolean> =>
  new Scene(store, Date.now()).created().then(
    () => true,
    (error: unknown) => {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    },
  );

const follows = async (server: RedisServer): Promise<boolean> =>
  (await server.command('INFO', 'replication')).includes('master_link_status:up');

const offsetOf = async (server: RedisServer): Promise<string | undefined> =>
  /^master_repl_offset:(\d+)/m.exec(await server.command('INFO', 'replication'))?.[1];

/** Waits until the replica has all of its primary: with `committed` an acknowledged step may be lost before that. */
const caughtUp = (primary: RedisServer, replica: RedisServer): Promise<true> =>
  until(async () => (await offsetOf(primary)) === (await offsetOf(replica)));

/** A primary with a replica, and a way that leads to whichever is meant to be the primary. */
async function pair(t: Test): Promise<{ one: RedisServer; two: RedisServer; way: Way; url: string }> {
  const [one, two] = await Promise.all([
    RedisServer.start(...appendOnly, '--repl-diskless-sync-delay', '0'),
    RedisServer.start(...appendOnly),
  ]);
  t.teardown(() => Promise.all([one.stop(), two.stop()]));
  await two.command('REPLICAOF', '127.0.0.1', String(one.port));
  await until(() => follows(two));
  const way = await Way.open(t, one.port);
  return { one, two, way, url: `redis://127.0.0.1:${way.port}` };
}

for (const durability of ['committed', 'replicated'] as const) {
  t.test(`a client leaves a server that became a replica, ${durability}`, { skip }, async (t) => {
    const { one, two, way, url } = await pair(t);
    const { store, dispose } = await openStore(url, { durability });
    t.teardown(dispose);
    const scene = new Scene(store, Date.now());
    const session = await scene.created();
    const heard: string[] = [];
    await store.watch(({ type }) => void heard.push(type));
    await caughtUp(one, two);
    await two.command('REPLICAOF', 'NO', 'ONE');
    await one.command('REPLICAOF', '127.0.0.1', String(two.port));
    await until(() => follows(one));
    t.equal(await writes(store), false, 'the replica refuses writes');
    way.lead(two.port);
    await until(() => writes(store));
    await store.ping();
    t.ok(await store.sessions.read(scene.workspaceId, session.id), 'nothing is lost');
    // A replica hands on what its primary publishes; once it is nobody's replica it would not.
    await one.command('REPLICAOF', 'NO', 'ONE');
    if (durability === 'replicated') return;
    const turn = await scene.streaming();
    await until(async () => {
      await store.turns.requestStop(turn.place, 'aborted', scene.nowMs + 600_000, scene.nowMs);
      return heard.includes('turn.stop');
    });
  });
}

t.test('a client leaves a replica that has lost its primary and stays silent', { skip }, async (t) => {
  const { one, two, way, url } = await pair(t);
  const { store, dispose } = await openStore(url);
  t.teardown(dispose);
  t.equal(await writes(store), true);
  await two.command('REPLICAOF', 'NO', 'ONE');
  await one.command('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
  // No server listens on that port.
  await one.command('REPLICAOF', '127.0.0.1', '1');
  t.equal(await writes(store), false);
  way.lead(two.port);
  await until(() => writes(store));
});

t.test('a client follows a cluster whose replica takes over while its primary lives on', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  for (const durability of ['committed', 'replicated'] as const) {
    const { store, dispose } = await openStore(cluster.url, { durability });
    const scene = new Scene(store, Date.now());
    const session = await scene.created();
    const primary = await cluster.primaryOf(scene.workspaceId);
    const [replica] = await cluster.replicasOf(primary);
    await caughtUp(primary, replica!);
    await until(async () => {
      await replica!.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
      return (await replica!.command('ROLE')).startsWith('master');
    });
    await until(() =>
      scene.created().then(
        () => true,
        () => false,
      ),
    );
    t.ok(await store.sessions.read(scene.workspaceId, session.id));
    await dispose();
    await until(() => cluster.settled().catch(() => false));
  }
});
