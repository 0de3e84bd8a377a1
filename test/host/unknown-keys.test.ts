/** Keys that nobody has: looked up once in a while, however often they are sent. */
import t, { type Test } from 'tap';
import { createKey } from '../../src/console/keys.ts';
import type { Ids } from '../../src/ids.ts';
import { makeKey } from '../../src/keys.ts';
import { limits } from '../../src/limits.ts';
import type { Services } from '../../src/services.ts';
import type { Steps } from '../../src/store/steps.ts';
import type { Store } from '../../src/store.ts';
import { ids } from '../store/fixtures.ts';
import { Scene, withSteps } from './scene.ts';

/** A scene that counts how often its store is asked for a key. */
async function counting(): Promise<{ scene: Scene; asked: () => number; store: Store }> {
  const scene = await Scene.open();
  const { store } = scene;
  let count = 0;
  const keyByPublicId: Steps['catalog.keyByPublicId'] = (publicId) => (count++, store.catalog.keyByPublicId(publicId));
  return { scene: scene.beside(withSteps(store, { 'catalog.keyByPublicId': keyByPublicId })), asked: () => count, store };
}

const isUnknown = (t: Test, { host }: Scene, text: string) => t.rejects(async () => host.keys.authenticate(text), { code: 'invalid_api_key' });

/** Makes the same key each time. */
const fixed: Ids = { ...ids, make: (prefix) => `${prefix}_${'7'.repeat(26)}`, secret: () => 's'.repeat(32) };

const creates = async ({ host, store, clock, workspaceId }: Scene): Promise<string> => {
  const services = { host, store, clock, ids: fixed } as unknown as Services;
  const caller = { by: { kind: 'operator', id: 'operator', name: 'operator' } };
  const reply = await createKey({ params: { w: workspaceId }, caller, body: { name: 'k' }, services } as never);
  return (reply as { json: { key: string } }).json.key;
};

t.test('one look-up a second', async (t) => {
  const { scene, asked } = await counting();
  const { text } = makeKey(ids);
  for (let time = 0; time < 5; time++) await isUnknown(t, scene, text);
  t.equal(asked(), 1);
  await isUnknown(t, scene, makeKey(ids).text);
  t.equal(asked(), 2, 'each key for itself');
  scene.clock.advance(limits.unknownKeyMs - 1);
  await isUnknown(t, scene, text);
  t.equal(asked(), 2);
  scene.clock.advance(1);
  await isUnknown(t, scene, text);
  t.equal(asked(), 3);
});

t.test('requests that come at once share a look-up, of a key that is there as well', async (t) => {
  const { scene, asked } = await counting();
  const { text } = makeKey(ids);
  await Promise.all([1, 2, 3].map(() => isUnknown(t, scene, text)));
  t.equal(asked(), 1);
  const key = await creates(scene);
  const actors = await Promise.all([1, 2, 3].map(() => scene.host.keys.authenticate(key)));
  t.equal(new Set(actors).size, 1);
  t.equal(asked(), 2);
});

t.test('only so many are remembered, the newest', async (t) => {
  const { scene, asked } = await counting();
  const texts = Array.from({ length: limits.unknownKeysMax + 1 }, () => makeKey(ids).text);
  for (const text of texts) await Promise.resolve().then(() => scene.host.keys.authenticate(text)).catch(() => {});
  t.equal(asked(), texts.length);
  await isUnknown(t, scene, texts.at(-1)!);
  await isUnknown(t, scene, texts[1]!);
  t.equal(asked(), texts.length);
  await isUnknown(t, scene, texts[0]!);
  t.equal(asked(), texts.length + 1);
});

t.test('a key is known as soon as it is there', async (t) => {
  const { text } = makeKey(fixed);
  await t.test('created here', async (t) => {
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
    scene.clock.advance(limits.unknownKeyMs);
    t.equal((await scene.host.keys.authenticate(text)).record.name, 'k');
  });
});
