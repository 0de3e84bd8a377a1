/** Rollouts over three processes on one Redis: the hash alone decides the shares, and a halt comes with its turn [A1]. */
import t, { type Test } from 'tap';
import { rolloutPlace } from '../../src/host/release.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, textOf, type House } from './house.ts';
import { assistantPath, operate, say, sessionOf, synthetic, transcriptOf, until } from './talk.ts';

/** Sessions that are compared with the hash; 10,000 for the full size. */
const sessionsMax = Number(process.env['PARLEY_ROLLOUT_SESSIONS'] ?? 300);
/** Processes that are killed in the middle of a rollout; 300 for the full size. */
const killsMax = Number(process.env['PARLEY_ROLLOUT_KILLS'] ?? 3);
/** Sessions that are created at a time. */
const atOnce = 30;

const options = { skip: whyNoRedis() ?? false };

const post = (house: House, id: string, verb: string, body: object = {}) =>
  operate(house, 'POST', assistantPath(house, id, `/${verb}`), body);

const reply = async (house: House, sessionId: string): Promise<string> =>
  textOf(await (await say(house, sessionId)).rest()).trim();

/** An assistant with the versions 1, which is current, and 2, on this model. */
async function twoVersions(house: House, second: string): Promise<string> {
  const { id } = await synthetic(house, 'text=one,tokens=1');
  await house.revise(id, { model: { provider: 'synthetic', name: second } });
  await post(house, id, 'rollback');
  return id;
}

t.test('rollouts over three processes', options, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const open = () => openHouse(t, { env });
  const houses = [await open(), await open(), await open()];
  await operate(houses[0]!, 'PATCH', `/workspaces/${houses[0]!.workspaceId}`, { turns_in_flight_max: 1000 });
  await t.test(`${sessionsMax} sessions get the versions of the hash, from the change of a percent on`, (t) =>
    shares(t, houses),
  );
  await t.test('no session gets the candidate after the turn that halts it, in any process', (t) => halts(t, houses));
  await t.test('turns of several processes are counted once each, and halt the rollout once', (t) => counts(t, houses));
  await t.test('turns of a retired candidate get the current version at once in every process', (t) =>
    moves(t, houses),
  );
  await t.test(
    'a session stays on the version that a recall gave it, also where a process has an old copy of it',
    (t) => staleCopy(t, houses),
  );
  await t.test(`a rollout outlasts ${killsMax} killed processes`, (t) => kills(t, houses, open));
});

async function shares(t: Test, houses: readonly House[]): Promise<void> {
  const [first] = houses as [House, ...House[]];
  const id = await twoVersions(first, 'text=two,tokens=1');
  const versions = new Map<string, number>();
  const percents = [10, 50, 51, 99, 20];
  let wrong = 0;
  for (const [index, percent] of percents.entries()) {
    // Each change is made by another process than the one before, and each process creates sessions at once.
    await post(houses[index % houses.length]!, id, 'rollout', { version: 2, percent });
    for (let left = Math.ceil(sessionsMax / percents.length); left > 0; left -= atOnce) {
      const made = await Promise.all(
        Array.from({ length: Math.min(atOnce, left) }, (_, count) => houses[count % houses.length]!.session(id)),
      );
      for (const session of made) {
        versions.set(session.id, session.assistant_version);
        if (session.assistant_version !== (rolloutPlace(id, 2, session.id) < percent ? 2 : 1)) wrong++;
      }
    }
  }
  t.equal(wrong, 0, 'no session differs from the hash');
  t.ok(versions.size >= sessionsMax, `${versions.size} sessions`);
  const views = (await operate(first, 'GET', assistantPath(first, id, '/versions?order=asc'))).data;
  const counted = [1, 2].map((version) => [...versions.values()].filter((each) => each === version).length);
  t.same(
    views.map(({ sessions }: any) => sessions),
    counted,
    'the counts are exact',
  );
  for (const [session, version] of [...versions].slice(0, 20))
    t.equal((await sessionOf(houses[2]!, session)).assistant_version, version, 'a session keeps its version');
}

async function halts(t: Test, houses: readonly House[]): Promise<void> {
  const [first] = houses as [House, ...House[]];
  const id = await twoVersions(first, 'text=two,tokens=2,fail_at=1');
  for (const afterTurns of [10, 13]) {
    await post(first, id, 'rollout', {
      version: 2,
      percent: 99,
      halt: { failed_percent: 50, after_turns: afterTurns },
    });
    const onSecond = async (house: House): Promise<string> => {
      const session = await house.session(id);
      return session.assistant_version === 2 ? session.id : onSecond(house);
    };
    for (let turn = 0; turn < afterTurns; turn++) {
      const house = houses[turn % houses.length]!;
      await reply(house, await onSecond(house));
    }
    const made = await Promise.all(Array.from({ length: 30 }, (_, count) => houses[count % 3]!.session(id)));
    t.same(new Set(made.map(({ assistant_version }) => assistant_version)), new Set([1]), 'no session after the halt');
    const { candidate } = await operate(houses[2]!, 'GET', assistantPath(first, id));
    t.match(candidate, { state: 'halted', turns: afterTurns, failed_turns: afterTurns });
  }
}

