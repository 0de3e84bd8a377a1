/**
 * A Redis that is set to evict while a server runs on it: the server is not ready, serves requests that it still can,
 * and is ready again once that is mended (contract 11).
 */
import t from 'tap';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, openHouse } from './house.ts';
import { begin, refused, synthetic, until } from './talk.ts';

const lacking = whyNoRedis();

t.test(edge, { ...(lacking === null ? {} : { skip: lacking }) }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openHouse(t, {
    env: { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough', PARLEY_LOG: 'warn' },
  });
  const ready = () => house.ask('/readyz', { key: null });
  const assistant = await synthetic(house, 'tokens=3');
  for (const policy of ['allkeys-lru', 'volatile-ttl']) {
    t.equal((await ready()).status, 200);
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', policy);
    const unready = await until(async () => {
      const answer = await ready();
      return answer.status === 200 ? null : answer;
    });
    refused(t, unready, 503, 'api_error');
    t.notMatch(unready.text, /evict|policy|redis/i);
    const { stream } = await begin(house, assistant.id);
    t.equal((await stream.rest()).at(-1)!.event, 'turn.completed');
    t.ok(await until(() => house.stdout().includes(`maxmemory-policy ${policy}`)), 'the log says why');
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await until(async () => (await ready()).status === 200);
  }
});

t.test(
  'a Redis that refuses a write makes the server unready at once',
  { ...(lacking === null ? {} : { skip: lacking }) },
  async (t) => {
    const redis = await RedisServer.start(...appendOnly);
    t.teardown(() => redis.stop());
    const house = await openHouse(t, {
      env: {
        PARLEY_STORE: redis.url,
        PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
        PARLEY_LOG: 'silent',
      },
    });
    const status = async () => (await house.ask('/readyz', { key: null })).status;
    const assistant = await synthetic(house, 'tokens=3');
    const create = () => house.ask('/sessions', { body: { assistant_id: assistant.id } });
    for (let fault = 0; fault < 3; fault++) {
      await until(async () => (await status()) === 200);
      await redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
      refused(t, await create(), 503, 'api_error');
      t.equal(await status(), 503, 'the first look after the refusal');
      await redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '0');
    }
  },
);
