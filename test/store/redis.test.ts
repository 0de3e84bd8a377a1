/** The contract on Redis and on Redis Cluster. Redis tells the time, so the cases that tell it themselves are left out. */
import t from 'tap';
import { cases, runCase } from './contract.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';
import { storesOn } from './redis-stores.ts';

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
