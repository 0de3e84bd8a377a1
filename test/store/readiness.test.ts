/** Readiness probes, however many, cost the store one ping at a time. */
import t from 'tap';
import { pino } from 'pino';
import { CoalescedQuery } from '../../src/base/coalesced-query.ts';
import { limits } from '../../src/base/limits.ts';
import { Readiness, readyAnswerMs, readySharedMs, readyKeptMs } from '../../src/store/readiness.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';

/** A store that answers when the test lets it. */
class Pinged {
  readonly leaseMs: number | null;
  pings = 0;
  #settle: ((error?: StoreUnavailable) => void)[] = [];

  constructor(leaseMs: number | null) {
    this.leaseMs = leaseMs;
  }

  ping(): Promise<void> {
    this.pings++;
    return new Promise((resolve, reject) =>
      this.#settle.push((error) => (error === undefined ? resolve() : reject(error))),
    );
  }

  answer(error?: StoreUnavailable): void {
    for (const settle of this.#settle.splice(0)) settle(error);
  }
}

function scene(leaseMs: number | null = null) {
  const lines: { msg: string; err?: { message: string } }[] = [];
  const clock = new ManualClock();
  const store = new Pinged(leaseMs);
  const readiness = new Readiness(
    store,
    clock,
    pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  );
  const looks = (count: number): Promise<boolean[]> =>
    Promise.all(Array.from({ length: count }, () => readiness.isReady()));
  const said = (): string[] => lines.map(({ msg, err }) => (err === undefined ? msg : `${msg}: ${err.message}`));
  return { clock, store, readiness, looks, said };
}

t.test('looks at one time are one ping, and so are those soon after', async (t) => {
  const { clock, store, looks, said } = scene();
  const first = looks(7000);
  t.equal(store.pings, 1);
  store.answer();
  t.same(new Set(await first), new Set([true]));
  clock.advance(readyKeptMs - 1);
  t.same(await looks(2), [true, true]);
  t.equal(store.pings, 1, 'the answer is kept for a while');
  clock.advance(1);
  const next = looks(2);
  t.equal(store.pings, 2, 'and then asked for again');
  store.answer(new StoreUnavailable('gone'));
  t.same(await next, [false, false]);
  t.same(await looks(2), [false, false]);
  t.equal(store.pings, 2, 'a refusal is kept as well');
  clock.advance(readyKeptMs);
  const last = looks(2);
  store.answer();
  t.same(await last, [true, true]);
  t.same(said(), ['not ready: the store cannot do its work: gone', 'ready again'], 'a change is told once');
});

t.test('a store that hangs is told within two seconds to each, and pinged once', async (t) => {
  const { clock, store, looks, said } = scene();
  let answers = 0;
  const look = (): void => void looks(1).then(([ready]) => (answers += ready === false ? 1 : 0));
  t.ok(readyAnswerMs < 2000);
  for (let at = 0; at < 5000; at += 100) {
    look();
    clock.advance(100);
    await new Promise(setImmediate);
    if (at >= 1900) t.ok(answers * 100 >= at - 1800, `at ${at} each that came 1.9 s ago has its answer`);
  }
  t.equal(store.pings, 1, 'while one is under way no other is sent');
  store.answer();
  await new Promise(setImmediate);
  clock.advance(readyKeptMs);
  const back = looks(1);
  store.answer();
  t.same(await back, [true]);
  t.same(said(), ['not ready: the store cannot do its work', 'ready again']);
});

t.test('a store that processes share and that hangs is reported within a quarter of a second', async (t) => {
  const { clock, store, looks } = scene(limits.leaseMs);
  t.ok(readySharedMs < 250);
  const first = looks(2);
  clock.advance(readySharedMs);
  t.same(await first, [false, false]);
  clock.advance(readyKeptMs);
  const next = looks(1);
  store.answer();
  t.same(await next, [true]);
  t.equal(store.pings, 1);
});

t.test('a process that was held up reads the answer of its store before it reports it as silent', async (t) => {
  const { clock, store, looks } = scene(limits.leaseMs);
  const late = looks(1);
  clock.advance(10_000);
  store.answer();
  t.same(await late, [true]);
});

t.test('a refused step makes the next look ask the store again, a few times a second', async (t) => {
  const { clock, store, readiness, looks } = scene();
  const first = looks(1);
  store.answer();
  t.same(await first, [true]);
  readiness.doubt();
  const second = looks(1);
  t.equal(store.pings, 2);
  store.answer(new StoreUnavailable('full'));
  t.same(await second, [false]);
  readiness.doubt();
  t.same(await looks(1), [false]);
  t.equal(store.pings, 2, 'a flood of refusals is no flood of pings');
  clock.advance(readyKeptMs);
  const third = looks(1);
  // The store may have answered this ping before it refused the step.
  readiness.doubt();
  store.answer();
  t.same(await third, [true]);
  const fourth = looks(1);
  t.equal(store.pings, 4);
  store.answer(new StoreUnavailable('full'));
  t.same(await fourth, [false]);
});

t.test('some questions in a row are asked anew, and come back with time', async (t) => {
  const clock = new ManualClock();
  let asked = 0;
  const shared = new CoalescedQuery(clock, { keptMs: 100, freshMax: 3 }, async () => ++asked);
  const several = async (count: number): Promise<number[]> => {
    const answers: number[] = [];
    for (let question = 0; question < count; question++) answers.push(await shared.get());
    return answers;
  };
  t.same(await several(6), [1, 2, 3, 3, 3, 3]);
  clock.advance(99);
  t.same(await several(1), [3]);
  clock.advance(1);
  t.same(await several(2), [4, 4]);
  clock.advance(10_000);
  t.same(await several(5), [5, 6, 7, 7, 7], 'no more of them than at first');
});

t.test('a question that failed is a failure to all who share it', async (t) => {
  const clock = new ManualClock();
  let asked = 0;
  const shared = new CoalescedQuery(clock, { keptMs: 100, freshMax: 1 }, async () => {
    asked++;
    throw new Error('no');
  });
  for (const outcome of await Promise.allSettled([shared.get(), shared.get()]))
    t.match(outcome, { status: 'rejected', reason: { message: 'no' } });
  t.equal(asked, 1);
});
