/**
 * The contract on Redis and on Redis Cluster. Redis provides the time, so the cases that set it themselves are left
 * out.
 */
import t from 'tap';
import { cases, runCase } from './contract.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';
import { storesOn, takenTwice } from './redis-stores.ts';

const places = { redis: () => RedisServer.start(...appendOnly), 'redis-cluster': () => RedisCluster.start() };
const skip = whyNoRedis() ?? false;

for (const [name, start] of Object.entries(places)) {
  t.test(name, { skip }, async (t) => {
    const place = await start();
    t.teardown(() => place.stop());
    for (const each of cases.filter(({ callersTime }) => !callersTime)) {
      await t.test(each.name, () => runCase(each, storesOn(place.url)));
    }
  });
}

/** Notices are hints: a stop is announced as often as it is requested. */
const counts = 'who watches hears of stops and of what the console changed, until it stops';

t.test('redis, every step sent twice', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  for (const each of cases.filter(({ callersTime, name }) => !callersTime && name !== counts)) {
    await t.test(each.name, () => runCase(each, storesOn(server.url, { scripts: takenTwice })));
  }
});
