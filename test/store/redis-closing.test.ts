/** A closed client leaves no connection to Redis; one that is left keeps its process alive. */
import t from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { connectOnce } from '../../src/store/redis/connection/client.ts';
import { connectCluster } from '../../src/store/redis/connection/cluster.ts';
import { connectSingle } from '../../src/store/redis/connection/single.ts';
import { until } from '../api/talk.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';

const skip = whyNoRedis() ?? false;
const isDown = ['EVAL', "return redis.error_reply('CLUSTERDOWN The cluster is down')", '1', 'key'];

/** Resolves when no client but its own question is connected to any of the servers. */
async function noneConnected(servers: readonly RedisServer[]): Promise<void> {
  await until(async () => {
    const lists = await Promise.all(servers.map((server) => server.command('CLIENT', 'LIST', 'TYPE', 'normal')));
    return lists.every((list) =>
      list
        .trim()
        .split('\n')
        .every((line) => line.includes('cmd=client|list')),
    );
  });
}

t.test('a client of one server that is closed while it connects leaves no connection', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const once = connectOnce(server.url);
  const opening = once.open();
  once.close();
  await t.rejects(opening);
  const connection = connectSingle(server.url);
  const answers: Promise<unknown>[] = [connection.open(), connection.sendConfirmed('key', ['SET', 'key', '1'])];
  await connection.close();
  for (const answer of answers) await t.rejects(answer);
  await noneConnected([server]);
  t.pass('the server has lost its clients');
});

t.test('a client that is closed while it opens a cluster leaves no connection', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const connection = connectCluster(cluster.url, new WheelClock());
  const opening = connection.open().catch(() => {});
  await connection.close();
  await opening;
  await noneConnected(cluster.servers);
  t.pass('each server has lost its client');
});

t.test('a client that is closed while it reads the map of a cluster leaves no connection', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  // A connection that a closed client leaves reaches its server while a later client works.
  for (let round = 0; round < 5; round++) {
    const connection = connectCluster(cluster.url, new WheelClock());
    await connection.open();
    await t.rejects(connection.send('key', isDown), { message: /^CLUSTERDOWN/ }, 'the client reads the map now');
    await connection.close();
  }
  await noneConnected(cluster.servers);
  t.pass('each server has lost its client');
});

t.test('a client that does not wait for a silent server at its end leaves no connection', { skip }, async (t) => {
  const cluster = await RedisCluster.start(60_000);
  t.teardown(() => cluster.stop());
  const clock = new ManualClock();
  const connection = connectCluster(cluster.url, clock);
  await connection.open();
  const servers = await cluster.primaries();
  for (const server of servers) server.signal('SIGSTOP');
  const closing = connection.close();
  clock.advance(limits.redisConnectMs);
  await closing;
  for (const server of servers) server.signal('SIGCONT');
  await noneConnected(cluster.servers);
  t.pass('each server has lost its client');
});
