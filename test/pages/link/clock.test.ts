/**
 * The clock of a visitor's session: the minutes that it charges, on which day, and the minutes that it gives back
 * (contract 9).
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { nobody } from '../../../src/actors/cause.ts';
import { limits } from '../../../src/base/limits.ts';
import { StoreUnavailable, type Store } from '../../../src/store/store.ts';
import { pass, Scene, withSteps } from '../../host/scene.ts';
import {
  dayMs,
  lateAtNight,
  linkSession,
  refusal,
  say,
  sealed,
  unlimited,
  used,
  visitorOf,
  type LinkTurn,
} from './stage.ts';
import { storeRetryMsMax } from '../../../src/base/store-retry.ts';

const hold = limits.linkHoldMs;

/** A turn takes its time, and says something now and then. */
async function runs(scene: Scene, turn: LinkTurn, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    turn.model.text('.');
    await pass(scene, Math.min(left, 10_000));
  }
}

/** Milliseconds of such a turn, longer than a clock runs by itself. */
const longMs = 90_000;

t.test('a turn is charged from its message to a minute after its seal, and no time twice', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1');
  const { id } = await linkSession(scene, 'vis_1');
  const first = await say(scene, id, use);
  t.same(await used(scene), { ms: hold, visitors: 1 });
  await runs(scene, first, longMs);
  t.same(await used(scene), { ms: hold, visitors: 1 }, 'the place outlasts the minute while the turn runs');
  await sealed(first);
  t.same(await used(scene), { ms: longMs + hold, visitors: 1 });
  await pass(scene, 10_000);
  await sealed(await say(scene, id, use));
  t.same(
    await used(scene),
    { ms: longMs + hold + 10_000, visitors: 1 },
    'a message while the clock runs charges what it moves on',
  );
  await pass(scene, hold - 1);
  t.same((await used(scene)).visitors, 1);
  await pass(scene, 1);
  t.same(await used(scene), { ms: longMs + hold + 10_000, visitors: 0 });
  await pass(scene, 5 * hold);
  await sealed(await say(scene, id, use));
  t.equal((await used(scene)).ms, longMs + 2 * hold + 10_000, 'a clock that stood still charges nothing for that time');
  scene.host.close();
  t.equal(scene.clock.timers, 0, 'nothing is left running');
});

t.test('an end gives back what lies ahead, and charges what a turn has taken longer', async (t) => {
  const scene = await Scene.open();
  const [one, other] = [await linkSession(scene, 'vis_1'), await linkSession(scene, 'vis_1')];
  const use = visitorOf(scene, 'vis_1');
  await sealed(await say(scene, one.id, use));
  await pass(scene, 15_000);
  await sealed(await say(scene, other.id, use));
  await scene.host.sessions.end(await scene.actor(one.id));
  t.same(await used(scene), { ms: 15_000 + hold, visitors: 1 }, 'each session has a clock, and the other one runs');
  await runs(scene, await say(scene, other.id, use), longMs);
  await scene.host.sessions.end(await scene.actor(other.id));
  t.same(await used(scene), { ms: 15_000 + longMs, visitors: 0 });
  await scene.host.sessions.end(await scene.actor(other.id));
  t.same(await used(scene), { ms: 15_000 + longMs, visitors: 0 }, 'once');
  scene.host.close();
});

t.test('a clock ends with its session', async (t) => {
  const scene = await Scene.open();
  const { id, expiresAt } = await linkSession(scene, 'vis_1', 100);
  const use = visitorOf(scene, 'vis_1');
  await pass(scene, 50_000);
  await sealed(await say(scene, id, use));
  t.same(await used(scene), { ms: expiresAt * 1000 - scene.clock.now(), visitors: 1 });
  await pass(scene, 50_000);
  t.equal((await used(scene)).visitors, 0);
  const cut = await linkSession(scene, 'vis_1', 100);
  const before = (await used(scene)).ms;
  await pass(scene, 20_000);
  const begunAt = scene.clock.now();
  const turn = await say(scene, cut.id, use);
  await runs(scene, turn, 90_000);
  await turn.runner.over;
  const lasted = cut.expiresAt * 1000 - begunAt;
  t.same(await used(scene), { ms: before + lasted, visitors: 0 }, 'a turn that is cut with its session');
  scene.host.close();
});

