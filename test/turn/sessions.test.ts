/** Decide, commit, act, answer (architecture, idea 2). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { takeStep, type Steps } from '../../src/store/steps.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { Scene, turnMsMax, withSteps } from '../host/scene.ts';

const away = (): Promise<never> => Promise.reject(new StoreUnavailable('away'));
const unavailable = { message: 'away' };

t.test('a turn is stored from its beginning to its end', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session({ greeting: 'Hi' });
  const talk = await scene.streaming(id);
  t.same(
    talk.history.map(({ role, content }) => [role, content]),
    [
      ['assistant', 'Hi'],
      ['user', 'Hello'],
    ],
  );
  t.equal(scene.host.turns.inFlight, 1);
  talk.model.text('two');
  talk.model.end();
  await talk.runner.over;
  t.match(await scene.transcript(id), [
    { content: 'Hi' },
    { content: 'Hello' },
    { content: 'one two', status: 'completed', stopReason: 'end' },
  ]);
  t.same(
    [
      await scene.state(id),
      scene.overs,
      scene.host.turns.inFlight,
      await scene.store.turns.inFlight(scene.workspaceId),
    ],
    ['open', ['completed'], 0, 0],
  );
});

t.test('the first move wins: the other process loads and decides again', async (t) => {
  const one = await Scene.open();
  const two = one.beside();
  const { id } = await one.session();
  const [stale, fresh] = [await one.actor(id), await two.actor(id)];
  await two.host.sessions.end(fresh);
  await t.rejects(one.begin(id), { code: 'session_ended' });
  t.equal(stale.machine.state, 'ended');

  const other = await one.session();
  await one.actor(other.id);
  await two.streaming(other.id);
  await t.rejects(one.begin(other.id), { code: 'turn_in_progress' });
  t.equal(await one.store.turns.inFlight(one.workspaceId), 1, 'no slot is lost on the way');
});

t.test('a lost comparison is decided again', async (t) => {
  const scene = await Scene.open();
  const { store } = scene;
  let lose = 1;
  const lost = <Answer>(answer: Answer, real: () => Promise<Answer>): Promise<Answer> =>
    lose-- > 0 ? Promise.resolve(answer) : real();
  const unlucky = scene.beside(
    withSteps(store, {
      beginTurn: (step) =>
        lost<Awaited<ReturnType<Steps['beginTurn']>>>({ outcome: 'lost' }, () => store.turns.begin(step)),
      finishTurn: (step) =>
        lost<Awaited<ReturnType<Steps['finishTurn']>>>({ outcome: 'lost' }, () => store.turns.finish(step)),
      withdrawTurn: (step) =>
        lost<Awaited<ReturnType<Steps['withdrawTurn']>>>({ outcome: 'lost' }, () => store.turns.withdraw(step)),
      saveSession: (...given) => lost<number | null>(null, () => store.sessions.save(...given)),
    }),
  );
  const { id } = await unlucky.session();
  const talk = await unlucky.streaming(id);
  t.equal(lose, -1);
  lose = 1;
  talk.model.end();
  await talk.runner.over;
  t.match((await unlucky.transcript(id)).at(-1), { content: 'one ', status: 'completed' });
  const failing = await unlucky.begin(id);
  lose = 1;
  failing.model.failed('status');
  t.same(await failing.runner.begun, { kind: 'withdrawn', failure: 'status' });
  t.equal((await unlucky.transcript(id)).length, 2);
  lose = 1;
  await unlucky.host.sessions.end(await unlucky.actor(id));
  t.equal(await unlucky.state(id), 'ended');

  const other = await unlucky.session();
  lose = Infinity;
  await t.rejects(
    unlucky.begin(other.id),
    { message: 'Other writers changed the session 5 times in a row. Repeat the request.' },
    'but not for ever',
  );
  lose = 0;
  t.ok(await unlucky.streaming(other.id));
  t.equal(await store.turns.inFlight(scene.workspaceId), 1);
  await unlucky.host.sessions.end(await unlucky.actor(other.id));
  const census = [...unlucky.host.workspaces.population.residents()].map(({ machine }) => machine.context);
  t.match(census, [{ inFlight: 0 }], 'nor is a slot');
});

t.test('an unreachable store leaves the state as it was', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session({ greeting: 'Hi' });
  for (const step of ['recentMessages', 'beginTurn'] as const) {
    let broken = true;
    const host = scene.beside(
      withSteps(scene.store, {
        [step]: (...given: unknown[]) => (broken ? away() : takeStep(scene.store, step, given)),
      }),
    );
    await t.rejects(host.begin(id), unavailable, step);
    t.equal((await host.actor(id)).machine.state, 'open', 'what was decided is undone');
    broken = false;
    const talk = await host.streaming(id);
    talk.model.end();
    await talk.runner.over;
  }
  t.equal((await scene.transcript(id)).length, 5);

  let broken = true;
  const host = scene.beside(
    withSteps(scene.store, { saveSession: (...given) => (broken ? away() : scene.store.sessions.save(...given)) }),
  );
  const talk = await host.streaming(id);
  await t.rejects(host.host.sessions.end(await host.actor(id)), unavailable);
  t.same(
    [await host.state(id), talk.cancelled(), talk.runner.log.terminal],
    ['streaming', false, null],
    'the turn runs on',
  );
  broken = false;
  await host.host.sessions.end(await host.actor(id));
  t.same([await host.state(id), talk.cancelled()], ['ended', true]);
});

t.test('a workspace that cannot be read does not refuse a later turn', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  let broken = true;
  const host = scene.beside(
    withSteps(scene.store, {
      turnsInFlight: (workspaceId) => (broken ? away() : scene.store.turns.inFlight(workspaceId)),
    }),
  );
  await t.rejects(host.begin(id), unavailable);
  t.equal((await host.actor(id)).machine.state, 'open');
  broken = false;
  t.ok(await host.streaming(id));
});

t.test('an abort or an end is answered while the store will not seal', async (t) => {
  const scene = await Scene.open();
  let broken = false;
  const host = scene.beside(
    withSteps(scene.store, { finishTurn: (step) => (broken ? away() : scene.store.turns.finish(step)) }),
  );
  const { id } = await host.session();
  const talk = await host.streaming(id);
  broken = true;
  await t.rejects(host.host.sessions.abort(await host.actor(id), talk.runner.turnId), {
    message: 'The aborted turn could not be sealed. It is sealed once the store is back.',
  });
  t.same(talk.runner.log.terminal, { type: 'failed', errorCode: 'api_error' });
  await t.rejects(host.begin(id), { code: 'turn_in_progress' }, 'until it is sealed');
  broken = false;
  scene.clock.advance(1000);
  await talk.runner.over;
  t.match((await host.transcript(id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  t.ok(await host.streaming(id));
});

t.test('a wall clock that jumps frees no slot of a turn that lives', async (t) => {
  const scene = await Scene.open({ turnsInFlightMax: 1 });
  const [one, two] = [await scene.session({ maxCallSeconds: 86_400 }), await scene.session({ maxCallSeconds: 86_400 })];
  const talk = await scene.streaming(one.id);
  scene.clock.jump(3_600_000);
  t.same(await scene.store.turns.orphans(scene.clock.now(), 1), [], 'nor is it an orphan');
  await t.rejects(scene.begin(two.id), { code: 'rate_limited' });
  talk.model.end();
  await talk.runner.over;
  t.ok(await scene.streaming(two.id));
});

t.test(
  "a turn is cut soon after the wall clock is set to its session's end, as after a suspension of the machine",
  async (t) => {
    const scene = await Scene.open();
    await scene.host.start();
    t.teardown(() => scene.host.close());
    const { id } = await scene.session({ maxCallSeconds: 3600 });
    const talk = await scene.streaming(id);
    scene.clock.jump(3_599_000);
    scene.clock.advance(limits.orphansMs);
    t.equal(talk.runner.log.terminal, null, 'not before');
    scene.clock.advance(500);
    await talk.runner.over;
    t.same(talk.runner.log.terminal, { type: 'failed', errorCode: 'session_expired' });
    t.equal(await scene.state(id), 'expired');
  },
);

t.test("the store's slots decide about a turn", async (t) => {
  const one = await Scene.open({ turnsInFlightMax: 2 });
  const two = one.beside();
  const [a, b, c] = [await one.session(), await one.session(), await one.session()];
  const first = await one.streaming(a.id);
  await two.streaming(b.id);
  for (const host of [one, two]) await t.rejects(host.begin(c.id), { code: 'rate_limited', seconds: 1 });
  t.equal(await one.state(c.id), 'open');
  await t.rejects(two.begin(a.id), { code: 'turn_in_progress' }, 'a conflict comes before a full workspace');
  first.model.end();
  await first.runner.over;
  t.ok(await two.streaming(c.id), 'a slot that another process freed is free');
});

t.test('a turn takes a slot of the workspace if its caller requests it, in the store and on the chart', async (t) => {
  const scene = await Scene.open({ turnsInFlightMax: 1 });
  const { machine } = (await scene.host.workspaces.of(scene.workspaceId))!;
  const leave = scene.host.inspector.watch(() => {});
  const standing = async () => [
    machine.state,
    machine.context.inFlight,
    await scene.store.turns.inFlight(scene.workspaceId),
  ];
  const visitors = [];
  for (const channel of ['link', 'widget'] as const)
    visitors.push(await scene.streaming((await scene.session({ channel })).id, 'one ', false));
  t.same(await standing(), ['available', 0, 0]);
  const talk = await scene.streaming((await scene.session({ channel: 'link' })).id);
  t.same(await standing(), ['full', 1, 1], "a turn of a key on a session of the link is the API's (contract 9)");
  visitors.push(await scene.streaming((await scene.session({ channel: 'link' })).id, 'one ', false));
  for (const { model, runner } of visitors) {
    model.end();
    await runner.over;
  }
  t.same(await standing(), ['full', 1, 1], 'nor do they give back one');
  talk.model.end();
  await talk.runner.over;
  t.same(await standing(), ['available', 0, 0]);
  leave();
});

t.test('a session expires to the second while its turn runs', async (t) => {
  const scene = await Scene.open();
  const session = await scene.session({ maxCallSeconds: 10 });
  const talk = await scene.streaming(session.id);
  scene.clock.advance(9999);
  t.equal(talk.cancelled(), false);
  scene.clock.advance(1);
  await talk.runner.over;
  t.same(talk.runner.log.terminal, { type: 'failed', errorCode: 'session_expired' });
  t.match((await scene.store.sessions.read(scene.workspaceId, session.id))!.record.machine, {
    state: 'expired',
    context: { endedAt: session.expiresAt, activeTurnId: null },
  });
  scene.host.close();
  t.equal(scene.clock.timers, 0, 'nothing is left running');
});

t.test('a drain waits, stops the turns, and then leaves a store that seals nothing', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const talk = await scene.streaming(id);
  let over = false;
  const drained = scene.host.turns.drain(30_000, 5000).then(() => (over = true));
  scene.clock.advance(29_999);
  for (let turn = 0; turn < 50; turn++) await null;
  t.same([over, talk.cancelled()], [false, false]);
  scene.clock.advance(1);
  await drained;
  t.match((await scene.transcript(id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  await scene.host.turns.drain(30_000, 5000);

  const stuck = scene.beside(withSteps(scene.store, { finishTurn: () => away() }));
  const lost = await stuck.streaming((await stuck.session()).id);
  const given = stuck.host.turns.drain(1000, 5000);
  for (let second = 0; second < 7; second++) {
    scene.clock.advance(1000);
    for (let turn = 0; turn < 50; turn++) await null;
  }
  await given;
  t.equal(lost.cancelled(), true);
  t.ok(turnMsMax > 7000);
});

t.test('removing a workspace stops its turns', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const talk = await scene.streaming(id);
  t.equal(await scene.host.removeWorkspace(scene.workspaceId), true);
  await talk.runner.over;
  t.equal(talk.cancelled(), true);
  t.equal(await scene.host.sessions.read(scene.workspaceId, id), null);

  const other = await Scene.open();
  const running = await other.streaming((await other.session()).id);
  await other.store.catalog.remove('workspace', other.workspaceId, other.workspaceId);
  running.model.end();
  await running.runner.over;
  t.equal(other.host.turns.inFlight, 0, 'a turn whose session is gone is over');
});

t.test('an abort of a turn that another process does not stop is refused with 503', async (t) => {
  const one = await Scene.open();
  // The lease is renewed all the while.
  const two = one.beside(withSteps(one.store, { leaseMs: limits.leaseMs, takeOverTurn: async () => null }));
  const { id } = await one.session();
  const talk = await one.streaming(id);
  const actor = await two.actor(id);
  const aborting = two.host.sessions.abort(actor, talk.runner.turnId).then(
    () => 'aborted',
    (error: Error) => error,
  );
  for (let waited = 0; waited <= limits.stopMs + limits.remoteStopMs + 200; waited += limits.remotePollMs) {
    await turnOfTheLoop();
    two.clock.advance(limits.remotePollMs);
  }
  t.type(await aborting, StoreUnavailable);
  talk.model.end();
  await talk.runner.over;
  one.host.close();
  two.host.close();
});
