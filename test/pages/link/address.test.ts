/**
 * The limits of one address: its places and its minutes, over midnight, ends, withdrawals and deaths of processes
 * (contract 9).
 */
import t from 'tap';
import { nobody } from '../../../src/actors/cause.ts';
import { limits } from '../../../src/base/limits.ts';
import { ceilingOf } from '../../../src/host/link-budget.ts';
import { pass, Scene } from '../../host/scene.ts';
import { dayMs, lateAtNight, linkSession, refusal, say, sealed, unlimited, used, usedAt, visitorOf } from './stage.ts';

const hold = limits.linkHoldMs;
const places = { ...unlimited, places_per_address: 1 };
const minutes = { ...unlimited, minutes_per_address: 1 };

t.test('an address has half of the link unless its limits say otherwise', (t) => {
  const both = (given: object) => [ceilingOf(given, 'places_per_address'), ceilingOf(given, 'minutes_per_address')];
  for (const [given, ceilings] of [
    [{}, [12, 300]],
    [{ concurrent_visitors: 51, minutes_per_day: 61 }, [25, 30]],
    [{ concurrent_visitors: 3, minutes_per_day: 1 }, [5, 30]],
    [{ concurrent_visitors: 0, minutes_per_day: 0 }, [5, 30]],
    [{ concurrent_visitors: null, minutes_per_day: null }, [null, null]],
    [{ concurrent_visitors: null, minutes_per_day: null, places_per_address: 2, minutes_per_address: 3 }, [2, 3]],
    [{ places_per_address: null, minutes_per_address: null }, [null, null]],
    [{ places_per_address: 0, minutes_per_address: 0 }, [0, 0]],
  ] as const)
    t.same(both(given), ceilings, JSON.stringify(given));
  t.end();
});

t.test('an address takes half of the places, and the rest is for others', async (t) => {
  const scene = await Scene.open();
  const ask = async (number: number, address: string) => {
    const { id } = await linkSession(scene, `vis_${number}`);
    return say(scene, id, visitorOf(scene, `vis_${number}`, {}, address));
  };
  for (let number = 1; number <= 12; number++) await sealed(await ask(number, 'a'));
  t.same(await refusal(ask(13, 'a')), [['places_per_address'], 60]);
  for (let number = 14; number <= 25; number++) await sealed(await ask(number, 'b'));
  t.same(await refusal(ask(26, 'b')), [['places_per_address'], 60]);
  await sealed(await ask(27, 'c'));
  t.same(await refusal(ask(28, 'd')), [['concurrent_visitors'], 60]);
  t.same(
    [await usedAt(scene, 'a'), await used(scene)],
    [
      { ms: 12 * hold, visitors: 12 },
      { ms: 25 * hold, visitors: 25 },
    ],
  );
  scene.host.close();
});

t.test('an address uses its minutes, whatever the number of its visitors', async (t) => {
  const scene = await Scene.open();
  const ask = async (visitorId: string, address: string) =>
    say(
      scene,
      (await linkSession(scene, visitorId)).id,
      visitorOf(scene, visitorId, { minutes_per_day: 100, minutes_per_address: 2 }, address),
    );
  await sealed(await ask('vis_1', 'a'));
  await sealed(await ask('vis_2', 'a'));
  const untilMidnight = Math.ceil((dayMs - (scene.clock.now() % dayMs)) / 1000);
  t.same(await refusal(ask('vis_3', 'a')), [['minutes_per_address'], untilMidnight]);
  await sealed(await ask('vis_3', 'b'));
  scene.host.close();
});

t.test('places that are taken before midnight count after it', async (t) => {
  const scene = await lateAtNight(20_000);
  const [one, two] = [await linkSession(scene, 'vis_1'), await linkSession(scene, 'vis_2')];
  const ask = (id: string, visitorId: string) => say(scene, id, visitorOf(scene, visitorId, places, 'a'));
  await sealed(await ask(one.id, 'vis_1'));
  t.same(await refusal(ask(two.id, 'vis_2')), [['places_per_address'], 60]);
  await pass(scene, 25_000);
  t.equal((await usedAt(scene, 'a')).visitors, 1);
  t.same(await refusal(ask(two.id, 'vis_2')), [['places_per_address'], 35]);
  await pass(scene, 35_000);
  await sealed(await ask(two.id, 'vis_2'));
  scene.host.close();
});

