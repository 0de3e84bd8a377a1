/**
 * Checks of readiness that are answered as before leave no log line, so that a proxy which asks every second does not
 * fill the log.
 */
import t from 'tap';
import { startServer, type Server } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edges } from './house.ts';
import { openProxy, whyNoProxy } from './proxy.ts';
import { rawAsk } from './raw.ts';
import { lineOf, linesOf, openSupervised, secret } from './supervised.ts';
import { until } from './talk.ts';

/** The statuses of the log's lines about `/readyz`, once the log has all until now. */
async function logged(server: Server): Promise<number[]> {
  const id = (await rawAsk(server.url, '/healthz')).headers.get('x-request-id');
  await until(() => linesOf(server).some(({ request_id: one }) => one === id));
  return linesOf(server)
    .filter(({ route }) => route === '/readyz')
    .map(({ status }) => status);
}

/** Number of checks that the server has answered with 200. */
const answered = async (url: string): Promise<number> =>
  Number(/route="\/readyz",status="200"\} (\d+)/.exec((await rawAsk(url, '/metrics')).text)?.[1] ?? 0);

for (const edge of edges) {
  t.test(`${edge}: a hundred checks are one line, and each is one at debug`, async (t) => {
    for (const [level, lines] of [
      ['info', 1],
      ['debug', 100],
    ] as const) {
      const server = await startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_EDGE: edge, PARLEY_LOG: level } });
      for (let check = 0; check < 100; check++)
        await rawAsk(server.url, '/readyz', { method: check % 2 === 0 ? 'GET' : 'HEAD' });
      t.same(await logged(server), Array(lines).fill(200));
      t.equal(await answered(server.url), 100, 'each is counted');
    }
  });
}

t.test('the checks of haproxy as documented are one line', { skip: whyNoProxy('haproxy') ?? false }, async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_LOG: 'info' } });
  await (await openProxy(t, 'haproxy', [server])).ready();
  const before = await answered(server.url);
  await until(async () => (await answered(server.url)) >= before + 3);
  t.same(await logged(server), [200]);
});

t.test('a store that goes away and comes back is a line each', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const server = await startServer(t, { env: { PARLEY_STORE: redis.url, PARLEY_SECRET: secret, PARLEY_LOG: 'info' } });
  const status = async (): Promise<number> => (await rawAsk(server.url, '/readyz')).status;
  await until(async () => (await status()) === 200);
  redis.signal('SIGSTOP');
  await until(async () => (await status()) === 503);
  t.equal(await status(), 503);
  redis.signal('SIGCONT');
  await until(async () => (await status()) === 200);
  const seen = await logged(server);
  t.same(
    seen.filter((one, index) => one !== seen[index - 1]),
    seen,
    'no two lines say the same',
  );
  t.ok(seen.includes(503) && seen.at(-1) === 200, String(seen));
});

t.test('the management port of several processes keeps the same rule', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openSupervised(t, redis.url, 2, { env: { PARLEY_MANAGEMENT_PORT: '0' } });
  const url = `http://127.0.0.1:${(await lineOf(house, ({ msg }) => msg === 'management port listens')).port}`;
  await until(async () => (await rawAsk(url, '/readyz')).status === 200);
  for (let check = 0; check < 20; check++) await rawAsk(url, '/readyz');
  const id = (await rawAsk(url, '/healthz')).headers.get('x-request-id');
  await lineOf(house, ({ request_id: one }) => one === id);
  t.equal(linesOf(house).filter(({ route, status }) => route === '/readyz' && status === 200).length, 1);
});
