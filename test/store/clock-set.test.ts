/** The clock of a store is set, back and ahead: limits stay true, and nothing is deleted because of it. */
import { createClient } from 'redis';
import t from 'tap';
import type { Test } from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StoreClock } from '../../src/store/clock.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Store } from '../../src/store/store.ts';
import { isTrusted, withTime, type TimeCourse } from '../../src/store/time-course.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { api, Scene } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore, toldTheTime } from './redis-stores.ts';
import { redisTimeMs } from '../../src/store/redis/time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;
const startMs = 1_790_000_000_123;

/** A store whose clock the test sets; `pass` lets time pass, as a monotonic clock sees it too. */
interface Timed {
  readonly store: Store;
  nowMs(): number;
  pass(ms: number): Promise<void>;
  set(ms: number): Promise<void>;
}

async function embedded(t: Test): Promise<Timed> {
  const clock = new ManualClock();
  clock.jump(startMs);
  const store = memoryStore(clock);
  await store.open(clock.now());
  t.teardown(() => store.close());
  return { store, nowMs: () => clock.now(), pass: async (ms) => clock.advance(ms), set: async (ms) => clock.jump(ms) };
}

async function redis(t: Test): Promise<Timed> {
  const server = await RedisServer.start(...appendOnly);
  const told = createClient({ url: server.url });
  await told.connect();
  let nowMs = startMs;
  await told.set('now', nowMs);
  const clock = new ManualClock();
  const { store, dispose } = await openStore(server.url, { scripts: toldTheTime, clock, time: new StoreClock(clock) });
  t.teardown(async () => {
    await dispose();
    told.destroy();
    await server.stop();
  });
  const move = async (ms: number): Promise<void> => void (await told.set('now', (nowMs += ms)));
  return {
    store,
    nowMs: () => nowMs,
    set: move,
    async pass(ms) {
      await move(ms);
      clock.advance(ms);
    },
  };
}

const skip = whyNoRedis() ?? false;
const stores = [
  ['an embedded store', embedded, false],
  ['Redis', redis, skip],
] as const;
const budget = [{ budget: 'requests', ceiling: 60 }] as const;

for (const [name, open, skip] of stores) {
  for (const [what, setMs] of [
    ['back an hour', -hourMs],
    ['back a second', -1000],
    ['ahead 40 days', 40 * dayMs],
    ['back 40 days', -40 * dayMs],
  ] as const) {
    t.test(
      `on ${name} a client that waits as it was told passes, the clock being set ${what} meanwhile or before`,
      { skip },
      async (t) => {
        const { store, nowMs, pass, set } = await open(t);
        const take = async () => (await store.limits.takeBudgets('wks_1', 'key_1', budget, nowMs()))[0]!;
        for (let count = 0; count < 60; count++) t.ok((await take()).passed);
        const told = await take();
        t.notOk(told.passed);
        await set(setMs);
        await pass(told.retryAfterSeconds * 1000);
        t.ok((await take()).passed, 'after the wait that was told before');
        let refused = await take();
        while (refused.passed) refused = await take();
        t.ok(refused.retryAfterSeconds <= 60);
        t.ok(Math.abs(refused.resetAt * 1000 - nowMs()) <= 2 * minuteMs, 'the reset is near');
        await pass(refused.retryAfterSeconds * 1000);
        t.ok((await take()).passed, 'after the wait that was told since');
      },
    );
  }

  t.test(
    `on ${name} a counter and a bucket of a clock that is set back 40 days are open again`,
    { skip },
    async (t) => {
      const { store, nowMs, set, pass } = await open(t);
      const day = { kind: 'counter', name: 'minutes', ceiling: 1, periodMs: dayMs, cost: 1 } as const;
      const hour = { kind: 'bucket', name: 'messages', ceiling: 2, periodMs: hourMs, cost: 1 } as const;
      const take = async () => store.limits.take({ workspaceId: 'wks_1', asked: [day, hour], nowMs: nowMs() });
      await set(40 * dayMs);
      t.same(
        (await take()).map(({ passed }) => passed),
        [true, true],
      );
      t.same(
        (await take()).map(({ passed }) => passed),
        [false, true],
      );
      await set(-40 * dayMs);
      t.same(await store.limits.used('wks_1', [{ kind: 'counter', name: 'minutes', periodMs: dayMs }], nowMs()), [0]);
      t.same(
        (await take()).map(({ passed }) => passed),
        [true, true],
      );
      const [, full] = await store.limits.take({
        workspaceId: 'wks_1',
        asked: [{ ...day, ceiling: 9 }, hour],
        nowMs: nowMs(),
      });
      t.same(full, { passed: false, waitMs: hourMs / 2 });
      await pass(hourMs / 2);
      t.ok((await store.limits.take({ workspaceId: 'wks_1', asked: [hour], nowMs: nowMs() }))[0]!.passed);
    },
  );

  t.test(
    `on ${name} a place that was taken before the clock is set back is free again, and one that is taken since is not`,
    { skip },
    async (t) => {
      const { store, nowMs, pass, set } = await open(t);
      const place = (holder: string, leaseMsMax?: number) =>
        ({
          kind: 'place',
          name: 'visitors',
          ceiling: 1,
          holder,
          seat: 'ses_1',
          untilMs: nowMs() + minuteMs,
          ...(leaseMsMax && { leaseMsMax }),
        }) as const;
      const take = async (holder: string, leaseMsMax?: number) =>
        (await store.limits.take({ workspaceId: 'wks_1', asked: [place(holder, leaseMsMax)], nowMs: nowMs() }))[0]!;
      t.ok((await take('vis_1', 2 * minuteMs)).passed);
      t.notOk((await take('vis_2', 2 * minuteMs)).passed);
      await set(-hourMs);
      t.notOk(
        (await take('vis_2')).passed,
        'a place without a longest time lasts until its end, as that of a token that is spent',
      );
      t.ok((await take('vis_2', 2 * minuteMs)).passed);
      t.notOk((await take('vis_1', 2 * minuteMs)).passed);
      await pass(minuteMs);
      t.ok((await take('vis_1', 2 * minuteMs)).passed);
    },
  );

  t.test(`on ${name} time is trusted for removals once it has moved evenly for an hour`, { skip }, async (t) => {
    const { store, nowMs, pass, set } = await open(t);
    const hourOfSweeps = async (): Promise<boolean[]> => {
      const trusted: boolean[] = [];
      for (let passed = 0; passed < limits.timeTrustMs; passed += limits.sweepMs) {
        trusted.push(await store.noteTime(nowMs()));
        await pass(limits.sweepMs);
      }
      return trusted;
    };
    t.notOk((await hourOfSweeps()).includes(true), 'not in the first hour');
    t.ok(await store.noteTime(nowMs()));
    await set(40 * dayMs);
    t.notOk(await store.noteTime(nowMs()), 'not while the clock is 40 days ahead');
    await pass(minuteMs);
    t.notOk(await store.noteTime(nowMs()));
    await set(-40 * dayMs);
    t.notOk((await hourOfSweeps()).includes(true), 'nor soon after it is right again');
    t.ok(await store.noteTime(nowMs()));
    await pass(limits.timeGapMsMax + 1);
    t.notOk(await store.noteTime(nowMs()), 'nor after a standstill, which looks alike');
  });
}

