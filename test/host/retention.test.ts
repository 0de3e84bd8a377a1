/** Retention (contract 6): a session past it is unknown, and is deleted with all it holds. */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { Scene } from './scene.ts';

const dayMs = 86_400_000;
const week = 7 * 86_400;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) await null;
};

t.test('the sweep deletes sessions past retention', async (t) => {
  const scene = await Scene.open({ retentionDays: 2 });
  await scene.host.start();
  const [old, touched, running] = [
    await scene.session({ greeting: 'Hi' }),
    await scene.session({ maxCallSeconds: week }),
    await scene.session({ maxCallSeconds: week }),
  ];
  const talk = await scene.streaming(old.id);
  talk.model.end();
  await talk.runner.over;
  scene.clock.advance(dayMs);
  await settle();
  await scene.host.sessions.end(await scene.actor(touched.id));
  scene.clock.advance(dayMs - 10_000);
  await settle();
  t.ok(await scene.state(old.id), 'not before its time');
  // The clock looks as if it had been set: all is kept until it has moved evenly for a while.
  for (let passed = limits.sweepMs; passed < limits.timeTrustMs; passed += limits.sweepMs) {
    scene.clock.advance(limits.sweepMs);
    await settle();
  }
  t.ok(await scene.state(old.id), 'not before the time is trusted');
  await scene.streaming(running.id);
  scene.clock.advance(limits.sweepMs + 1000);
  await settle();
  t.equal(await scene.state(old.id), undefined);
  t.equal((await scene.transcript(old.id)).length, 0, 'with all that it held');
  t.equal(await scene.store.turns.read(scene.workspaceId, old.id, talk.runner.turnId), null);
  t.same(
    [await scene.state(touched.id), await scene.state(running.id)],
    ['ended', 'streaming'],
    'the last activity counts',
  );
  t.equal(await scene.host.sessions.of(scene.workspaceId, old.id), null);
  scene.host.close();
  t.equal(await scene.host.sessions.read(scene.workspaceId, old.id), null);
});

t.test('a late read of an expired session does not extend its retention', async (t) => {
  const scene = await Scene.open({ retentionDays: 2 });
  const { id } = await scene.session({ maxCallSeconds: 60 });
  scene.clock.advance(dayMs);
  await scene.host.sessions.end(await scene.actor(id));
  t.equal(await scene.state(id), 'expired');
  scene.clock.advance(dayMs + 120_000);
  t.equal(await scene.store.sweep(scene.clock.now(), 10), 1);
  scene.host.close();
});
