/**
 * The steps by name: what stands between a store and its callers reaches every verb, and metrics have the names that
 * are public.
 */
import t from 'tap';
import { openMetrics } from '../../src/metrics/metrics.ts';
import { measureStore } from '../../src/store/measured.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { stepNames, stepOf, storeOf, takeStep, wrapStore } from '../../src/store/steps.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { Scene } from './fixtures.ts';

t.test('each name leads to a verb of its own', async (t) => {
  const store = storeOf({ name: 'named', leaseMs: 5 }, (name) => (...given) => [name, ...given]);
  t.same([store.name, store.leaseMs], ['named', 5]);
  for (const name of stepNames)
    t.same(
      [takeStep(store, name, [1]), (stepOf(store, name) as (...given: unknown[]) => unknown)(2)],
      [
        [name, 1],
        [name, 2],
      ],
    );
  t.same(
    [store.ping(), store.turns.begin({} as never), store.limits.take({} as never)],
    [['ping'], ['beginTurn', {}], ['takeLimits', {}]],
  );
});

t.test('a wrapped store has the steps that were given, and its own otherwise', async (t) => {
  const plain = memoryStore();
  const asked = new Set<string>();
  const store = wrapStore(plain, (name, step) => {
    if (name === 'ping') return () => Promise.reject(new StoreUnavailable('away'));
    return name === 'watch' ? undefined : (...given) => (asked.add(name), step(...given));
  });
  t.same([store.name, store.leaseMs], [plain.name, plain.leaseMs]);
  await store.open(0);
  t.teardown(() => store.close());
  await t.rejects(store.ping(), { message: 'away' });
  await t.resolves(plain.ping());
  const turn = await new Scene(store, 1_700_000_000_000).streaming();
  await turn.append(0, 'one');
  t.equal(await plain.turns.output(turn.place), 'one');
  t.same([...asked], ['open', 'createSession', 'beginTurn', 'appendOutput']);
  await (
    await store.watch(() => {})
  )();
  t.notOk(asked.has('watch'));
});

t.test('an embedded store answers in the order of the steps', async (t) => {
  const store = memoryStore();
  await store.open(0);
  t.teardown(() => store.close());
  const turn = await new Scene(store, 1_700_000_000_000).streaming();
  const { place, fence } = turn;
  const answered: string[] = [];
  const note = (name: string) => () => void answered.push(name);
  const steps = [
    turn.append(0, 'one').then(note('append')),
    store.turns.release(place, fence, 3).then(note('release')),
    store.turns.step({ ...place, fence, from: 0, calls: [] }).then(note('step')),
    store.turns.finish(turn.finishStep({ tail: { position: 3, text: '' } })).then(note('finish')),
    store.turns.step({ ...place, fence, from: 0, calls: [] }).then(note('too late')),
    // A turn that begins behind the end of another may take its slot.
    store.turns.inFlight(place.workspaceId).then(note('in flight')),
  ];
  await Promise.all(steps);
  t.same(answered, ['append', 'release', 'step', 'finish', 'too late', 'in flight']);
});

t.test('the steps that metrics count, by their public names (contract 11)', async (t) => {
  const metrics = openMetrics(
    () => ({}),
    () => 0,
    () => 0,
    () => ({ count: 0, seconds: 0 }),
  );
  const store = measureStore(memoryStore(), metrics, new ManualClock());
  const counts = async (name: string): Promise<Record<string, number>> => {
    const found = (await metrics.text()).matchAll(new RegExp(`^parley_${name}\\{step="(\\w+)"\\} (\\d+)$`, 'gm'));
    return Object.fromEntries([...found].map(([, step, count]) => [step, Number(count)]));
  };
  const names = [
    'createSession',
    'saveSession',
    'beginTurn',
    'appendOutput',
    'finishTurn',
    'withdrawTurn',
    'claimTurn',
    'takeOverTurn',
    'takeLimits',
    'sweep',
    'ping',
  ];
  const none = Object.fromEntries(names.map((name) => [name, 0]));
  t.same([await counts('store_seconds_count'), await counts('store_errors_total')], [none, none]);
  await store.open(0);
  const turn = await new Scene(store, 1_700_000_000_000).streaming();
  await turn.append(0, 'one');
  await t.rejects(turn.append(5, 'two'), RangeError);
  t.same(await counts('store_seconds_count'), { ...none, createSession: 1, beginTurn: 1, appendOutput: 1 });
  t.same(await counts('store_errors_total'), { ...none, appendOutput: 1 });
  await store.close();
});
