/**
 * Two versions of the session's machine: processes of both serve one Redis side by side in a rolling restart (promise
 * P12), and one after the other a data folder.
 */
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { nextVersion } from '../next-version.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, textOf, type Answer, type House } from './house.ts';
import { abort, end, refused, say, sayInVain, sessionOf, synthetic, transcriptOf, turnPath, until } from './talk.ts';

const options = { skip: whyNoRedis() ?? false };
// A turn that lasts for longer than any of these tests.
const slow = 'tokens=100000,delay_ms=20,text=word';

/** Path of the next version, built once for all tests. */
const command = await nextVersion(t);

/** Two servers of this version, and how to start one of the next, on one Redis. */
interface World {
  readonly one: House;
  readonly two: House;
  next(): Promise<House>;
}

async function open(t: Test): Promise<World> {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const [one, two] = [await openHouse(t, { env }), await openHouse(t, { env })];
  return { one, two, next: () => openHouse(t, { env, command }) };
}

/** Checks that a process that cannot read a session refuses every request on it. */
async function refusesAll(t: Test, house: House, id: string, turnId: string): Promise<void> {
  const asked: Record<string, () => Promise<Answer>> = {
    session: () => house.ask(`/sessions/${id}`),
    transcript: () => house.ask(`/sessions/${id}/transcript`),
    chat: () => sayInVain(house, id),
    end: () => end(house, id),
    abort: () => abort(house, id, turnId),
    events: () => house.ask(`${turnPath(id, turnId)}/events`),
    list: () => house.ask('/sessions?limit=100'),
  };
  for (const [what, ask] of Object.entries(asked)) {
    t.comment(what);
    refused(t, await ask(), 503, 'api_error');
  }
}

t.test('a rolling restart between two versions', options, async (t) => {
  const world = await open(t);
  let newer!: House;
  await t.test(
    'both versions serve, the old one refuses what the new one has moved, and nothing is lost',
    async (t) => void (newer = await mixed(t, world)),
  );
  await t.test('turns of processes that die are sealed by a process that can read their session', (t) =>
    sealing(t, world, newer),
  );
});

/** Resolves with the server of the next version. */
async function mixed(t: Test, { one, two, next }: World): Promise<House> {
  const short = await synthetic(one, 'tokens=3');
  const [kept, moved, cut] = [
    await one.session(short.id),
    await one.session(short.id),
    await one.session((await synthetic(one, slow)).id),
  ];
  for (const { id } of [kept, moved]) await (await say(one, id, 'first')).rest();
  const talking = await say(one, cut.id, 'Hello');
  await talking.next();
  await talking.next();

  const newer = await next();
  const second = await say(newer, moved.id, 'second');
  t.equal(
    (await second.rest()).at(-1)!.event,
    'turn.completed',
    'the new version goes on from what the old one stored',
  );
  await refusesAll(t, two, moved.id, second.turnId);
  t.equal((await transcriptOf(newer, moved.id)).length, 4, 'and what was refused has changed nothing');
  t.equal((await sessionOf(newer, moved.id)).status, 'open');

  t.equal(
    (await (await say(two, kept.id, 'second')).rest()).at(-1)!.event,
    'turn.completed',
    'the old one serves what it can read',
  );
  t.equal(
    (await (await say(newer, kept.id, 'third')).rest()).at(-1)!.event,
    'turn.completed',
    'and the new one goes on from there',
  );
  t.equal((await transcriptOf(newer, kept.id)).length, 6);

  const stopped = await end(newer, cut.id);
  t.match(stopped.json, { status: 'ended' }, 'a turn that an old process runs is ended by the new one');
  const seen = textOf(await talking.rest());
  await until(async () => (await sessionOf(newer, cut.id)).active_turn_id === null);
  const [, partial] = await transcriptOf(newer, cut.id);
  t.match(partial, { status: 'partial', stop_reason: 'aborted' });
  t.ok(partial.content.startsWith(seen), 'what was seen is stored');

  const all = (await newer.ask('/sessions?limit=100')).json.data;
  t.same(Object.fromEntries(all.map(({ id, status }: any) => [id, status])), {
    [kept.id]: 'open',
    [moved.id]: 'open',
    [cut.id]: 'ended',
  });
  t.equal((await (await say(newer, moved.id, 'third')).rest()).at(-1)!.event, 'turn.completed');
  return newer;
}

async function sealing(t: Test, { one, two: witness, next }: World, newer: House): Promise<void> {
  const assistant = await synthetic(one, slow);
  const streaming = async (at: House): Promise<{ id: string; seen: string }> => {
    const { id } = await one.session(assistant.id);
    const stream = await say(at, id);
    await stream.next();
    return { id, seen: (await stream.next())!.data.text };
  };
  const [ofOld, ofNew] = [await streaming(one), await streaming(newer)];
  await one.kill('SIGKILL');
  const sealed = async (at: House, { id, seen }: { id: string; seen: string }): Promise<void> => {
    await until(async () => (await sessionOf(at, id)).active_turn_id === null);
    const [, partial] = await transcriptOf(at, id);
    t.match(partial, { status: 'partial', error_code: 'api_error' });
    t.ok(partial.content.startsWith(seen));
  };
  // Either process may seal it first; after the new one the old one cannot read it any more.
  await sealed(newer, ofOld);
  await newer.kill('SIGKILL');
  await until(async () => witness.stdout().includes('They are left to a process of a later version.'));
  t.match(witness.stdout(), /"The session was stored by version 2 of its machine; this process runs version 1\."/);
  refused(t, await witness.ask(`/sessions/${ofNew.id}`), 503, 'api_error');
  const successor = await next();
  await sealed(successor, ofNew);
  for (const each of [witness, successor]) t.same(await each.stop(), { code: 0, signal: null }, 'they drain');
}

t.test(
  'an older version opens a data folder that a newer one has served, and refuses what that one moved',
  async (t) => {
    const folder = await temporaryFolder(t);
    const served = { folder, embedded: true, env: { PARLEY_STORE: 'lmdb:./data' } } as const;
    let house = await openHouse(t, served);
    const { id } = await synthetic(house, 'tokens=3');
    const [kept, moved] = [await house.session(id), await house.session(id)];
    for (const session of [kept, moved]) await (await say(house, session.id, 'first')).rest();
    await house.stop();

    house = await openHouse(t, { ...served, command });
    const { turnId } = await say(house, moved.id, 'second').then(async (stream) => (await stream.rest(), stream));
    await house.stop();

    house = await openHouse(t, served);
    await refusesAll(t, house, moved.id, turnId);
    t.equal((await (await say(house, kept.id, 'second')).rest()).at(-1)!.event, 'turn.completed', 'the others go on');
    await house.stop();

    house = await openHouse(t, { ...served, command });
    t.equal((await transcriptOf(house, moved.id)).length, 4, 'and the newer version finds all of them whole');
    t.equal((await transcriptOf(house, kept.id)).length, 4);
    await house.stop();
  },
);