async function counts(t: Test, houses: readonly House[]): Promise<void> {
  const [first] = houses as [House, ...House[]];
  const id = await twoVersions(first, 'text=two,tokens=2,fail_at=1');
  await post(first, id, 'rollout', { version: 2, percent: 99, halt: { failed_percent: 50, after_turns: 20 } });
  const turns = await Promise.all(
    Array.from({ length: 60 }, async (_, count) => {
      const session = await houses[count % 3]!.session(id);
      await reply(houses[(count + 1) % 3]!, session.id);
      return (await transcriptOf(houses[(count + 2) % 3]!, session.id)).at(-1).assistant_version as number;
    }),
  );
  const onSecond = turns.filter((version) => version === 2).length;
  t.ok(onSecond >= 20, `${onSecond} turns of the candidate`);
  const { candidate } = await operate(first, 'GET', assistantPath(first, id));
  t.match(candidate, { state: 'halted', turns: onSecond, failed_turns: onSecond });
  const views = (await operate(first, 'GET', assistantPath(first, id, '/versions?order=asc'))).data;
  t.same(
    views.map(({ turns: sealed }: any) => sealed),
    [60 - onSecond, onSecond],
  );
  const { data } = await operate(houses[1]!, 'GET', assistantPath(first, id, '/history?limit=100'));
  t.equal(data.filter(({ event }: any) => event === 'halt').length, 1, 'it is halted once');
}

async function moves(t: Test, houses: readonly House[]): Promise<void> {
  const [first] = houses as [House, ...House[]];
  const id = await twoVersions(first, 'text=two,tokens=1');
  for (let round = 0; round < 3; round++) {
    await post(houses[round]!, id, 'rollout', { version: 2, percent: 99 });
    const made = await Promise.all(Array.from({ length: 12 }, (_, count) => houses[count % 3]!.session(id)));
    const onSecond = made.filter(({ assistant_version }) => assistant_version === 2);
    t.ok(onSecond.length > 0);
    for (const [count, { id: session }] of onSecond.entries()) t.equal(await reply(houses[count % 3]!, session), 'two');
    await post(houses[(round + 1) % 3]!, id, 'rollout/end');
    const said = await Promise.all(onSecond.map(({ id: session }, count) => reply(houses[count % 3]!, session)));
    t.same(new Set(said), new Set(['one']), 'with the first turn after the end');
  }
}

async function staleCopy(t: Test, [first, second]: readonly House[]): Promise<void> {
  const id = await twoVersions(first!, 'text=two,tokens=1');
  const { id: session } = await first!.session(id);
  t.equal(await reply(first!, session), 'one');
  await post(first!, id, 'rollback', { version: 2 });
  await post(first!, id, 'recall');
  t.equal(await reply(second!, session), 'two', 'the recall moves it in the second process');
  await first!.revise(id, { model: { provider: 'synthetic', name: 'text=three,tokens=1' } });
  // The first process still has the session on version 1, before the recall, by which its next turn would be on version 3.
  t.equal(await reply(first!, session), 'two', 'the first process decides again by the stored session');
  t.equal((await sessionOf(second!, session)).assistant_version, 2);
}

/** Kills a process while all create sessions, hold turns and change the percent; another one takes its place. */
async function kills(t: Test, houses: readonly House[], open: () => Promise<House>): Promise<void> {
  const living = [...houses];
  const id = await twoVersions(living[0]!, 'text=two,tokens=3,delay_ms=2,fail_at=2');
  const halt = { failed_percent: 99, after_turns: 100_000 };
  let percent = 5;
  await post(living[0]!, id, 'rollout', { version: 2, percent, halt });
  const known = new Map<string, number>();
  let wrong = 0;
  for (let kill = 0; kill < killsMax; kill++) {
    const [victim] = living.splice(kill % living.length, 1) as [House];
    const before = percent;
    percent = 5 + ((percent + 7) % 90);
    const [low, high] = [Math.min(before, percent), Math.max(before, percent)];
    const work = [victim, ...living].flatMap((house) =>
      Array.from({ length: 4 }, async () => {
        const session = await house.session(id);
        const place = rolloutPlace(id, 2, session.id);
        const may = place < low ? [2] : place < high ? [1, 2] : [1];
        if (!may.includes(session.assistant_version)) wrong++;
        known.set(session.id, session.assistant_version);
        await reply(house, session.id);
      }).map((done) => done.catch((error: unknown) => house === victim || Promise.reject(error as Error))),
    );
    const changed = post(victim, id, 'rollout', { version: 2, percent }).catch(() => null);
    await work[0]!.catch(() => {});
    await victim.kill('SIGKILL');
    await Promise.all(work);
    // A change whose answer was lost may be stored or not.
    if ((await changed) === null) await post(living[0]!, id, 'rollout', { version: 2, percent });
    living.push(await open());
  }
  t.equal(wrong, 0, 'no session differs from the hash');
  const [first] = living as [House, ...House[]];
  await until(async () => {
    const sessions = await Promise.all([...known.keys()].map((session) => sessionOf(first, session)));
    return sessions.every(({ active_turn_id }) => active_turn_id === null);
  });
  let sealed = 0;
  for (const [session, version] of known) {
    t.equal((await sessionOf(first, session)).assistant_version, version, 'a session keeps its version');
    const replies = (await transcriptOf(first, session)).filter(({ role }) => role === 'assistant');
    for (const { assistant_version } of replies) t.equal(assistant_version, version);
    if (version === 2) sealed += replies.length;
  }
  const { candidate } = await operate(first, 'GET', assistantPath(first, id));
  t.ok(candidate.turns >= sealed, `${candidate.turns} turns counted, ${sealed} sealed in known sessions`);
  const [, two] = (await operate(first, 'GET', assistantPath(first, id, '/versions?order=asc'))).data;
  t.ok(two.turns >= sealed && two.turns <= candidate.turns, 'no sealed turn is missing in the counts');
}
