/** An end, an expiry or a stop whose reply is lost: the process looks until it knows whether the step was applied. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { Steps } from '../../src/store/steps.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { pass, Scene, withSteps } from '../host/scene.ts';
import { unsettledLookMsMax } from '../../src/turn/sessions.ts';

const away = (): Promise<never> => Promise.reject(new StoreUnavailable('away'));
const unavailable = { message: 'away' };

interface Faulty {
  readonly scene: Scene;
  /** The fate of the next steps of each kind: done and not answered, refused, or as always. */
  readonly fate: { save: 'lost' | 'refused' | 'done'; stop: 'lost' | 'done'; look: 'refused' | 'done' };
  looks: number;
}

/** A host on a store that loses replies. `shared`: other processes use it as well. */
async function openFaulty(shared = true, plain?: Scene): Promise<Faulty> {
  plain ??= await Scene.open();
  const { store } = plain;
  const fate: Faulty['fate'] = { save: 'done', stop: 'done', look: 'done' };
  const steps: Partial<Steps & Pick<Store, 'leaseMs'>> = {
    leaseMs: shared ? limits.leaseMs : null,
    saveSession: async (...given) => {
      if (fate.save === 'refused') return away();
      const answer = await store.sessions.save(...given);
      return fate.save === 'lost' ? away() : answer;
    },
    requestStop: async (...given) => {
      const answer = await store.turns.requestStop(...given);
      return fate.stop === 'lost' ? away() : answer;
    },
    session: (...given) => {
      faulty.looks++;
      return fate.look === 'refused' ? away() : store.sessions.read(...given);
    },
  };
  const faulty: Faulty = { scene: plain.beside(withSteps(store, steps)), fate, looks: 0 };
  return faulty;
}

for (const shared of [true, false]) {
  const where = shared ? 'on a shared store' : 'alone on its store';

  t.test(
    `the turn of a session that was ended without an answer is stopped once that is known, ${where}`,
    async (t) => {
      const { scene, fate } = await openFaulty(shared);
      const { id } = await scene.session();
      const talk = await scene.streaming(id);
      fate.save = 'lost';
      await t.rejects(scene.host.sessions.end(await scene.actor(id)), unavailable);
      t.equal(await scene.state(id), 'ended');
      fate.look = 'refused';
      await pass(scene, 3000);
      t.equal(talk.cancelled(), false, 'the store is away: nothing is known');
      Object.assign(fate, { save: 'done', look: 'done' });
      await pass(scene, unsettledLookMsMax);
      await talk.runner.over;
      t.same([talk.cancelled(), talk.runner.log.terminal], [true, { type: 'aborted' }]);
      t.match((await scene.transcript(id)).at(-1), {
        content: 'one ',
        status: 'partial',
        stopReason: 'aborted',
        errorCode: null,
      });
      t.match((await scene.store.sessions.read(scene.workspaceId, id))!.record.machine, {
        state: 'ended',
        context: { activeTurnId: null },
      });
      await t.rejects(scene.begin(id), { code: 'session_ended' });
      scene.host.close();
      t.equal(scene.clock.timers, 0, 'nothing is left running');
    },
  );

  t.test(`a second end does not wait for the turn's own end, ${where}`, async (t) => {
    const { scene, fate } = await openFaulty(shared);
    const { id } = await scene.session();
    const talk = await scene.streaming(id);
    fate.save = 'lost';
    await t.rejects(scene.host.sessions.end(await scene.actor(id)), unavailable);
    fate.save = 'done';
    await scene.host.sessions.end(await scene.actor(id));
    t.same([talk.cancelled(), talk.runner.log.terminal, await scene.state(id)], [true, { type: 'aborted' }, 'ended']);
    scene.host.close();
  });

  t.test(`a session without a turn that was ended without an answer is read as ended, ${where}`, async (t) => {
    const { scene, fate } = await openFaulty(shared);
    const { id } = await scene.session();
    fate.save = 'lost';
    await t.rejects(scene.host.sessions.end(await scene.actor(id)), unavailable);
    fate.save = 'done';
    t.match((await scene.host.sessions.read(scene.workspaceId, id))!.machine, { state: 'ended' });
    scene.host.close();
  });

  t.test(`a turn whose session was not ended continues, and is polled only while it runs, ${where}`, async (t) => {
    const faulty = await openFaulty(shared);
    const { scene, fate } = faulty;
    const { id } = await scene.session();
    const talk = await scene.streaming(id);
    fate.save = 'refused';
    await t.rejects(scene.host.sessions.end(await scene.actor(id)), unavailable);
    fate.save = 'done';
    faulty.looks = 0;
    await pass(scene, 60_000);
    t.ok(faulty.looks >= 10 && faulty.looks <= 20, `${faulty.looks} looks in a minute`);
    t.equal(talk.cancelled(), false);
    talk.model.text('two');
    talk.model.end();
    await talk.runner.over;
    t.match((await scene.transcript(id)).at(-1), { content: 'one two', status: 'completed' });
    faulty.looks = 0;
    await pass(scene, 4 * unsettledLookMsMax);
    t.same([faulty.looks, await scene.state(id)], [0, 'open']);
    scene.host.close();
  });
}

