/** Requests that need no key cannot load the store nor slow callers with a key, however many there are. */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { limits } from '../../src/base/limits.ts';
import { RawClient } from '../http/edge/harness.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, openHouse, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { begin, say, synthetic, transcriptOf } from './talk.ts';
import { readyKeptMs } from '../../src/store/readiness.ts';

const skip = whyNoRedis() ?? false;
const secret = 'a-secret-of-the-tests-that-is-long-enough';

async function onRedis(t: Test, env: Record<string, string>): Promise<{ house: House; redis: RedisServer }> {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  return { redis, house: await openHouse(t, { env: { PARLEY_STORE: redis.url, PARLEY_SECRET: secret, ...env } }) };
}

const callsOf = async (redis: RedisServer, name: string): Promise<number> => (await redis.calls()).get(name) ?? 0;

/** All that was sent on other connections before has reached the server. */
async function reached(house: House): Promise<void> {
  for (let round = 0; round < 2; round++) await rawAsk(house.url, '/healthz');
}

t.test(
  'more of `/readyz` than there are calls to Redis wait for one answer, and a caller waits beside them',
  { skip },
  async (t) => {
    // Requests of this engine may follow others on their connection.
    const { house, redis } = await onRedis(t, { PARLEY_EDGE: 'node' });
    const assistant = await synthetic(house, 'tokens=2');
    const pings = await callsOf(redis, 'set');
    const stoppedAt = performance.now();
    redis.signal('SIGSTOP');
    const [clients, each] = [100, 105];
    const crowd = await Promise.all(
      Array.from({ length: clients }, async () => {
        const client = new RawClient(Number(new URL(house.url).port));
        await client.send('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(each));
        return client;
      }),
    );
    await reached(house);
    const created = house.ask('/sessions', { body: { assistant_id: assistant.id } });
    await reached(house);
    redis.signal('SIGCONT');
    const { status } = await created;
    // A machine that took longer than a call to Redis may take has abandoned the call.
    const isInTime = performance.now() - stoppedAt < limits.redisCallMs;
    t.ok(status === 201 || (!isInTime && status === 503), `a caller is answered ${status}`);
    for (const client of crowd) {
      while ((client.text.match(/HTTP\/1\.1 (?:200|503) /g) ?? []).length < each) await once(client.socket, 'data');
      client.destroy();
    }
    const asked = (await callsOf(redis, 'set')) - pings;
    // The requests of a connection run one after another; an answer is kept for a while, which ends a few times on a
    // slow machine.
    t.ok(asked >= 1 && asked <= 100, `${asked} pings for ${clients * each} questions`);
  },
);

t.test(`${edge}: a flood costs the store next to nothing, and turns run on in it`, { skip }, async (t) => {
  const { house, redis } = await onRedis(t, { PARLEY_EDGE: edge });
  const assistant = await synthetic(house, 'tokens=20,delay_ms=10');
  await (await begin(house, assistant.id)).stream.rest();
  const [before, startedAt] = [await redis.calls(), performance.now()];
  const texts = await flood(t, house);
  const [after, tookMs] = [await redis.calls(), performance.now() - startedAt];
  // The bound depends on the flood's duration, which is long on a slow machine.
  const scrapesMax = limits.scrapesFreshMax + 1 + tookMs / limits.scrapeKeptMs;
  t.ok(texts.size <= scrapesMax, `${texts.size} scrapes for ${times}, ${Math.floor(scrapesMax)} are allowed`);
  const more = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const pingsMax = 1 + tookMs / readyKeptMs;
  t.ok(more('set') <= pingsMax, `${more('set')} pings for ${times}, ${Math.floor(pingsMax)} are allowed`);
  // The store is searched at intervals for the remains of other processes.
  const stepsMax = 10 + tookMs / limits.orphansMs;
  t.ok(
    more('evalsha') <= stepsMax,
    `${more('evalsha')} steps for ${paths.length * times}, ${Math.floor(stepsMax)} are allowed`,
  );

  const flooding = flood(t, house);
  for (let turn = 0; turn < 5; turn++) {
    const { id } = await house.session(assistant.id);
    const streams = [
      await say(house, id),
      ...(await Promise.all([begin(house, assistant.id), begin(house, assistant.id)])).map(({ stream }) => stream),
    ];
    for (const stream of streams) t.equal((await stream.rest()).at(-1)?.event, 'turn.completed');
    t.equal((await transcriptOf(house, id)).at(-1).status, 'completed');
  }
  await flooding;
});

/** Requests for each path, and requests at a time. */
const times = 80;
const abreast = 40;

const json = { 'content-type': 'application/json' };
/** Paths with the statuses that may answer: failed authentications are throttled. */
const paths: readonly (readonly [
  path: string,
  statuses: readonly number[],
  init?: Readonly<{ method: string; headers: Readonly<Record<string, string>>; body: string }>,
])[] = [
  // A machine on which a ping takes longer than a probe waits answers 503 meanwhile.
  ['/readyz', [200, 503]],
  ['/metrics', [200]],
  ['/healthz', [200]],
  ['/openapi.json', [200]],
  ['/asyncapi.json', [200]],
  ['/nowhere', [404]],
  ['/assistants', [401, 429]],
  [
    '/sessions',
    [401, 429],
    { method: 'POST', headers: { ...json, 'x-api-key': 'ak_none' }, body: '{"assistant_id":"asst_none"}' },
  ],
];

/** Resolves with the different texts that `/metrics` gave. */
async function flood(t: Test, house: House): Promise<Set<string>> {
  const texts = new Set<string>();
  const asks = Array.from({ length: times }, () => paths).flat();
  const statuses = new Map<string, Set<number>>();
  // `fetch` takes more CPU time for an answer than the server does.
  const agent = new Agent({ keepAlive: true, maxSockets: abreast });
  const client = async (): Promise<void> => {
    for (let next = asks.pop(); next !== undefined; next = asks.pop()) {
      const [path, , { body, ...init } = { method: 'GET', headers: {}, body: '' }] = next;
      const asked = request(house.url + path, { ...init, agent }).end(body);
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      if (path === '/metrics') texts.add(await textOf(answer));
      else await once(answer.resume(), 'end');
      statuses.set(path, (statuses.get(path) ?? new Set()).add(answer.statusCode!));
    }
  };
  await Promise.all(Array.from({ length: abreast }, client));
  agent.destroy();
  for (const [path, allowed] of paths)
    t.ok(
      [...statuses.get(path)!].every((status) => allowed.includes(status)),
      `${path}: ${[...statuses.get(path)!].join()}`,
    );
  return texts;
}
