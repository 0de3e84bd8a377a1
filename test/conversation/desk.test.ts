/** Takes of people who are changed while the take is on its way to the store (contract 22 and 23). */
import t from 'tap';
import { People } from '../../src/access/people.ts';
import { nobody } from '../../src/actors/cause.ts';
import { randomIds } from '../../src/base/ids.ts';
import { releaseSessionsOf, takeSession } from '../../src/conversation/desk.ts';
import type { Services } from '../../src/conversation/services.ts';
import type { PersonRecord } from '../../src/store/records.ts';
import { Scene, withSteps } from '../host/scene.ts';

/** A take that the store stores once `change` has changed its person and released their sessions. */
async function taken(change: Partial<PersonRecord>) {
  const scene = await Scene.open();
  const { workspaceId } = scene;
  const people = new People(scene.store, scene.clock, randomIds(scene.clock));
  const { id, name } = await people.create('Ann', { role: 'attendant', workspaceId });
  let store = (): void => {};
  const isChanged = new Promise<void>((resolve) => (store = resolve));
  let reach = (): void => {};
  const isReached = new Promise<void>((resolve) => (reach = resolve));
  const attendSession: typeof scene.store.desk.attend = async (step) => {
    reach();
    await isChanged;
    return scene.store.desk.attend(step);
  };
  const { host } = scene.beside(withSteps(scene.store, { attendSession }));
  const services = { host, store: scene.store, clock: scene.clock, signIns: { people } } as unknown as Services;
  const { id: sessionId } = await scene.session();
  const principal = { workspaceId, id, kind: 'person', name, channel: 'console', assistantIds: null } as const;
  const answer = takeSession({ principal, sessionId, requestId: 'req_1', services }).then(
    () => 'taken',
    ({ code }: { code: string }) => code,
  );
  await isReached;
  await people.change(id, (person) => ({ ...person, ...change }));
  await releaseSessionsOf(id, () => false, nobody, services);
  store();
  const code = await answer;
  const { attendance } = (await scene.store.sessions.read(workspaceId, sessionId))!.record;
  host.close();
  return {
    code,
    state: attendance!.state,
    rows: (await scene.transcript(sessionId)).map((row) => row.attendance?.state),
  };
}

t.test('a take that is stored after its person lost the desk is released and refused', async (t) => {
  for (const change of [{ blocked: true }, { role: 'viewer' }, { onlyWorkspaceId: 'wks_other' }] as const)
    t.same(
      await taken(change),
      { code: 'role_not_permitted', state: 'waiting', rows: ['person', 'waiting'] },
      JSON.stringify(change),
    );
});

t.test('a take of a person who may still work the desk stays', async (t) => {
  for (const change of [{ role: 'owner' }, { onlyWorkspaceId: null }] as const)
    t.same(await taken(change), { code: 'taken', state: 'person', rows: ['person'] }, JSON.stringify(change));
});
