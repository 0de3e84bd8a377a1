/** Unknown keys and slugs: looked up once in a while, however often they are sent. */
import t, { type Test } from 'tap';
import { createKey } from '../../src/http/console/keys.ts';
import type { Ids } from '../../src/base/ids.ts';
import { makeKey } from '../../src/access/keys.ts';
import { limits } from '../../src/base/limits.ts';
import type { Services } from '../../src/conversation/services.ts';
import type { Steps } from '../../src/store/steps.ts';
import type { Store } from '../../src/store/store.ts';
import { ids } from '../store/fixtures.ts';
import { Scene, withSteps } from './scene.ts';
import { unknownMax } from '../../src/host/look-ups.ts';

/** A scene that counts how often its store is asked for a key. */
async function counting(): Promise<{ scene: Scene; asked: () => number; store: Store }> {
  const scene = await Scene.open();
  const { store } = scene;
  let count = 0;
  const keyByPublicId: Steps['catalog.keyByPublicId'] = (publicId) => (count++, store.catalog.keyByPublicId(publicId));
  return {
    scene: scene.beside(withSteps(store, { 'catalog.keyByPublicId': keyByPublicId })),
    asked: () => count,
    store,
  };
}

const isUnknown = (t: Test, { host }: Scene, text: string) =>
  t.rejects(async () => host.keys.authenticate(text), { code: 'invalid_api_key' });

/** Makes the same key each time. */
const fixed: Ids = { ...ids, make: (prefix) => `${prefix}_${'7'.repeat(26)}`, secret: () => 's'.repeat(32) };

/** Caller and head of the operator's requests. */
const operatorRequest = {
  caller: { by: { kind: 'operator', id: 'operator', name: 'operator' }, grant: { role: 'owner', workspaceId: null } },
  head: { remoteAddress: '127.0.0.1' },
};

const creates = async ({ host, store, clock, workspaceId }: Scene): Promise<string> => {
  const services = { host, store, clock, ids: fixed, config: { trustedProxies: [] } } as unknown as Services;
  const request = { ...operatorRequest, params: { w: workspaceId }, body: { name: 'k' }, services };
  const reply = await createKey(request as never);
  return (reply as { json: { key: string } }).json.key;
};

t.test('an unknown key is looked up once a second', async (t) => {
  const { scene, asked } = await counting();
  const { text } = makeKey(ids);
  for (let time = 0; time < 5; time++) await isUnknown(t, scene, text);
  t.equal(asked(), 1);
  await isUnknown(t, scene, makeKey(ids).text);
  t.equal(asked(), 2, 'each key for itself');
  scene.clock.advance(limits.unknownMs - 1);
  await isUnknown(t, scene, text);
  t.equal(asked(), 2);
  scene.clock.advance(1);
  await isUnknown(t, scene, text);
  t.equal(asked(), 3);
});

t.test('concurrent requests share a look-up, also of a known key', async (t) => {
  const { scene, asked } = await counting();
  const { text } = makeKey(ids);
  await Promise.all([1, 2, 3].map(() => isUnknown(t, scene, text)));
  t.equal(asked(), 1);
  const key = await creates(scene);
  const actors = await Promise.all([1, 2, 3].map(() => scene.host.keys.authenticate(key)));
  t.equal(new Set(actors).size, 1);
  t.equal(asked(), 2);
});

t.test('a bounded number of unknown keys is remembered, the newest', async (t) => {
  const { scene, asked } = await counting();
  const texts = Array.from({ length: unknownMax + 1 }, () => makeKey(ids).text);
  for (const text of texts)
    await Promise.resolve()
      .then(() => scene.host.keys.authenticate(text))
      .catch(() => {});
  t.equal(asked(), texts.length);
  await isUnknown(t, scene, texts.at(-1)!);
  await isUnknown(t, scene, texts.at(-unknownMax / 2)!);
  t.equal(asked(), texts.length);
  await isUnknown(t, scene, texts[0]!);
  t.equal(asked(), texts.length + 1);
});

