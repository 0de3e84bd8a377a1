/** Pieces that come together go to Redis in one step, and each has its own answer. */
import t from 'tap';
import { limits } from '../../src/limits.ts';
import { StoreUnavailable } from '../../src/store.ts';
import { Appends, type Piece } from '../../src/store/redis/appends.ts';
import type { Link } from '../../src/store/redis/link.ts';
import type { Reply } from '../../src/store/redis/reply.ts';
import { Scene } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const argumentsOfPiece = 8;

/** Appends over a link that notes its steps and answers each piece with its text. */
function open() {
  const steps: { root: string; texts: string[] }[] = [];
  const answer: { failure: Error | null } = { failure: null };
  const runOutput = async (_name: string, root: string, { pieces }: { pieces: unknown[] }): Promise<Reply> => {
    const texts = pieces.filter((_, index) => index % argumentsOfPiece === 6) as string[];
    steps.push({ root, texts });
    if (answer.failure !== null) throw answer.failure;
    return texts.map((text) => [Buffer.from(text)]);
  };
  const appends = new Appends({ runOutput } as unknown as Link);
  const add = (text: string, root = 'r'): Promise<string> => {
    const piece: Piece = ['s', 't', 1, 'o', 0, text.length, text, ''];
    return appends.add(root, piece).then(([first]) => String(first));
  };
  return { steps, answer, add };
}

t.test('pieces of one moment are one step, those of another workspace another', async (t) => {
  const { steps, add } = open();
  t.same(await Promise.all([add('a'), add('b'), add('c', 'other'), add('d')]), ['a', 'b', 'c', 'd']);
  t.same(steps, [{ root: 'r', texts: ['a', 'b', 'd'] }, { root: 'other', texts: ['c'] }]);
  t.equal(await add('e'), 'e');
  t.same(steps.at(-1), { root: 'r', texts: ['e'] }, 'a later one does not wait for company');
});

t.test('a step has a bounded number of pieces and characters', async (t) => {
  const { steps, add } = open();
  const many = Array.from({ length: limits.redisAppendsMax + 1 }, (_, index) => String(index));
  t.same(await Promise.all(many.map((text) => add(text))), many);
  t.same(steps.map(({ texts }) => texts.length), [limits.redisAppendsMax, 1]);
  const long = 'x'.repeat(limits.redisAppendCharactersMax);
  t.same(await Promise.all([add('x'), add('y'), add(long), add('z')]), ['x', 'y', long, 'z']);
  t.same(steps.slice(2).map(({ texts }) => texts.join('').length), [2, long.length, 1]);
});

t.test('if a step fails, each of its pieces fails, and the next step is another', async (t) => {
  const { steps, answer, add } = open();
  answer.failure = new StoreUnavailable('away');
  const answers = await Promise.allSettled([add('a'), add('b')]);
  t.same(answers.map(({ status }) => status), ['rejected', 'rejected']);
  answer.failure = null;
  t.equal(await add('a'), 'a');
  t.equal(steps.length, 2);
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
  t.same(await Promise.all([ahead!.append(1, 'b'), ahead!.append(0, 'a')]), ['stored', 'stored'], 'a piece that comes before the one it follows is sent again');
  const outputs = await Promise.all([first!, second!, third!, stopped!, ahead!].map(({ place }) => store.turns.output(place)));
  t.same(outputs, ['so that the script is known, one', 'two', '', 'four', 'ab']);
});
