/**
 * Slugs on Redis, where a claim and the record that confirms it lie apart: writers that die between the two, and
 * writers at once.
 */
import t, { type Test } from 'tap';
import { createClient } from 'redis';
import { limits } from '../../src/base/limits.ts';
import { loadScripts } from '../../src/store/redis/scripts.ts';
import { SlugTaken, type Assistant, type Store } from '../../src/store/store.ts';
import { assistant, ids } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore, tellingTheTime, toldTheTime } from './redis-stores.ts';

const taken = new SlugTaken('ada');
const named = (slug: string | null, over: Partial<Assistant> = {}): Assistant =>
  assistant(ids.make('wks'), { link: { slug, limits: {}, origins: [] }, ...over });

async function keeping(t: Test, url: string): Promise<void> {
  const client = createClient({ url: url });
  await client.connect();
  t.teardown(() => client.destroy());
  const prefix = `${ids.secret()}:`;
  const { store, dispose } = await openStore(url, { prefix });
  t.teardown(dispose);
  const record = named('kept');
  await store.catalog.create('assistant', record);
  const claims = (await client.keys(`${prefix}*:assistant`)).filter((key) => key.includes('kept'));
  t.equal(claims.length, 1);
  const token = await client.hGet(claims[0]!, 'token');
  t.ok(token);
  t.equal(await store.catalog.replace('assistant', { ...record, name: 'another' }, 1), 2);
  t.equal(await client.hGet(claims[0]!, 'token'), token);
  t.equal(await store.catalog.replace('assistant', { ...record, link: null }, 2), 3);
  await store.catalog.create('assistant', named('kept'));
}

t.test('slugs on Redis are unique', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());

  await t.test('a save that keeps its slug leaves the claim as it is, for a save that gives it up to release', (t) =>
    keeping(t, server.url),
  );

  await t.test('a claim without its record is open to others after a minute, and no earlier', async (t) => {
    const client = createClient({ url: server.url });
    await client.connect();
    t.teardown(() => client.destroy());
    const prefix = `${ids.secret()}:`;
    const nowMs = Date.now();
    await client.set('now', String(nowMs));
    const halfway = loadScripts((source, name) =>
      name === 'create-record' ? "return redis.error_reply('ERR gone')" : tellingTheTime(source),
    );
    const dying = await openStore(server.url, { prefix, scripts: halfway });
    const sound = await openStore(server.url, { prefix, scripts: toldTheTime });
    t.teardown(() => Promise.all([dying.dispose(), sound.dispose()]));

    const [lost, next] = [named('ada'), named('ada')];
    await t.rejects(dying.store.catalog.create('assistant', lost), { message: /gone/ });
    t.equal(await sound.store.catalog.assistantBySlug('ada'), null);
    await client.set('now', String(nowMs + limits.redisStepKeptMs - 1));
    await t.rejects(sound.store.catalog.create('assistant', next), taken, 'its writer may still be on the way');
    await client.set('now', String(nowMs + limits.redisStepKeptMs));
    await sound.store.catalog.create('assistant', next);
    t.equal((await sound.store.catalog.assistantBySlug('ada'))?.record.id, next.id);
    await client.set('now', String(nowMs + 10 * limits.redisStepKeptMs));
    await t.rejects(sound.store.catalog.create('assistant', named('ada')), taken, 'one that a record confirms stands');
  });

  await t.test('whatever many processes do at once, a record has no slug that leads elsewhere', async (t) => {
    const prefix = `${ids.secret()}:`;
    const opened = await Promise.all([1, 2, 3].map(() => openStore(server.url, { prefix })));
    t.teardown(() => Promise.all(opened.map(({ dispose }) => dispose())));
    const stores = opened.map(({ store }) => store);
    const made = Array.from({ length: 4 }, () => named(null));
    for (const record of made) await stores[0]!.catalog.create('assistant', record);
    const slugs = [null, 'ada', 'bob'];
    let refused = 0;
    const write = async ({ catalog }: Store, turn: number): Promise<void> => {
      for (let step = 0; step < 60; step++) {
        const { workspaceId, id } = made[(turn + step * 5) % made.length]!;
        const found = (await catalog.read('assistant', workspaceId, id))!;
        const record = {
          ...found.record,
          name: `${turn} ${step}`,
          link: { ...found.record.link!, slug: slugs[(turn * 7 + step) % slugs.length]! },
        };
        await catalog.replace('assistant', record, found.version).catch((error: Error) => {
          if (!(error instanceof SlugTaken)) throw error;
          refused++;
        });
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map((turn) => write(stores[turn % stores.length]!, turn)));
    t.ok(refused > 0, "they were in each other's way");
    for (const { workspaceId, id } of made) {
      const { record } = (await stores[0]!.catalog.read('assistant', workspaceId, id))!;
      if (record.link!.slug !== null)
        t.equal((await stores[0]!.catalog.assistantBySlug(record.link!.slug))?.record.id, id);
    }
  });
});
