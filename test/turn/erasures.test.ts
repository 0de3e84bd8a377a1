/** Erasures of a process (contract 22): joined, continued and cut. */
import t, { type Test } from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import { WheelClock } from '../../src/base/clock.ts';
import { Failure } from '../../src/base/errors.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { nothingErased } from '../../src/store/parts/erasures.ts';
import { wrapStore, type Steps } from '../../src/store/steps.ts';
import { StoreUnavailable, type ErasedCounts, type Erasure, type Store } from '../../src/store/store.ts';
import { Erasures, type ErasuresOptions } from '../../src/turn/erasures.ts';
import { resultKey } from '../../src/store/records/tests.ts';
import { assistant, Scene, testRun } from '../store/fixtures.ts';

const visitorId = 'vis_1';

/** A store with sessions of a visitor, some of its steps replaced, and the erasures of a process on it. */
async function scene(
  t: Test,
  sessions: number,
  { changed = {}, ...options }: Partial<ErasuresOptions> & { readonly changed?: Partial<Steps> } = {},
) {
  const clock = new WheelClock();
  const sound = memoryStore(clock);
  await sound.open(Date.now());
  t.teardown(async () => {
    await sound.close();
    clock.stop();
  });
  const store: Store = wrapStore(sound, (name) => changed[name]);
  const fixtures = new Scene(sound, Date.now());
  for (let count = 0; count < sessions; count++)
    await fixtures.created({ channel: 'link', link: { visitorId, clock: null } });
  const dropped: string[] = [];
  const faults: unknown[] = [];
  const erasures = new Erasures({
    store,
    clock,
    sessions: { of: async () => null, end: async () => {} },
    drop: ({ id }) => void dropped.push(id),
    failed: (error) => void faults.push(error),
    ...options,
  });
  const erasure: Erasure = { workspaceId: fixtures.workspaceId, kind: 'visitor', id: visitorId };
  return { store: sound, erasures, erasure, dropped, faults };
}

t.test('requests for an erasure that runs have one receipt', async (t) => {
  const { erasures, erasure, dropped } = await scene(t, 3);
  const receipts = await Promise.all([erasures.erase(erasure, nobody), erasures.erase(erasure, nobody)]);
  t.same(receipts, Array(2).fill({ ...nothingErased, sessions: 3 }));
  t.equal(dropped.length, 4, 'this process drops its copies of the sessions and the visitor, once');
  t.same(await erasures.erase(erasure, nobody), nothingErased);
});

t.test('a session that another process erases meanwhile is no failure', async (t) => {
  const { erasures, erasure } = await scene(t, 2, {
    sessions: { of: async () => ({}) as never, end: () => Promise.reject(new Failure('session_not_found')) },
  });
  t.match(await erasures.erase(erasure, nobody), { sessions: 2 });
});

t.test('an erasure that the store cut is continued by the next sweep, with its counts', async (t) => {
  let left = 20;
  let receipt: ErasedCounts | undefined;
  const found = await scene(t, 50, {
    changed: {
      finishErasure: async (each) => (receipt = await found.store.erasures.finish(each)),
      eraseSession: (...given) =>
        left-- > 0
          ? found.store.erasures.eraseSession(...given)
          : Promise.reject(new StoreUnavailable('The store is away.')),
    },
  });
  const { store, erasures, erasure, faults } = found;
  t.ok((await erasures.erase(erasure, nobody).catch((error: unknown) => error)) instanceof StoreUnavailable);
  t.same(await store.erasures.unfinished(), [erasure]);
  await erasures.resume();
  t.same(await store.erasures.unfinished(), [erasure], 'the store is still away');
  t.same(faults, [], 'which is reported elsewhere');
  left = Infinity;
  await erasures.resume();
  t.same(receipt, { ...nothingErased, sessions: 50 });
  t.same(await store.erasures.unfinished(), []);
});

t.test('a process that ends leaves its erasure to the next one', async (t) => {
  const { store, erasures, erasure } = await scene(t, 40, {
    changed: {
      forgetTraces: async () => erasures.close(),
    },
  });
  t.ok((await erasures.erase(erasure, nobody).catch((error: unknown) => error)) instanceof StoreUnavailable);
  t.same(await store.erasures.unfinished(), [erasure]);
});

t.test('a fault of one erasure is reported, and the others are continued', async (t) => {
  const found = await scene(t, 1, {
    sessions: {
      of: async () => {
        throw new TypeError('a fault');
      },
      end: async () => {},
    },
  });
  const { store, erasures, erasure, faults } = found;
  await store.erasures.begin(erasure, 0);
  await store.erasures.begin({ ...erasure, id: 'vis_2' }, 0);
  await erasures.resume();
  t.equal(faults.length, 1);
  t.same(await store.erasures.unfinished(), [erasure]);
});

t.test(
  'what tests keep of a visitor goes with an erasure, also if it was cut between a run and its results',
  async (t) => {
    let isCut = true;
    const found = await scene(t, 1, {
      changed: {
        async eraseRecord(each, kind, id) {
          if (kind === 'test_result' && isCut) throw new StoreUnavailable('The store is away.');
          await found.store.erasures.eraseRecord(each, kind, id);
        },
      },
    });
    const { store, erasures, erasure } = found;
    const { catalog } = store;
    const { workspaceId } = erasure;
    const [of, other] = [assistant(workspaceId), assistant(workspaceId)];
    const own = testRun(of, { origins: { sessionIds: [], visitorIds: [visitorId] } });
    const kept = testRun(other, { origins: { sessionIds: [], visitorIds: ['vis_2'] } });
    const fixtures = new Scene(store, Date.now());
    for (const run of [own, kept]) {
      await catalog.create('test_run', run);
      const session = fixtures.session({ workspaceId, channel: 'test' });
      await store.sessions.create(fixtures.createStep({ session, run: run.id }));
      const { assistantId } = run;
      const sessionIds = [session.id];
      await catalog.create('test_result', {
        id: resultKey(run, 0),
        workspaceId,
        assistantId,
        sessionIds,
        outcome: null,
      });
    }
    t.ok((await erasures.erase(erasure, nobody).catch((error: unknown) => error)) instanceof StoreUnavailable);
    t.equal(await catalog.read('test_run', workspaceId, own.id), null, 'the run is removed first');
    isCut = false;
    await erasures.resume();
    t.same(await store.erasures.unfinished(), []);
    const page = { limit: 100, after: null, order: 'asc' } as const;
    const { items } = await catalog.list('test_result', workspaceId, page);
    t.same(
      items.map(({ id }) => id),
      [resultKey(kept, 0)],
    );
    const sessions = await store.sessions.list(workspaceId, fixtures.filter(), page);
    t.same(
      sessions.items.map(({ id }) => id),
      items[0]!.sessionIds,
      'the sessions of the run are removed with it',
    );
  },
);
