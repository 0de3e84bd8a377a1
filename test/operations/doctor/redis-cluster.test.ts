/** A cluster that loses its members one after the other. */
import t from 'tap';
import { RedisCluster, RedisServer, appendOnly, whyNoRedis } from '../../store/redis-server.ts';
import { SlotMove } from '../../store/slot-move.ts';
import { diagnose, type Diagnosed } from './diagnosis.ts';

const skip = whyNoRedis() ?? false;

const addressOf = ({ port }: RedisServer): string => `127.0.0.1:${port}`;

t.test('doctor examines each node of a cluster', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const examined = (environment: Readonly<Record<string, string>> = {}): Promise<Diagnosed> =>
    diagnose({ PARLEY_STORE: cluster.url, ...environment });
  const replicated = { PARLEY_DURABILITY: 'replicated' };

  await t.test('a replicated cluster passes every check', async (t) => {
    const found = await examined(replicated);
    t.same(found.unwell, []);
    t.equal(found.of('reachable').found, 'all 6 members answer');
    t.equal(found.of('cluster').found, 'state ok, 16384 of 16384 slots served by 3 primaries');
    t.equal(found.of('replicas').found, '1 of 1 in sync');
  });

  await t.test('as a single Redis', async (t) => {
    const found = await diagnose({ PARLEY_STORE: cluster.servers[0]!.url });
    t.match(found.of('kind'), { status: 'fail', advice: /redis-cluster: instead of redis:/ });
  });

  await t.test('one member is set otherwise', async (t) => {
    const [one] = cluster.servers as [RedisServer];
    await one.command('CONFIG', 'SET', 'appendonly', 'no', 'maxmemory', '1gb', 'maxmemory-policy', 'volatile-lru');
    const found = await examined();
    t.same(found.unwell, ['fail eviction', 'fail append-only']);
    t.match(found.of('append-only').found, new RegExp(`^${addressOf(one)}: Redis keeps no append-only file`));
    t.match(found.of('eviction').found, new RegExp(`^${addressOf(one)}: maxmemory-policy volatile-lru`));
    await one.command('CONFIG', 'SET', 'appendonly', 'yes', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  });

  await t.test('a slot is on the move', async (t) => {
    const move = await SlotMove.of(cluster, 'wks_moving');
    await move.open();
    const found = await examined();
    t.same(found.unwell, ['warn slots']);
    t.match(found.of('slots').found, `slot ${move.slot} is being moved`);
    t.match(found.of('slots'), { advice: /--cluster fix/ });
    for (const server of [move.source, move.target]) await move.stable(server);
  });

  const primaries = await cluster.primaries();
  const [first] = primaries as [RedisServer];
  const [, , , follower] = (await first.command('ROLE')).split('\n');
  const replica = cluster.servers.find(({ port }) => String(port) === follower)!;

  await t.test('a replica is gone', async (t) => {
    await replica.kill();
    await first.replies('connected_slaves:0', 'INFO', 'replication');
    const found = await examined();
    t.same(found.unwell, ['warn reachable', 'warn replicas']);
    t.equal(found.of('reachable').found, `Nothing listens on ${addressOf(replica)}.`);
    t.match(found.of('replicas'), {
      found: `${addressOf(first)}: no replica: if this server is lost, so are its slots`,
      advice: /add-node/,
    });
    t.same((await examined(replicated)).unwell, ['warn reachable', 'fail replicas']);
  });

  await t.test('a primary hangs, and dies', async (t) => {
    first.signal('SIGSTOP');
    const hung = await examined();
    t.equal(hung.ok, false);
    t.match(hung.of('reachable').found, `${addressOf(first)} takes connections and did not answer`);
    await first.kill();
    await primaries[1]!.replies('cluster_state:fail', 'CLUSTER', 'INFO');
    const found = await diagnose({ PARLEY_STORE: `redis-cluster://${addressOf(first)},${addressOf(primaries[1]!)}` });
    t.match(found.of('cluster'), {
      status: 'fail',
      found: /^state fail, 1092[123] of 16384 slots served/,
      advice: /--cluster fix/,
    });
    t.equal(found.of('format').status, 'not looked at');
  });
});

t.test('a server that is no cluster, and no server at all', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const url = server.url.replace('redis:', 'redis-cluster:');
  t.match((await diagnose({ PARLEY_STORE: url })).of('kind'), {
    status: 'fail',
    advice: /redis: instead of redis-cluster:/,
  });
  await server.kill();
  t.match((await diagnose({ PARLEY_STORE: `${url},${addressOf(server)}` })).of('reachable'), {
    status: 'fail',
    found: /Nothing listens on/,
  });
});
