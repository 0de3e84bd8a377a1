/** Erasures of a process (contract 22): joined, continued and cut. */
import t, { type Test } from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import { WheelClock } from '../../src/base/clock.ts';
import { Failure } from '../../src/base/errors.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { wrapStore, type Steps } from '../../src/store/steps.ts';
import { StoreUnavailable, type ErasedCounts, type Erasure, type Store } from '../../src/store/store.ts';
import { Erasures, type ErasuresOptions } from '../../src/turn/erasures.ts';
import { Scene } from '../store/fixtures.ts';

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
  t.same(receipts, Array(2).fill({ sessions: 3, messages: 0, turns: 0, feedback: 0 }));
  t.equal(dropped.length, 4, 'this process drops its copies of the sessions and the visitor, once');
  t.same(await erasures.erase(erasure, nobody), { sessions: 0, messages: 0, turns: 0, feedback: 0 });
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
  t.same(receipt, { sessions: 50, messages: 0, turns: 0, feedback: 0 });
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