t.test('an open voice socket is charged while it is open, and its visitor is present', async (t) => {
  const scene = await Scene.open();
  const ahead = limits.linkSocketAheadMs;
  const use = visitorOf(scene, 'vis_1');
  const { id } = await linkSession(scene, 'vis_1');
  const listens = async (ms: number, { host } = scene): Promise<void> => {
    for (let left = ms; left > 0; left -= limits.linkSocketMs) {
      await host.sessions.keepPresent(
        (await host.sessions.of(scene.workspaceId, id))!,
        use,
        scene.clock.now() + ahead,
        nobody,
      );
      await pass(scene, Math.min(left, limits.linkSocketMs));
    }
  };
  await scene.host.sessions.spend(await scene.actor(id), use);
  t.same(await used(scene), { ms: hold, visitors: 1 }, 'its token is a message');
  await listens(hold - ahead);
  t.same(await used(scene), { ms: hold, visitors: 1 }, 'no time is charged twice');
  await listens(10 * 60_000);
  const longer = hold - ahead + 10 * 60_000 - limits.linkSocketMs + ahead;
  t.same(await used(scene), { ms: longer, visitors: 1 });
  await pass(scene, ahead - limits.linkSocketMs);
  t.same(await used(scene), { ms: longer, visitors: 0 }, 'it closes, or its process dies');

  await listens(limits.linkSocketMs);
  t.same(await used(scene), { ms: longer + ahead, visitors: 1 });
  const turn = await say(scene, id, use);
  await runs(scene, turn, longMs);
  await listens(limits.linkSocketMs);
  const [{ visitors }, before] = [await used(scene), await used(scene)];
  t.equal(visitors, 1, "while a turn runs the clock is the turn's");
  await sealed(turn);
  t.equal(
    (await used(scene)).ms,
    longer + limits.linkSocketMs + longMs + limits.linkSocketMs + hold,
    'and all of the time is charged once',
  );
  t.ok(before.ms <= longer + ahead + hold);
  const one = await used(scene);
  await pass(scene, hold + 1_000);
  await Promise.all([listens(60_000), listens(0)]);
  const second = scene.beside(scene.store);
  await Promise.all(
    [scene, second].map(async ({ host }) =>
      host.sessions.keepPresent(
        (await host.sessions.of(scene.workspaceId, id))!,
        use,
        scene.clock.now() + ahead,
        nobody,
      ),
    ),
  );
  t.equal((await used(scene)).ms, one.ms + 60_000 + ahead, 'by two sockets, of two processes, once');
  await scene.host.sessions.end(await scene.actor(id));
  t.same(await used(scene), { ms: one.ms + 60_000, visitors: 0 }, 'the end gives back what lies ahead');
  await scene.host.sessions.keepPresent(await scene.actor(id), use, scene.clock.now() + ahead, nobody);
  t.same(await used(scene), { ms: one.ms + 60_000, visitors: 0 }, 'and no socket takes it again');
  scene.host.close();
  second.host.close();
});

t.test('an open voice socket over midnight, and beyond its session', async (t) => {
  const scene = await lateAtNight(7_000);
  const { id, expiresAt } = await linkSession(scene, 'vis_1', 20);
  const keep = async (): Promise<void> =>
    scene.host.sessions.keepPresent(
      await scene.actor(id),
      visitorOf(scene, 'vis_1'),
      scene.clock.now() + limits.linkSocketAheadMs,
      nobody,
    );
  await keep();
  t.equal((await used(scene)).ms, limits.linkSocketAheadMs);
  await pass(scene, 7_000);
  t.equal((await used(scene)).ms, 0, 'a new day');
  await keep();
  t.equal(
    (await used(scene)).ms,
    expiresAt * 1000 - scene.clock.now() - (limits.linkSocketAheadMs - 7_000),
    'no clock runs beyond its session',
  );
  await pass(scene, 14_000);
  await keep();
  t.same((await used(scene)).visitors, 0);
  scene.host.close();
});