t.test('polling stops when the actor leaves', async (t) => {
  const faulty = await openFaulty();
  const { scene, fate } = faulty;
  const { id } = await scene.session();
  await scene.streaming(id);
  const before = scene.clock.timers;
  fate.save = 'refused';
  await t.rejects(scene.host.sessions.end(await scene.actor(id)), unavailable);
  t.equal(scene.clock.timers, before + 1);
  scene.host.sessions.population.discard(id);
  t.equal(scene.clock.timers, before - 1, 'nor is its deadline');
  scene.host.close();
});

t.test('an end that arrives after the first poll is found', async (t) => {
  const { scene, fate } = await openFaulty();
  const { id } = await scene.session();
  const talk = await scene.streaming(id);
  const actor = await scene.actor(id);
  const { record, basis } = actor;
  fate.save = 'refused';
  await t.rejects(scene.host.sessions.end(actor), unavailable);
  await pass(scene, 2000);
  t.equal(talk.cancelled(), false);
  // The step was on its way all the time.
  const ended = {
    ...record,
    mark: 'late',
    machine: { ...record.machine, state: 'ended', context: { ...(record.machine.context as object), endedAt: 1 } },
  };
  fate.save = 'done';
  t.not(await scene.store.sessions.save(ended, basis), null);
  await pass(scene, unsettledLookMsMax);
  await talk.runner.over;
  t.same([talk.runner.log.terminal, await scene.state(id)], [{ type: 'aborted' }, 'ended']);
  scene.host.close();
});

t.test('a session that another process has ended stops the turn that runs here without a request', async (t) => {
  const { scene } = await openFaulty();
  const { id } = await scene.session();
  const talk = await scene.streaming(id);
  const { record, version } = (await scene.store.sessions.read(scene.workspaceId, id))!;
  await scene.store.sessions.save(
    { ...record, mark: 'elsewhere', machine: { ...record.machine, state: 'expired' } },
    { version, mark: record.mark },
  );
  await scene.actor(id);
  await talk.runner.over;
  t.same(talk.runner.log.terminal, { type: 'failed', errorCode: 'session_expired' });
  scene.host.close();
});

for (const how of ['its own deadline', 'a chat', 'an end', 'an abort'] as const) {
  t.test(`a session that ${how} found expired, without an answer, cuts its turn`, async (t) => {
    const { scene, fate } = await openFaulty();
    const { id, expiresAt } = await scene.session({ maxCallSeconds: 10 });
    const talk = await scene.streaming(id);
    const actor = await scene.actor(id);
    fate.save = 'lost';
    if (how === 'its own deadline') await pass(scene, 10_000);
    else {
      // The wall clock is ahead of the timer, so the request comes first.
      scene.clock.jump(10_000);
      const asked: Promise<unknown> =
        how === 'a chat'
          ? scene.begin(id)
          : how === 'an end'
            ? scene.host.sessions.end(actor)
            : scene.host.sessions.abort(actor, talk.runner.turnId);
      await t.rejects(asked, unavailable);
    }
    fate.save = 'done';
    await pass(scene, unsettledLookMsMax);
    await talk.runner.over;
    t.same(talk.runner.log.terminal, { type: 'failed', errorCode: 'session_expired' });
    t.match((await scene.store.sessions.read(scene.workspaceId, id))!.record.machine, {
      state: 'expired',
      context: { endedAt: expiresAt, activeTurnId: null },
    });
    t.match((await scene.transcript(id)).at(-1), {
      content: 'one ',
      status: 'partial',
      stopReason: 'expired',
      errorCode: 'session_expired',
    });
    scene.host.close();
  });
}

t.test('a stop whose reply is lost is requested again, and the turn is stopped once', async (t) => {
  const one = await Scene.open();
  const owner = one.beside(withSteps(one.store, { leaseMs: limits.leaseMs }));
  const { scene: asker, fate } = await openFaulty(true, one);
  await owner.host.start();
  for (const verb of ['abort', 'end'] as const) {
    const { id } = await owner.session();
    const talk = await owner.streaming(id);
    const actor = await asker.actor(id);
    const ask = () =>
      verb === 'abort' ? asker.host.sessions.abort(actor, talk.runner.turnId) : asker.host.sessions.end(actor);
    fate.stop = 'lost';
    await t.rejects(ask(), unavailable);
    t.not(await one.state(id), 'ended', 'the end waits for the stop');
    fate.stop = 'done';
    let answered = false;
    const again = ask().then(() => (answered = true));
    await pass(owner, 2 * limits.leaseMs);
    t.equal(answered, true);
    await again;
    t.same([talk.runner.log.terminal, await one.state(id)], [{ type: 'aborted' }, verb === 'abort' ? 'open' : 'ended']);
    t.match((await one.transcript(id)).at(-1), { content: 'one ', stopReason: 'aborted' });
  }
  await turnOfTheLoop();
  owner.host.close();
  asker.host.close();
});