t.test('a turn over midnight is charged to the address on the day of its seal', async (t) => {
  const scene = await lateAtNight(20_000);
  const { id } = await linkSession(scene, 'vis_1');
  const turn = await say(scene, id, visitorOf(scene, 'vis_1', minutes, 'a'));
  t.same(await usedAt(scene, 'a'), { ms: hold, visitors: 1 });
  await pass(scene, 40_000);
  t.same(await usedAt(scene, 'a'), { ms: 0, visitors: 1 }, 'a new day');
  await sealed(turn);
  t.same(await usedAt(scene, 'a'), { ms: 40_000, visitors: 1 });
  t.equal((await used(scene)).ms, 40_000);
  scene.host.close();
});

t.test('the end of a session gives its address back what lies ahead', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1', { ...minutes, ...places }, 'a');
  const other = scene.beside();
  for (const { host } of [scene, other]) {
    const { id } = await linkSession(scene, 'vis_1');
    const before = (await usedAt(scene, 'a')).ms;
    await sealed(await say(scene, id, use));
    await pass(scene, 10_000);
    await host.sessions.end((await host.sessions.of(scene.workspaceId, id))!, nobody, use);
    t.same(await usedAt(scene, 'a'), { ms: before + 10_000, visitors: 0 });
  }
  for (const end of [use, undefined]) {
    const { id } = await linkSession(scene, 'vis_1');
    const before = (await usedAt(scene, 'a')).ms;
    await say(scene, id, use);
    await pass(scene, 15_000);
    await scene.host.sessions.end(await scene.actor(id), nobody, end);
    t.same(
      await usedAt(scene, 'a'),
      { ms: before + 15_000, visitors: 0 },
      'the seal of a turn in flight knows its address, whoever ends the session',
    );
  }
  const { id } = await linkSession(scene, 'vis_1');
  const before = (await usedAt(scene, 'a')).ms;
  await sealed(await say(scene, id, use));
  await scene.host.sessions.end(await scene.actor(id));
  t.same(
    await usedAt(scene, 'a'),
    { ms: before + hold, visitors: 1 },
    'whoever does not come from the address frees nothing there',
  );
  await pass(scene, hold);
  t.equal((await usedAt(scene, 'a')).visitors, 0);
  for (const { host } of [scene, other]) host.close();
});

t.test('a withdrawn turn leaves its address as it was', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1', { ...places, minutes_per_address: 2 }, 'a');
  const { id } = await linkSession(scene, 'vis_1');
  await sealed(await say(scene, id, use));
  await pass(scene, 20_000);
  const before = await usedAt(scene, 'a');
  for (let again = 0; again < 3; again++) {
    const turn = await say(scene, id, use);
    turn.runner.failed('credential');
    await turn.runner.over;
    t.same(await usedAt(scene, 'a'), before);
  }
  const ended = await say(scene, id, use);
  await scene.host.sessions.end(await scene.actor(id));
  ended.runner.failed('credential');
  await ended.runner.over;
  t.same(await usedAt(scene, 'a'), { ms: 20_000, visitors: 0 }, 'also where its session has ended');
  scene.host.close();
});

t.test('the turn of a dead process is charged to its address, and frees its place', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1', { ...minutes, ...places }, 'a');
  const { id } = await linkSession(scene, 'vis_1', 40);
  const expiring = await say(scene, id, use);
  expiring.model.text('one');
  await expiring.runner.begun;
  await pass(scene, 10_000);
  const after = await scene.afterDeath();
  await after.host.start();
  t.same(await usedAt(after, 'a'), { ms: 40_000, visitors: 1 }, 'no clock runs beyond its session');
  await pass(after, 30_000);
  t.equal((await usedAt(after, 'a')).visitors, 0);
  after.host.close();
});

