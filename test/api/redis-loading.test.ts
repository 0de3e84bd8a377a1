/** A server that starts while Redis still reads its data waits for it, and says so. */
import t, { type Test } from 'tap';
import { RedisCluster, RedisServer, appendOnly, whyNoRedis } from '../store/redis-server.ts';
import { openHouse } from './house.ts';
import { until } from './talk.ts';

const skip = whyNoRedis() ?? false;

/** Redis takes a tenth of a second for each key that it reads, and answers its clients between two keys. */
const slowly = [
  '--key-load-delay',
  '100000',
  '--loading-process-events-interval-bytes',
  '1024',
  '--rdbcompression',
  'no',
];
const valueBytes = 2000;
/** Enough that reading them all would outlast the test. */
const keysCount = 3000;

const facts = (server: RedisServer, section: string): Promise<string> => server.command('INFO', section);

/**
 * Starts Redis servers that take their time to read their data again, and a server of ours on them; they hurry once it
 * has said that it waits.
 */
async function startsOn(t: Test, servers: readonly RedisServer[], url: string): Promise<void> {
  for (const server of servers) {
    // The file's first part is a snapshot: in it the server looks after its clients between two keys.
    await server.command('BGREWRITEAOF');
    await until(async () =>
      /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(await facts(server, 'persistence')),
    );
  }
  for (const server of servers) await server.kill();
  for (const server of servers) server.launch();
  for (const server of servers)
    await until(() =>
      facts(server, 'persistence').then(
        (answer) => answer.includes('loading:1'),
        () => false,
      ),
    );
  let output = '';
  const house = openHouse(t, {
    env: { PARLEY_STORE: url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough', PARLEY_LOG: 'info' },
    onOutput: (text) => (output += text),
  });
  await Promise.race([
    house,
    until(() => output.includes('"msg":"Redis is still reading its data: the server starts when that is done"')),
  ]);
  t.notMatch(output, 'parley listens', 'it does not start before Redis has read its data');
  for (const server of servers) await server.command('CONFIG', 'SET', 'key-load-delay', '0');
  const { ask } = await house;
  t.ok(await until(async () => (await ask('/readyz', { key: null })).status === 200));
}

t.test('a server waits for a single Redis that reads its data', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly, ...slowly);
  t.teardown(() => server.stop());
  await server.command('DEBUG', 'POPULATE', String(keysCount), 'other', String(valueBytes));
  await startsOn(t, [server], server.url);
});

t.test('a server waits for a Redis Cluster that reads its data', { skip }, async (t) => {
  const cluster = await RedisCluster.start(1_000, slowly);
  t.teardown(() => cluster.stop());
  for (const server of await cluster.primaries()) await fill(server);
  await until(() => cluster.settled());
  await startsOn(t, cluster.servers, cluster.url);
});

const filling = `for index = 1, ${keysCount} do redis.call('SETRANGE', KEYS[1] .. index, ${valueBytes}, 'x') end return 'OK'`;

/** Puts the keys into any slot that the server has. */
async function fill(server: RedisServer): Promise<void> {
  for (let tag = 0; (await server.command('EVAL', filling, '1', `{${tag}}`)) !== 'OK'; tag++);
}
