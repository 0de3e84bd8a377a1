/**
 * A Redis that evicts takes keys away when its memory is full: it is refused at the start, and makes a store that is
 * open unready (contract 11).
 */
import t from 'tap';
import { Eviction, redisPolicyMs } from '../../src/store/redis/eviction.ts';
import type { RedisLink } from '../../src/store/redis/link.ts';
import { RedisTarget } from '../../src/store/redis/load.ts';
import type { RedisReply } from '../../src/store/redis/reply.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { Scene } from './fixtures.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';
import { PatientClock, openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const evicting = [
  'allkeys-lru',
  'allkeys-lfu',
  'allkeys-random',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'volatile-ttl',
];
const says = (policy: string) => ({
  message: `Redis evicts keys (maxmemory-policy ${policy}) and would lose acknowledged writes: set maxmemory-policy noeviction.`,
});

/** Whether it is ready, asked until it is as wanted. */
async function becomes(store: Store, ready: boolean): Promise<Error | null> {
  for (;;) {
    const trouble = await store.ping().then(
      () => null,
      (error: Error) => error,
    );
    if ((trouble === null) === ready) return trouble;
  }
}

t.test('the store refuses every eviction policy but noeviction, with any maxmemory', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const { store, dispose } = await openStore(server.url);
  t.teardown(dispose);
  for (const maxmemory of ['0', '1gb']) {
    for (const policy of evicting) {
      await server.command('CONFIG', 'SET', 'maxmemory', maxmemory, 'maxmemory-policy', policy);
      for (const allowVolatile of [false, true])
        await t.rejects(openStore(server.url, { allowVolatile }), says(policy));
      const clock = new PatientClock();
      await t.rejects(
        new RedisTarget(server.url, { clock, allowVolatile: true }).open(),
        says(policy),
        'nor is anything imported into it',
      );
      clock.stop();
      const trouble = await store.ping().then(
        () => null,
        (error: Error) => error,
      );
      t.ok(trouble instanceof StoreUnavailable);
      t.match(trouble, says(policy));
      await t.resolves(new Scene(store, Date.now()).created(), 'what is asked is answered all the same');
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await t.resolves(store.ping());
      await (await openStore(server.url)).dispose();
    }
  }
});

t.test(
  'where CONFIG may not be asked, INFO tells; where neither may, the operator answers for it',
  { skip },
  async (t) => {
    const renamed = await RedisServer.start(...appendOnly, '--rename-command', 'CONFIG', '');
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => Promise.all([renamed.stop(), server.stop()]));
    const host = server.url.slice('redis://'.length);
    await server.command('ACL', 'SETUSER', 'managed', 'on', '>pw', '~*', '&*', '+@all', '-config');
    await server.command('ACL', 'SETUSER', 'blind', 'on', '>pw', '~*', '&*', '+@all', '-config', '-info');
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const [managed, blind] = [`redis://managed:pw@${host}`, `redis://blind:pw@${host}`];
    await t.rejects(openStore(managed), { message: /CONFIG GET appendonly/ });
    await t.rejects(openStore(managed, { allowVolatile: true }), says('allkeys-lru'));
    await (await openStore(blind, { allowVolatile: true })).dispose();
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    for (const url of [managed, blind, renamed.url]) {
      const { store, dispose } = await openStore(url, { allowVolatile: true });
      await t.resolves(store.ping());
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      if (url === managed) await t.rejects(store.ping(), says('allkeys-lru'));
      await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await t.resolves(store.ping());
      await dispose();
    }
  },
);

t.test('the store refuses an evicting policy on any primary of a cluster', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const { store, dispose } = await openStore(cluster.url);
  t.teardown(dispose);
  const primaries = await cluster.primaries();
  for (const [index, server] of primaries.entries()) {
    const policy = evicting[index]!;
    await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
    await t.rejects(openStore(cluster.url), says(policy));
    t.match(await becomes(store, false), says(policy));
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await becomes(store, true);
    await server.command('CONFIG', 'SET', 'appendonly', 'no');
    await t.rejects(openStore(cluster.url), { message: /append-only file/ }, 'and as volatile');
    await server.command('CONFIG', 'SET', 'appendonly', 'yes');
  }

  // A replica that is set otherwise harms nothing until it is the primary.
  const [old] = primaries as [RedisServer];
  const [replica] = (await cluster.replicasOf(old)) as [RedisServer];
  await replica.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl');
  await t.resolves(store.ping());
  await old.kill();
  t.match(await becomes(store, false), { message: /volatile-ttl|could not answer|in time/ });
  await cluster.until(async () => (await cluster.primaries()).includes(replica));
  for (let trouble = await becomes(store, false); !/volatile-ttl/.test(trouble!.message);)
    trouble = await becomes(store, false);
  await replica.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await becomes(store, true);
});

t.test('a hanging primary leaves the readiness of the others visible', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const { store, dispose } = await openStore(cluster.url);
  t.teardown(dispose);
  await store.ping();
  const registry = await cluster.primaryOf('registry');
  const hung = (await cluster.primaries()).find((server) => server !== registry)!;
  hung.signal('SIGSTOP');
  await t.resolves(store.ping());
  await hung.kill();
});

t.test('a primary that does not answer is waited for once, and for a moment later', async (t) => {
  const clock = new ManualClock();
  const answers: ((reply: RedisReply) => void)[] = [];
  const ask = (): Promise<RedisReply> => new Promise((resolve) => answers.push(resolve));
  const eviction = new Eviction({ primaries: () => [ask] } as unknown as RedisLink, clock);
  const answered = (policy: string): void =>
    answers.splice(0).forEach((answer) => answer(['maxmemory-policy', policy].map((word) => Buffer.from(word))));
  const first = eviction.refuse();
  clock.advance(redisPolicyMs);
  answered('noeviction');
  await t.resolves(first);
  const second = eviction.refuse();
  clock.advance(redisPolicyMs);
  await t.resolves(second, 'what was known last counts');
  answered('allkeys-lru');
  await new Promise(setImmediate);
  const third = eviction.refuse();
  clock.advance(redisPolicyMs);
  await t.rejects(third, says('allkeys-lru'));
});
