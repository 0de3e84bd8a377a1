/** The reader of a session's stream while the store is away (contract 23, D4). */
import t from 'tap';
import { StoreUnavailable } from '../../src/store/store.ts';
import { pass, Scene, withSteps } from '../host/scene.ts';

t.test('[D4] events that a store took too long to confirm come again, and none is lost', async (t) => {
  const scene = await Scene.open();
  let away = 0;
  const store = withSteps(scene.store, {
    confirm: async (...args) => {
      if (away-- > 0) throw new StoreUnavailable('The store is away.');
      return scene.store.confirm(...args);
    },
  });
  const beside = scene.beside(store);
  t.teardown(() => beside.host.close());
  const { id } = await beside.session({ greeting: 'Hello' });
  const { model, runner } = await beside.streaming(id);
  model.end();
  await runner.over;
  const reader = beside.host.streams.open({ workspaceId: scene.workspaceId, id });
  t.equal(await reader.begin(0), 'begun');
  away = 2;
  const events = reader.next();
  await pass(scene, 5_000);
  t.same(
    (await events)!.map(({ number, type }) => `${number} ${type}`),
    ['1 message.created', '2 message.created', '3 turn.started', '4 message.created', '5 turn.ended'],
  );
  reader.close();
});
