/** Calls that come together go to Redis as one, and each has its own answer. */
import t from 'tap';
import { StoreUnavailable, type BeginTurn } from '../../src/store/store.ts';
import { CallBatching } from '../../src/store/redis/call-batching.ts';
import { Scene, type Begun } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';
import { redisGatheredCharactersMax } from '../../src/store/redis/link.ts';

/**
 * Gathers texts of at most ten characters, five at a time; a call that has `bad` among its texts fails, and any call
 * while `failure` is set.
 */
function open() {
  const calls: { target: string; texts: readonly string[] }[] = [];
  const answer: { failure: Error | null } = { failure: null };
  const bad = new Error('bad');
  const send = async (target: string, texts: readonly string[]): Promise<string[]> => {
    calls.push({ target, texts });
    if (answer.failure !== null) throw answer.failure;
    if (texts.includes('bad')) throw bad;
    return texts.map((text) => text.toUpperCase());
  };
  const batching = new CallBatching(send, {
    itemsMax: 5,
    sizeMax: 10,
    sizeOf: (text) => text.length,
    mayBeOneItems: (error) => error === bad,
  });
  return { calls, answer, add: (text: string, target = 'r') => batching.add(target, text) };
}

t.test('steps of one moment are one call, for each target', async (t) => {
  const { calls, add } = open();
  t.same(await Promise.all([add('a'), add('b'), add('c', 'other'), add('d')]), ['A', 'B', 'C', 'D']);
  t.same(calls, [
    { target: 'r', texts: ['a', 'b', 'd'] },
    { target: 'other', texts: ['c'] },
  ]);
  t.equal(await add('e'), 'E');
  t.same(calls.at(-1), { target: 'r', texts: ['e'] }, 'a later one does not wait for company');
});

t.test('a call has a bounded number of items and a bounded size', async (t) => {
  const { calls, add } = open();
  t.same(await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((text) => add(text))), ['A', 'B', 'C', 'D', 'E', 'F']);
  t.same(
    calls.map(({ texts }) => texts.length),
    [5, 1],
  );
  const long = 'x'.repeat(11);
  t.same(await Promise.all([add('a'), add('b'), add(long), add('c'), add('123456789'), add('d')]), [
    'A',
    'B',
    long.toUpperCase(),
    'C',
    '123456789',
    'D',
  ]);
  t.same(
    calls.slice(2).map(({ texts }) => texts),
    [['a', 'b'], [long], ['c', '123456789'], ['d']],
  );
});

t.test('if a call fails, each of its items fails, and the next call is another', async (t) => {
  const { calls, answer, add } = open();
  answer.failure = new StoreUnavailable('away');
  const answers = await Promise.allSettled([add('a'), add('b')]);
  t.same(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  answer.failure = null;
  t.equal(await add('a'), 'A');
  t.equal(calls.length, 2);
});

t.test('if one item may be what a call fails for, each is sent again by itself, once', async (t) => {
  const { calls, add } = open();
  const answers = await Promise.allSettled([add('a'), add('bad'), add('c')]);
  t.same(
    answers.map((each) => (each.status === 'fulfilled' ? each.value : (each.reason as Error).message)),
    ['A', 'bad', 'C'],
  );
  t.same(
    calls.map(({ texts }) => texts),
    [['a', 'bad', 'c'], ['a'], ['bad'], ['c']],
  );
  await t.rejects(add('bad'), { message: 'bad' });
  t.equal(calls.length, 5, 'a single one is not sent again');
});

t.test('turns that write at the same time', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  const [first, second, third, stopped, ahead] = await Promise.all(Array.from({ length: 5 }, () => scene.streaming()));
  await store.turns.requestStop(stopped!.place, 'aborted', scene.nowMs + 600_000, scene.nowMs);
  await first!.append(0, 'so that the script is known');
  const before = await server.scriptCalls();

  const answers = await Promise.allSettled([
    first!.append(27, ', one'),
    second!.append(0, 'two'),
    third!.append(0, 'three', { epoch: 2, owner: 'another' }),
    stopped!.append(0, 'four'),
    ahead!.append(5, 'five'),
    second!.append(0, 'two'),
  ]);
  t.same(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as Error).name)),
    ['stored', 'stored', 'fenced', { stop: 'aborted' }, 'RangeError', 'stored'],
  );
  // The piece ahead of its turn's output is sent again three times.
  t.equal((await server.scriptCalls()) - before, 4);
  t.same(
    await Promise.all([ahead!.append(1, 'b'), ahead!.append(0, 'a')]),
    ['stored', 'stored'],
    'a piece that comes before the one it follows is sent again',
  );
  const outputs = await Promise.all(
    [first!, second!, third!, stopped!, ahead!].map(({ place }) => store.turns.output(place)),
  );
  t.same(outputs, ['so that the script is known, one', 'two', '', 'four', 'ab']);
});

t.test('turns that begin at the same time', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  await scene.streaming();
  const sessions = [];
  for (let count = 0; count < 4; count++) sessions.push(await scene.created());
  const before = await server.scriptCalls();
  const begin = (step: BeginTurn): Promise<string> =>
    store.turns.begin(step).then(
      ({ outcome }) => outcome,
      (error) => (error instanceof StoreUnavailable ? 'unavailable' : String(error)),
    );
  const steps = sessions.map((session) => scene.beginStep(session, 1));
  t.same(await Promise.all(steps.slice(0, 3).map(begin)), ['begun', 'begun', 'begun']);
  t.equal((await server.scriptCalls()) - before, 1);

  // The row of one session is corrupt. The turns before and after its call are new ones: one has begun when the call
  // fails, one has not.
  const [earlier, after] = [await scene.created(), await scene.created()];
  const damaged = await server.command('KEYS', `*:session:${sessions[3]!.id}`);
  await server.command('DEL', damaged);
  await server.command('SET', damaged, 'x');
  const fresh = [earlier, sessions[3]!, after].map((session) => scene.beginStep(session, 1));
  t.same(
    await Promise.all([steps[0]!, ...fresh].map(begin)),
    ['begun', 'begun', 'unavailable', 'begun'],
    'it fails alone',
  );
  t.equal(await store.turns.inFlight(scene.workspaceId), 6, 'and no turn takes two slots');
  for (const { id } of [earlier, after]) t.equal((await scene.transcript(id)).length, 2);
});

t.test('a call is bounded by what its steps read and write', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  const turns: Begun[] = [];
  for (let count = 0; count < 4; count++) turns.push(await scene.streaming());
  await turns[0]!.append(0, 'so that the script is known');
  await store.turns.finish((await scene.streaming()).finishStep());
  const calls = async (act: () => Promise<unknown>): Promise<number> => {
    const before = await server.scriptCalls();
    await act();
    return (await server.scriptCalls()) - before;
  };
  const long = 'x'.repeat(redisGatheredCharactersMax / 2);
  t.equal(
    await calls(() => Promise.all(turns.slice(1).map((turn) => turn.append(0, long)))),
    3,
    'two long pieces are too much for one',
  );
  t.equal(
    await calls(() =>
      Promise.all(
        turns.map((turn, index) =>
          store.turns.finish(turn.finishStep({ tail: { position: index === 0 ? 27 : long.length, text: '' } })),
        ),
      ),
    ),
    3,
    'so are two long turns that end',
  );
});