t.test('a session that expires while no process runs its turn settles its address', async (t) => {
  const scene = await Scene.open();
  const use = visitorOf(scene, 'vis_1', { ...minutes, ...places }, 'a');
  const { id } = await linkSession(scene, 'vis_1', 90);
  const turn = await say(scene, id, use);
  turn.model.text('one');
  await turn.runner.begun;
  scene.host.close();
  scene.clock.advance(120_000);
  const after = await scene.afterDeath();
  await after.host.start();
  t.same(
    [await usedAt(after, 'a'), await used(after)],
    [
      { ms: 90_000, visitors: 0 },
      { ms: 90_000, visitors: 0 },
    ],
  );
  after.host.close();
});

t.test(
  'somebody who speaks on a voice socket is charged to the address of the socket, up to its minutes',
  async (t) => {
    const scene = await Scene.open();
    const { id } = await linkSession(scene, 'vis_1');
    const use = (address: string) =>
      visitorOf(scene, 'vis_1', { ...unlimited, minutes_per_address: 2, places_per_address: 1 }, address);
    const speaks = async (address: string) =>
      scene.host.sessions.keepPresent(
        await scene.actor(id),
        use(address),
        scene.clock.now() + limits.linkSocketAheadMs,
        nobody,
      );
    await scene.host.sessions.spend(await scene.actor(id), use('a'));
    t.same(await usedAt(scene, 'a'), { ms: hold, visitors: 1 });
    for (let ms = 0; ms < 100_000; ms += limits.linkSocketMs) {
      await speaks('a');
      await pass(scene, limits.linkSocketMs);
    }
    const { ms } = await usedAt(scene, 'a');
    t.ok(ms >= 100_000 && ms <= 120_000, String(ms));
    for (let times = 0; times < 4; times++) {
      await speaks('a').catch(() => {});
      await pass(scene, limits.linkSocketMs);
    }
    const [[refusing]] = [await refusal(speaks('a'))];
    t.same(refusing, ['minutes_per_address'], 'a clock that runs stops as well');
    t.ok((await usedAt(scene, 'a')).ms < 120_000 + limits.linkSocketAheadMs);
    await speaks('b');
    t.equal((await usedAt(scene, 'b')).visitors, 1, 'another address has minutes of its own');
    scene.host.close();
  },
);

t.test('a voice socket that was silent takes its place anew, if one is free', async (t) => {
  const scene = await Scene.open();
  const narrow = { ...unlimited, concurrent_visitors: 1, minutes_per_day: 2 };
  const [silent, other] = [await linkSession(scene, 'vis_1'), await linkSession(scene, 'vis_2')];
  const speaks = async () =>
    scene.host.sessions.keepPresent(
      await scene.actor(silent.id),
      visitorOf(scene, 'vis_1', narrow),
      scene.clock.now() + limits.linkSocketAheadMs,
      nobody,
    );
  await scene.host.sessions.spend(await scene.actor(silent.id), visitorOf(scene, 'vis_1', narrow));
  await pass(scene, hold);
  await sealed(await say(scene, other.id, visitorOf(scene, 'vis_2', narrow)));
  t.same((await refusal(speaks()))[0], ['minutes_per_day', 'concurrent_visitors']);
  await scene.host.sessions.end(await scene.actor(other.id), nobody, visitorOf(scene, 'vis_2', narrow));
  await speaks();
  t.same(await used(scene), { ms: hold + limits.linkSocketAheadMs, visitors: 1 });
  scene.host.close();
});

t.test('a voice socket over midnight is counted under the key of the new day', async (t) => {
  const scene = await lateAtNight(7_000);
  const { id } = await linkSession(scene, 'vis_1');
  const speaks = async () =>
    scene.host.sessions.keepPresent(
      await scene.actor(id),
      visitorOf(scene, 'vis_1', places, 'a'),
      scene.clock.now() + limits.linkSocketAheadMs,
      nobody,
    );
  const next = await linkSession(scene, 'vis_2');
  for (let times = 0; times < 4; times++) {
    await speaks();
    await pass(scene, limits.linkSocketMs);
    t.equal((await usedAt(scene, 'a')).visitors, 1);
    t.same((await refusal(say(scene, next.id, visitorOf(scene, 'vis_2', places, 'a'))))[0], ['places_per_address']);
  }
  t.equal((await usedAt(scene, 'a')).ms, 2 * limits.linkSocketMs, 'two of the charges were made on the new day');
  scene.host.close();
});