t.test('a key is known as soon as it is created', async (t) => {
  const { text } = makeKey(fixed);
  await t.test('a key created in this process is found at once', async (t) => {
    const { scene } = await counting();
    await isUnknown(t, scene, text);
    t.equal(await creates(scene), text);
    t.equal((await scene.host.keys.authenticate(text)).record.name, 'k');
  });
  await t.test('created by another process, which says so', async (t) => {
    const { scene, store } = await counting();
    const here = scene.beside(withSteps(store, { leaseMs: limits.leaseMs }));
    await here.host.start();
    await isUnknown(t, here, text);
    await creates(scene);
    t.equal((await here.host.keys.authenticate(text)).record.name, 'k');
    here.host.close();
  });
  await t.test('created by another process, whose word is lost', async (t) => {
    const { scene } = await counting();
    await isUnknown(t, scene, text);
    await creates(scene.beside());
    scene.clock.advance(limits.unknownMs);
    t.equal((await scene.host.keys.authenticate(text)).record.name, 'k');
  });
});

/** A scene that counts how often its store is asked for a slug. */
async function countingSlugs(): Promise<{ scene: Scene; asked: () => number }> {
  const scene = await Scene.open();
  const { store } = scene;
  let count = 0;
  return {
    scene: scene.beside(
      withSteps(store, { 'catalog.assistantBySlug': (slug) => (count++, store.catalog.assistantBySlug(slug)) }),
    ),
    asked: () => count,
  };
}

const takesSlug = async ({ host, workspaceId, assistantId }: Scene, slug: string | null): Promise<void> =>
  void (await host.assistants.configure(workspaceId, assistantId, (record) => ({
    ...record,
    link: slug === null ? null : { slug, limits: {}, origins: [] },
  })));

const idOf = async ({ host }: Scene, slug: string): Promise<string | undefined> =>
  (await host.assistants.bySlug(slug))?.record.id;

t.test('an unknown slug is looked up once a second, and an impossible one never', async (t) => {
  const { scene, asked } = await countingSlugs();
  for (let time = 0; time < 10_000; time++) await idOf(scene, 'nobody');
  t.equal(asked(), 1);
  await Promise.all([1, 2, 3].map(() => idOf(scene, 'nobody-either')));
  t.equal(asked(), 2);
  for (const slug of ['', 'Upper', 'a b', 'x'.repeat(65), 'x'.repeat(10_000), 'ä', '../etc', 'a\n'])
    t.equal(await idOf(scene, slug), undefined);
  t.equal(asked(), 2);
  scene.clock.advance(limits.unknownMs);
  await idOf(scene, 'nobody');
  t.equal(asked(), 3);
});

t.test('a slug is known as soon as it is given', async (t) => {
  await t.test('given here, taken away, and given again', async (t) => {
    const { scene } = await countingSlugs();
    t.equal(await idOf(scene, 'shop'), undefined);
    await takesSlug(scene, 'shop');
    t.equal(await idOf(scene, 'shop'), scene.assistantId);
    await takesSlug(scene, null);
    t.equal(await idOf(scene, 'shop'), undefined);
    await takesSlug(scene, 'shop');
    t.equal(await idOf(scene, 'shop'), scene.assistantId);
  });
  await t.test('given while it was looked up', async (t) => {
    const scene = await Scene.open();
    const { store } = scene;
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const here = scene.beside(
      withSteps(store, {
        'catalog.assistantBySlug': async (slug) => {
          const found = await store.catalog.assistantBySlug(slug);
          if (found === null) await answered;
          return found;
        },
      }),
    );
    const early = idOf(here, 'shop');
    await takesSlug(here, 'shop');
    t.equal(await idOf(here, 'shop'), here.assistantId, 'who asks after that does not wait for the answer from before');
    answer();
    t.equal(await early, undefined);
    t.equal(await idOf(here, 'shop'), here.assistantId, 'and the late answer is not remembered');
  });
  await t.test('given by another process, which says so', async (t) => {
    const scene = await Scene.open();
    const here = scene.beside(withSteps(scene.store, { leaseMs: limits.leaseMs }));
    await here.host.start();
    t.equal(await idOf(here, 'shop'), undefined);
    await takesSlug(scene, 'shop');
    t.equal(await idOf(here, 'shop'), scene.assistantId);
    here.host.close();
  });
  await t.test('given by another process, whose word is lost', async (t) => {
    const { scene } = await countingSlugs();
    t.equal(await idOf(scene, 'shop'), undefined);
    await takesSlug(scene.beside(), 'shop');
    scene.clock.advance(limits.unknownMs);
    t.equal(await idOf(scene, 'shop'), scene.assistantId);
  });
});