t.test("a day's limits begin anew at midnight", async (t) => {
  const scene = await lateAtNight(30_000);
  const strict = { ...unlimited, minutes_per_day: 1, messages_per_visitor_per_day: 1 };
  const use = visitorOf(scene, 'vis_1', strict);
  const { id } = await linkSession(scene, 'vis_1');
  const turn = await say(scene, id, use);
  t.equal((await used(scene)).ms, hold, 'the day of the message pays a minute at once');
  const other = await linkSession(scene, 'vis_2');
  t.same(await refusal(say(scene, other.id, visitorOf(scene, 'vis_2', strict))), [['minutes_per_day'], 30]);
  await pass(scene, 29_000);
  t.same(
    await refusal(say(scene, other.id, visitorOf(scene, 'vis_2', strict))),
    [['minutes_per_day'], 1],
    'to the second',
  );
  await pass(scene, 1000);
  t.equal((await used(scene)).ms, 0, 'a new day');
  await pass(scene, 20_000);
  await sealed(turn);
  t.equal((await used(scene)).ms, 50_000, 'the day of the seal pays what the clock moved on');
  const third = await linkSession(scene, 'vis_3');
  await sealed(await say(scene, third.id, visitorOf(scene, 'vis_3')));
  await pass(scene, 5000);
  await scene.host.sessions.end(await scene.actor(id));
  t.equal((await used(scene)).ms, hold, 'and gets back no more than it paid');
  await scene.host.sessions.end(await scene.actor(third.id));
  t.equal((await used(scene)).ms, 5000);
  await sealed(await say(scene, other.id, visitorOf(scene, 'vis_2', strict)));
  t.same(await refusal(say(scene, other.id, visitorOf(scene, 'vis_2', strict))), [
    ['minutes_per_day', 'messages_per_visitor_per_day'],
    (dayMs - 25_000) / 1000,
  ]);
  scene.host.close();
});

t.test('the waits of places and addresses, and the longest of several', async (t) => {
  const scene = await Scene.open();
  const narrow = { ...unlimited, concurrent_visitors: 1, messages_per_address_per_hour: 2 };
  const [one, two] = [await linkSession(scene, 'vis_1'), await linkSession(scene, 'vis_2')];
  const long = await say(scene, one.id, visitorOf(scene, 'vis_1', narrow, 'a'));
  const ask = (address: string) => say(scene, two.id, visitorOf(scene, 'vis_2', narrow, address));
  t.same(await refusal(ask('b')), [['concurrent_visitors'], 60], 'of a turn in flight nobody knows the end');
  await sealed(long);
  await pass(scene, 12_500);
  t.same(await refusal(ask('b')), [['concurrent_visitors'], 48]);
  await sealed(await say(scene, one.id, visitorOf(scene, 'vis_1', narrow, 'a')));
  t.same(
    await refusal(ask('a')),
    [['concurrent_visitors', 'messages_per_address_per_hour'], 1788],
    'half an hour for one, of which 12.5 s are over',
  );
  await pass(scene, 47_000);
  t.same(await refusal(ask('b')), [['concurrent_visitors'], 13]);
  await pass(scene, 13_000);
  await sealed(await ask('b'));
  scene.host.close();
});

