/** A million idle sessions cost no heap (issue, architecture idea 2). */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { Scene, withSteps } from './scene.ts';

t.test('an idle session is passivated and activated unchanged', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const before = await scene.actor(id);
  const talk = await scene.streaming(id);
  scene.clock.advance(limits.actorIdleMs + limits.actorIdleMs / 2);
  t.equal(await scene.actor(id), before, 'not while its turn runs');
  talk.model.end();
  await talk.runner.over;
  t.ok(scene.host.census()['session'] === 1);
  scene.clock.advance(2 * limits.actorIdleMs);
  t.same(scene.host.census(), {
    workspace: 0,
    assistant: 0,
    release: 0,
    attendance: 0,
    key: 0,
    session: 0,
    turn: 0,
    run: 0,
    call: 0,
    reply: 0,
    socket: 0,
    visitor: 0,
  });
  const after = await scene.actor(id);
  t.not(after, before);
  t.match(after.machine, { state: 'open' });
  await scene.host.sessions.end(after);
  scene.clock.advance(2 * limits.actorIdleMs);
  await t.rejects(scene.begin(id), { code: 'session_ended' });
});

t.test('100,000 sessions are passivated, and live ones stay within the bound', async (t) => {
  const scene = await Scene.open();
  // The rows are not measured here, so one session's record stands for all.
  const record = await scene.session();
  const created = async () => ({ outcome: 'created', version: 1 }) as const;
  const read = async (_: string, id: string) => ({ record: { ...record, id }, version: 1 });
  const { host } = scene.beside(withSteps(scene.store, { createSession: created, session: read }));
  const { workspaceId, assistantId } = scene;
  const wanted = {
    workspaceId,
    assistantId,
    channel: 'api',
    visitor: {},
    metadata: {},
    maxCallSeconds: 60,
    greeting: null,
    remember: null,
  } as const;
  const ids: string[] = [];
  for (let made = 0; made < 100_000; made++) ids.push((await host.sessions.create(wanted)).session.id);
  t.equal(host.census()['session'], 0, 'creating one wakes nobody');
  const touched = ids.slice(0, limits.actorsLiveMax + 1000);
  for (const id of touched.slice(0, limits.actorsLiveMax)) await host.sessions.of(workspaceId, id);
  t.equal(host.census()['session'], limits.actorsLiveMax);
  // Actors that were just used stay.
  scene.clock.advance(2_000);
  for (const id of touched.slice(limits.actorsLiveMax)) await host.sessions.of(workspaceId, id);
  const { session: live } = host.census();
  t.ok(live <= limits.actorsLiveMax, `${live} are live`);
  const awake = new Set([...host.sessions.population.residents()].map(({ record }) => record.id));
  t.same(
    touched.filter((id) => !awake.has(id)),
    touched.slice(0, touched.length - live),
    'the longest idle left',
  );
  scene.clock.advance(2 * limits.actorIdleMs);
  t.equal(host.census()['session'], 0);
});
