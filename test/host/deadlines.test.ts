/** Sessions expire within a minute of their deadline, though nobody uses them, where a webhook waits for it (contract 17). */
import t from 'tap';
import type { Webhook } from '../../src/store/store.ts';
import * as records from '../store/fixtures.ts';
import { Scene } from './scene.ts';

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 300; turn++) await null;
};

const eventsOf = async ({ store, workspaceId }: Scene, { id }: Webhook): Promise<string[]> =>
  (await store.webhooks.list(workspaceId, id)).map(({ type }) => type).sort();

const created = async (scene: Scene, over: Partial<Webhook> = {}): Promise<Webhook> => {
  const webhook = records.webhook(scene.workspaceId, {
    events: ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'],
    ...over,
  });
  await scene.store.catalog.create('webhook', webhook);
  return webhook;
};

const pass = async (scene: Scene, seconds: number): Promise<void> => {
  for (let each = 0; each < seconds; each++) {
    scene.clock.advance(1000);
    await settle();
  }
};

t.test('a session expires within 60 s of its deadline though nobody looks, and its event is stored', async (t) => {
  const scene = await Scene.open({});
  await scene.host.start();
  const older = await scene.session({ maxCallSeconds: 60 });
  const webhook = await created(scene);
  const later = await scene.session({ maxCallSeconds: 120 });
  await pass(scene, 59);
  t.same(await eventsOf(scene, webhook), []);
  await pass(scene, 58);
  t.equal(await scene.state(older.id), 'expired');
  t.same(await eventsOf(scene, webhook), ['session.expired']);
  await pass(scene, 60);
  t.equal(await scene.state(later.id), 'expired');
  t.same(await eventsOf(scene, webhook), ['session.expired', 'session.expired']);
  await pass(scene, 60);
  t.same(await eventsOf(scene, webhook), ['session.expired', 'session.expired'], 'each once');
  scene.host.close();
});

t.test('a workspace without an enabled webhook has no session expired by itself', async (t) => {
  const scene = await Scene.open({});
  await scene.host.start();
  const { id } = await scene.session({ maxCallSeconds: 60 });
  await created(scene, { enabled: false });
  await pass(scene, 150);
  t.equal(await scene.state(id), 'open');
  scene.host.close();
});

t.test('an ended session and a finished turn have their events in the step that ends them', async (t) => {
  const scene = await Scene.open({});
  const webhook = await created(scene);
  const { id } = await scene.session({ maxCallSeconds: 60 });
  const talk = await scene.streaming(id);
  talk.model.end();
  await talk.runner.over;
  t.same(await eventsOf(scene, webhook), ['turn.completed']);
  await scene.host.sessions.end(await scene.actor(id));
  t.same(await eventsOf(scene, webhook), ['session.ended', 'turn.completed']);
  scene.host.close();
});
