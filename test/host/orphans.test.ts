/** Turns whose process died (architecture, idea 4; contract 6). */
import t from 'tap';
import { secondsOf } from '../../src/clock.ts';
import { Scene } from './scene.ts';

t.test('the next start seals what a dead process left', async (t) => {
  const first = await Scene.open();
  const [talking, waiting, ending] = [await first.session(), await first.session(), await first.session()];
  await first.streaming(talking.id, 'one 😀');
  await first.begin(waiting.id);
  const second = await first.afterDeath();
  t.equal(await second.state(ending.id), 'open');
  t.equal(await second.store.turnsInFlight(second.workspaceId), 0, 'the slots are free at once');
  await second.host.start();
  t.match(await second.transcript(talking.id), [{ content: 'Hello' }, { content: 'one 😀', status: 'partial', stopReason: 'error', errorCode: 'api_error' }]);
  t.match(await second.transcript(waiting.id), [{}, { content: '', status: 'partial', errorCode: 'api_error' }]);
  t.same([await second.state(talking.id), await second.state(waiting.id)], ['open', 'open']);
  const at = secondsOf(second.clock.now());
  const [bucket] = await second.store.usage(second.workspaceId, { assistantIds: null, start: at - 60, end: at + 60, bucketSeconds: 3600 });
  t.match(bucket, { turns: 2, failedTurns: 2, inputTokens: 4, outputTokens: 2 }, 'their tokens are estimated');
  t.ok(await second.streaming(talking.id));
  second.host.close();
});

t.test('so does whoever touches it first', async (t) => {
  const first = await Scene.open();
  const { id } = await first.session();
  await first.streaming(id);
  const second = await first.afterDeath();
  const record = await second.host.sessions.read(second.workspaceId, id);
  t.match(record!.machine, { state: 'open', context: { activeTurnId: null } });
  t.match((await second.transcript(id)).at(-1), { status: 'partial', content: 'one ' });
  t.ok(await second.streaming(id));
});

t.test('it is told by what became of its session meanwhile', async (t) => {
  const first = await Scene.open();
  const brief = await first.session({ maxCallSeconds: 10 });
  await first.streaming(brief.id);
  first.clock.advance(9000);
  const second = await first.afterDeath();
  second.clock.advance(2000);
  await second.host.sessions.read(second.workspaceId, brief.id);
  t.match((await second.transcript(brief.id)).at(-1), { status: 'partial', stopReason: 'expired', errorCode: 'session_expired' });
  t.match((await second.store.session(second.workspaceId, brief.id))!.record.machine, { state: 'expired', context: { endedAt: brief.expiresAt } });
});

t.test('another process\' living turn is left alone until its lease has run out', async (t) => {
  const one = await Scene.open();
  const two = one.beside();
  const { id } = await one.session({ maxCallSeconds: 3600 });
  const talk = await one.streaming(id);
  await two.host.start();
  t.equal((await two.actor(id)).machine.state, 'streaming');
  talk.model.text('two');
  talk.model.end();
  await talk.runner.over;
  t.match((await two.transcript(id)).at(-1), { content: 'one two', status: 'completed' });

  const other = await one.session();
  const stuck = await one.streaming(other.id);
  two.clock.advance(0);
  await two.store.seizeTurn({ workspaceId: one.workspaceId, sessionId: other.id, turnId: stuck.runner.turnId }, 'x', 0, Number.MAX_SAFE_INTEGER);
  two.host.sessions.population.discard(other.id);
  await two.host.start();
  t.match((await two.transcript(other.id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  stuck.model.text('late');
  await stuck.runner.over;
  t.same([stuck.cancelled(), stuck.runner.log.terminal], [true, { type: 'failed', errorCode: 'api_error' }], 'the slow owner is fenced off');
  t.match((await one.transcript(other.id)).at(-1), { content: 'one ' });
  one.host.close();
  two.host.close();
});
