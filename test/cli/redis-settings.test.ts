/** An address that Redis does not take is a wrong setting: one line that names it, and exit code 2 (contract 11 and 12). */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { createClient } from 'redis';
import { RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { operatorToken, run } from './support.ts';

t.test('addresses of Redis', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start();
  t.teardown(() => redis.stop());
  const client = await createClient({ url: redis.url }).connect();
  const start = async (address: string): Promise<{ code: number | null; stderr: string }> => {
    const { code, stderr } = await run(t, ['serve', '--port', '0'], { env: { PARLEY_STORE: address, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough', PARLEY_OPERATOR_TOKEN: operatorToken } });
    return { code, stderr };
  };
  const host = redis.url.slice('redis://'.length);
  t.same(await start(`${redis.url}/99`), { code: 2, stderr: 'parley: PARLEY_STORE: Redis has no database of that number.\n' });
  await client.configSet('requirepass', 'pw');
  for (const address of [redis.url, `redis://:zzz@${host}`, `redis://nobody:pw@${host}`]) {
    t.same(await start(address), { code: 2, stderr: 'parley: PARLEY_STORE: Redis wants another user or password.\n' });
  }
  await client.configSet('requirepass', '');
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const several = { PORT: String(port), PARLEY_PROCESSES: '2', PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough', PARLEY_OPERATOR_TOKEN: operatorToken, PARLEY_ALLOW_VOLATILE: '1', PARLEY_LOG: 'error' };
  const inUse = { code: 2, stdout: '', stderr: `parley: PORT is ${port}, which is in use on 127.0.0.1. Choose another with --port or PORT.\n` };
  t.same(await run(t, ['serve'], { env: several }), inUse, 'of several processes');
  client.destroy();
  t.same(await start('redis://127.0.0.1:1'), { code: 1, stderr: 'parley: PARLEY_STORE: Redis did not answer in time (ECONNREFUSED).\n' }, 'it may come yet');
});
