/** Deadlines of the desk (contract 23): a visitor's wait, and the presence of the person who has the session. */
import t, { type Test } from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import { limits } from '../../src/base/limits.ts';
import { defaultDesk } from '../../src/store/records/attendance.ts';
import { pass, Scene } from './scene.ts';

const ann = { id: 'prs_1', name: 'Ann' };

async function open(t: Test) {
  const scene = await Scene.open();
  const { host, workspaceId, assistantId } = scene;
  await host.assistants.configure(workspaceId, assistantId, (record) => ({
    ...record,
    desk: { ...defaultDesk, enabled: true, waitSeconds: 120, texts: { ...defaultDesk.texts, nobody: 'Nobody.' } },
  }));
  let presentUntilMs = 0;
  host.presentUntilMs = () => presentUntilMs;
  await host.start();
  t.teardown(() => host.close());
  const { id } = await scene.session();
  const actor = await scene.actor(id);
  const state = async () => (await scene.store.sessions.read(workspaceId, id))!.record.attendance!.state;
  const setPresent = (ms: number): void => void (presentUntilMs = scene.clock.now() + ms);
  const rows = async () => (await scene.transcript(id)).map(({ attendance, content }) => [attendance?.state, content]);
  return { scene, host, actor, id, state, setPresent, rows };
}

t.test('a person who has not been heard of for 60 s loses the session, without a note', async (t) => {
  const { scene, host, actor, state, rows } = await open(t);
  await host.attendances.take(actor, ann, nobody);
  await pass(scene, limits.deskPresenceMs - 1000);
  t.equal(await state(), 'person');
  await pass(scene, 1000);
  t.equal(await state(), 'waiting');
  t.same(await rows(), [
    ['person', ''],
    ['waiting', ''],
  ]);
  await pass(scene, 120_000);
  t.equal(await state(), 'assistant', 'nobody else comes');
  t.same((await rows()).at(-1), ['assistant', 'Nobody.']);
});

t.test('a person who is heard of keeps the session', async (t) => {
  const { scene, host, actor, state, setPresent } = await open(t);
  setPresent(limits.deskPresenceMs);
  await host.attendances.take(actor, ann, nobody);
  for (let times = 0; times < 10; times++) {
    await pass(scene, limits.deskPresenceMs / 2);
    setPresent(limits.deskPresenceMs);
  }
  t.equal(await state(), 'person');
  await pass(scene, limits.deskPresenceMs + 6_000);
  t.equal(await state(), 'waiting');
});

t.test('another process that starts finds what is due', async (t) => {
  const { scene, host, actor, id } = await open(t);
  await host.attendances.take(actor, ann, nobody);
  const other = await scene.afterDeath();
  t.teardown(() => other.host.close());
  scene.clock.advance(limits.deskPresenceMs);
  other.host.presentUntilMs = () => 0;
  await other.host.start();
  await pass(other, 6_000);
  const stored = await other.store.sessions.read(other.workspaceId, id);
  t.equal(stored!.record.attendance!.state, 'waiting');
});
