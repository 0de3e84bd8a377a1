/** Changes from the console: decided on the live actor, seen by everybody once they are stored, and not before. */
import t from 'tap';
import { StoreUnavailable } from '../../src/store/store.ts';
import { Scene, withSteps } from './scene.ts';

/** A scene whose store refuses the next `failures` replacements, or says that somebody else moved. */
async function unlucky(failures: (() => Promise<number | null>)[]): Promise<Scene> {
  const scene = await Scene.open();
  const { catalog } = scene.store;
  return scene.beside(
    withSteps(scene.store, {
      'catalog.replace': (kind, record, version) => failures.shift()?.() ?? catalog.replace(kind, record, version),
    }),
  );
}

const stored = async ({ store, workspaceId, assistantId }: Scene) => {
  const { record } = (await store.catalog.read('assistant', workspaceId, assistantId))!;
  return [record.name, record.machine.state];
};

t.test('a change that the store refused never happened, for those that wait behind it either', async (t) => {
  const scene = await unlucky([() => Promise.reject(new StoreUnavailable('away'))]);
  const { assistants } = scene.host;
  const actor = (await assistants.of(scene.workspaceId, scene.assistantId))!;
  const disable = assistants.move(scene.workspaceId, scene.assistantId, 'disable', 1);
  const rename = assistants.configure(scene.workspaceId, scene.assistantId, (record) => ({
    ...record,
    name: 'renamed',
  }));
  const between = disable.catch(() => assistants.of(scene.workspaceId, scene.assistantId));
  await t.rejects(disable, { message: 'away' });
  await rename;
  t.same(await stored(scene), ['renamed', 'published']);
  t.equal(await between, actor, 'nobody else was woken meanwhile');
  const live = (await assistants.of(scene.workspaceId, scene.assistantId))!;
  t.same([live.record.name, live.machine.state], ['renamed', 'published'], 'who is awake is what is stored');
});

t.test('a change that another writer overtook is decided again on the stored record', async (t) => {
  const scene = await unlucky([() => Promise.resolve(null)]);
  await scene.host.assistants.of(scene.workspaceId, scene.assistantId);
  const other = scene.beside();
  await other.host.assistants.move(scene.workspaceId, scene.assistantId, 'disable', 1);
  await scene.host.assistants.configure(scene.workspaceId, scene.assistantId, (record) => ({
    ...record,
    name: 'renamed',
  }));
  t.same(await stored(scene), ['renamed', 'disabled']);
});

t.test('a change of a removed record resolves with null', async (t) => {
  const scene = await unlucky([() => Promise.resolve(null)]);
  await scene.host.assistants.of(scene.workspaceId, scene.assistantId);
  await scene.store.catalog.remove('assistant', scene.workspaceId, scene.assistantId);
  t.equal(await scene.host.assistants.move(scene.workspaceId, scene.assistantId, 'disable', 1), null);
});
