/**
 * An address that Redis does not take is a wrong setting: one line that names it, and exit code 2 (contract 11).
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { StoreRefused } from '../../src/store/store.ts';
import { RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openStore } from '../store/redis-stores.ts';
import { operatorToken, start, type Finished } from './support.ts';

t.test(
  'serve ends with one sentence for an address of Redis that it cannot use',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const redis = await RedisServer.start();
    t.teardown(() => redis.stop());
    const serve = (address: string, more: Readonly<Record<string, string>> = {}): Promise<Finished> =>
      start(t, ['serve'], {
        env: {
          PORT: '0',
          PARLEY_STORE: address,
          PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
          PARLEY_OPERATOR_TOKEN: operatorToken,
          PARLEY_LOG: 'error',
          ...more,
        },
      }).finished;
    const failed = (code: number, line: string): Finished => ({ code, stdout: '', stderr: `parley: ${line}\n` });

    t.same(await serve(`${redis.url}/99`), failed(2, 'PARLEY_STORE: Redis has no database of that number.'));
    const noMember =
      'PARLEY_STORE: This Redis is no member of a cluster: its address begins with redis:// or rediss://.';
    t.same(await serve(redis.url.replace('redis:', 'redis-cluster:')), failed(2, noMember));
    t.same(
      await serve('redis://127.0.0.1:1'),
      failed(1, 'PARLEY_STORE: Redis did not answer in time (ECONNREFUSED).'),
      'it may come yet',
    );

    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const evicting = failed(
      1,
      'PARLEY_STORE: Redis evicts keys (maxmemory-policy allkeys-lru) and would lose acknowledged writes: set maxmemory-policy noeviction.',
    );
    t.same(
      await serve(redis.url, { PARLEY_ALLOW_VOLATILE: '1', PARLEY_PROCESSES: '2' }),
      evicting,
      'of several processes too',
    );
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.teardown(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    const inUse = failed(2, `PORT is ${port}, which is in use on 127.0.0.1. Choose another with --port or PORT.`);
    t.same(
      await serve(redis.url, { PORT: String(port), PARLEY_PROCESSES: '2', PARLEY_ALLOW_VOLATILE: '1' }),
      inUse,
      'of several processes',
    );

    await redis.command('CONFIG', 'SET', 'requirepass', 'pw');
    const host = redis.url.slice('redis://'.length);
    for (const address of [redis.url, `redis://:zzz@${host}`, `redis://nobody:pw@${host}`]) {
      await t.rejects(openStore(address), new StoreRefused('Redis wants another user or password.'), address);
    }
  },
);