t.test(
  'on Redis a turn of a dead process is found within two leases, and its slot is free, although the clock was set back',
  { skip },
  async (t) => {
    const { store, nowMs, pass, set } = await redis(t);
    const scene = new Scene(store, nowMs());
    const leaseOf = () => ({ slot: api(1), leaseUntilMs: nowMs() + limits.leaseMs, nowMs: nowMs() });
    const dead = await scene.streaming(leaseOf());
    await store.turns.orphans(nowMs(), 10);
    await set(-hourMs);
    const living = await scene.streaming(leaseOf());
    for (let leases = 0; leases < 2; leases++) {
      t.same(await store.turns.orphans(nowMs(), 10), []);
      await pass(limits.leaseMs);
      t.equal(await store.turns.renew(living.place, living.fence, nowMs() + limits.leaseMs, nowMs()), 'renewed');
    }
    t.same(await store.turns.orphans(nowMs(), 10), [dead.place]);
    t.ok(await store.turns.takeOver(dead.place, 'another', nowMs() + limits.leaseMs, nowMs()));
  },
);

t.test('on Redis no living turn is taken over because the clock was set ahead', { skip }, async (t) => {
  const { store, nowMs, pass, set } = await redis(t);
  const scene = new Scene(store, nowMs());
  const { place, fence } = await scene.streaming({ leaseUntilMs: nowMs() + limits.leaseMs });
  const takeOver = () => store.turns.takeOver(place, 'another', nowMs() + limits.leaseMs, nowMs());
  await set(hourMs);
  t.equal(await takeOver(), null, 'before this process has read the clock again');
  await pass(redisTimeMs);
  await store.ping();
  t.equal(await takeOver(), null, 'once it has');
  t.equal(await store.turns.renew(place, fence, nowMs() + limits.leaseMs, nowMs()), 'renewed');
  await pass(limits.leaseMs - 1);
  t.equal(await takeOver(), null, 'while the lease lasts');
  await pass(1);
  t.ok(await takeOver(), 'and it is, once its owner has let it run out');
});

t.test("the store's time is trusted only after an even course", async (t) => {
  const after = (...times: number[]): TimeCourse => times.reduce<TimeCourse | undefined>(withTime, undefined)!;
  t.same(after(5), { seenMs: 5, evenSinceMs: 5 });
  t.same(after(0, limits.timeGapMsMax), { seenMs: limits.timeGapMsMax, evenSinceMs: 0 });
  t.same(after(0, limits.timeGapMsMax + 1), { seenMs: limits.timeGapMsMax + 1, evenSinceMs: limits.timeGapMsMax + 1 });
  t.same(after(5000, 4000), { seenMs: 4000, evenSinceMs: 5000 }, 'a correction is no setting');
  t.same(after(5000, 3999), { seenMs: 3999, evenSinceMs: 3999 });
  t.notOk(isTrusted({ seenMs: limits.timeTrustMs - 1, evenSinceMs: 0 }));
  t.ok(isTrusted({ seenMs: limits.timeTrustMs, evenSinceMs: 0 }));
});
