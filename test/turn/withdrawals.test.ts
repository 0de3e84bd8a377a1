/** Turns that wait to be withdrawn: how many may, for how long, and what ends the waiting. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import type { Steps } from '../../src/store/steps.ts';
import { left, nothing, open, passing, remember, unanswered } from './losses.ts';
import { Scene, withSteps } from '../host/scene.ts';
import { storeRetryMsMax } from '../../src/base/store-retry.ts';

t.test('a process that ends waits for its withdrawals no longer than for its seals', async (t) => {
  const { scene, losses, pass, close } = await open();
  const [one, two] = [await scene.session(), await scene.session()];
  losses.set('beginTurn', 'the answer').set('withdrawTurn', 'the step');
  await t.rejects(scene.begin(one.id), unanswered);
  await t.rejects(scene.begin(two.id), unanswered);
  let over = false;
  const drained = scene.host.turns.drain(30_000, 5000).then(() => (over = true));
  await pass(4500);
  t.equal(over, false);
  await pass(1000);
  t.equal(over, true);
  const again = scene.host.turns.drain(30_000, 5000);
  losses.clear();
  await pass(storeRetryMsMax);
  await Promise.all([drained, again]);
  t.match(await left(scene, one.id), nothing);
  close();
  t.equal(scene.clock.timers, 0, 'nothing is left running');
});

t.test('a turn is refused while the bound of waiting withdrawals is reached', async (t) => {
  const { scene, losses, pass, close } = await open();
  const waiting = limits.withdrawalsMax;
  const { id } = await scene.session();
  const { id: other } = await scene.session();
  losses.set('beginTurn', 'the answer').set('withdrawTurn', 'the step');
  try {
    (limits as { withdrawalsMax: number }).withdrawalsMax = 1;
    await t.rejects(scene.begin(id), unanswered);
    losses.delete('beginTurn');
    await t.rejects(scene.begin(other), {
      message: 'Too many turns wait to be withdrawn. Repeat the request once the store is back.',
    });
  } finally {
    (limits as { withdrawalsMax: number }).withdrawalsMax = waiting;
  }
  losses.clear();
  await pass(storeRetryMsMax);
  t.ok(await scene.streaming(other));
  close();
});

t.test('a withdrawal that fails for a fault in the program ends, and is reported', async (t) => {
  const made = await Scene.open();
  const bug = new TypeError('a bug');
  const scene = made.beside(
    withSteps(made.store, {
      leaseMs: limits.leaseMs,
      beginTurn: () => Promise.reject(new StoreUnavailable('no answer')),
      withdrawTurn: () => Promise.reject(bug),
    }),
  );
  await t.rejects(scene.begin((await scene.session()).id), unanswered);
  while (scene.faults.length === 0) await turnOfTheLoop();
  t.same(scene.faults, [{ reason: 'error', cause: bug }]);
  scene.host.close();
  t.equal(scene.clock.timers, 0);
});

t.test('a store with a single owner rejects a turn for certain, and leaves nothing to withdraw', async (t) => {
  const made = await Scene.open();
  let full = true;
  const refused =
    <Step extends object, Answer>(take: (step: Step) => Promise<Answer>) =>
    (step: Step) =>
      full ? Promise.reject(new StoreUnavailable('The disk is full.')) : take(step);
  const { store } = made;
  const scene = made.beside(withSteps(store, { beginTurn: refused(store.turns.begin.bind(store.turns)) }));
  const { id } = await scene.session();
  await t.rejects(scene.begin(id), { message: 'The disk is full.' });
  full = false;
  t.ok(await scene.begin(id), 'at once');

  full = true;
  const other = made.beside(
    withSteps(store, {
      appendOutput: refused(store.turns.append.bind(store.turns)),
      withdrawTurn: refused(store.turns.withdraw.bind(store.turns)),
    }),
  );
  const session = await other.session();
  const talk = await other.begin(session.id, remember);
  talk.model.text('one');
  t.same(await talk.runner.begun, { kind: 'unavailable' });
  await passing(made, storeRetryMsMax);
  full = false;
  await passing(made, storeRetryMsMax);
  t.match(await left(other, session.id), { ...nothing, slots: 1 }, 'the first piece leaves nothing either');
  t.ok(await other.streaming(session.id));
  for (const { host } of [scene, other]) host.close();
});

t.test('a clock that is set back locks no turn that waits to be withdrawn for longer than a lease', async (t) => {
  const made = await Scene.open();
  const leases: number[] = [];
  const takeOverTurn: Steps['takeOverTurn'] = (_place, _owner, untilMs, nowMs) => {
    leases.push(untilMs - nowMs);
    return Promise.reject(new StoreUnavailable('no answer'));
  };
  // The turn has begun although its answer was lost, and another process has taken it over: it is withdrawn once it is
  // taken over from that.
  const beginTurn: Steps['beginTurn'] = (step) =>
    made.store.turns.begin({ ...step, owner: 'another' }).then(() => Promise.reject(new StoreUnavailable('no answer')));
  const scene = made.beside(withSteps(made.store, { leaseMs: limits.leaseMs, beginTurn, takeOverTurn }));
  await t.rejects(scene.begin((await scene.session()).id), unanswered);
  while (leases.length === 0) await turnOfTheLoop();
  made.clock.jump(-200_000);
  while (leases.length === 1) await passing(made, storeRetryMsMax);
  t.same(leases.slice(0, 2), [limits.leaseMs, limits.leaseMs]);
  t.ok(
    leases.every((lease) => lease <= limits.leaseMs),
    `${leases}`,
  );
  scene.host.close();
});