t.test('a withdrawn turn leaves all as it was', async (t) => {
  const scene = await Scene.open();
  const narrow = {
    minutes_per_day: 2,
    concurrent_visitors: 1,
    messages_per_visitor_per_day: 2,
    messages_per_address_per_hour: 2,
  };
  const use = visitorOf(scene, 'vis_1', narrow);
  const { id } = await linkSession(scene, 'vis_1');
  await sealed(await say(scene, id, use));
  await pass(scene, 20_000);
  const before = await used(scene);
  for (let again = 0; again < 3; again++) {
    const turn = await say(scene, id, use);
    turn.runner.failed('credential');
    await turn.runner.over;
    t.same(await used(scene), before);
  }
  await pass(scene, 40_000);
  t.equal((await used(scene)).visitors, 0, 'the clock runs out when it would have');
  await sealed(await say(scene, id, use));
  scene.host.close();
});

t.test('a lost answer to a begin takes nothing, once the turn is withdrawn', async (t) => {
  const plain = await Scene.open();
  let lost = true;
  const steps: Partial<Store['turns']> & Record<string, unknown> = {
    leaseMs: limits.leaseMs,
    beginTurn: async (...given: Parameters<Store['turns']['begin']>) => {
      const answer = await plain.store.turns.begin(...given);
      if (lost) throw new StoreUnavailable('no answer');
      return answer;
    },
    withdrawTurn: async (...given: Parameters<Store['turns']['withdraw']>) => {
      await plain.store.turns.withdraw(...given);
      return plain.store.turns.withdraw(...given);
    },
  };
  const scene = plain.beside(withSteps(plain.store, steps));
  const use = visitorOf(scene, 'vis_1', {
    minutes_per_day: 1,
    concurrent_visitors: 1,
    messages_per_visitor_per_day: 1,
    messages_per_address_per_hour: 1,
  });
  const { id } = await linkSession(scene, 'vis_1');
  await t.rejects(say(scene, id, use), { message: 'no answer' });
  await pass(scene, storeRetryMsMax);
  t.same(await used(scene), { ms: 0, visitors: 0 });
  lost = false;
  await sealed(await say(scene, id, use));
  t.equal((await used(scene)).ms, hold);
  scene.host.close();
});

t.test('a process that dies in mid-turn leaks no place, no turn and no minutes', async (t) => {
  const scene = await Scene.open();
  const narrow = { ...unlimited, concurrent_visitors: 1 };
  const use = visitorOf(scene, 'vis_1', narrow);
  const [streaming, silent] = [await linkSession(scene, 'vis_1'), await linkSession(scene, 'vis_1')];
  const turn = await say(scene, streaming.id, use);
  turn.model.text('one');
  await turn.runner.begun;
  t.same(await refusal(say(scene, silent.id, use)), [['visitor_turn'], 1]);
  await pass(scene, 10_000);
  const after = await scene.afterDeath();
  await after.host.start();
  t.same(await used(after), { ms: 10_000 + hold, visitors: 1 }, 'sealed when the next process found it');
  await say(after, silent.id, use);
  const last = await after.afterDeath();
  await last.host.start();
  t.same(await used(last), { ms: 10_000 + hold, visitors: 1 }, 'one that had said nothing is withdrawn');
  await pass(last, hold);
  await sealed(await say(last, (await linkSession(last, 'vis_2')).id, visitorOf(last, 'vis_2', narrow)));
  last.host.close();
});

t.test('the machine shows who is away, present and limited', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1', { ...unlimited, messages_per_address_per_hour: 2 });
  const { id } = await linkSession(scene, 'vis_1');
  const states: string[] = [];
  const state = () => scene.host.awake().find(({ actor }) => actor.kind === 'visitor')?.state;
  await sealed(await say(scene, id, use));
  states.push(state()!);
  await sealed(await say(scene, id, use));
  await refusal(say(scene, id, use));
  states.push(state()!);
  await pass(scene, hold);
  states.push(state()!);
  await pass(scene, 1800_000);
  await turnOfTheLoop();
  states.push(state() ?? 'asleep');
  t.same(states, ['present', 'limited', 'limited', 'asleep'], 'an address gets a message back in half an hour');
  await sealed(await say(scene, id, use));
  await scene.host.sessions.end(await scene.actor(id));
  t.equal(state(), 'away');
  scene.host.close();
  t.equal(scene.clock.timers, 0);
});
