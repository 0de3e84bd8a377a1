/**
 * Budgets in debt are refused without Redis: what that may change for anybody, held against the arithmetic of one
 * process.
 */
import { deepEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import { floor } from '../../machines/budget.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { Debts, redisDebtMs } from '../../src/store/redis/debts.ts';
import { redisStore } from '../../src/store/redis.ts';
import type { Store, Taken } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { ids } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { toldTheTime } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const redisEpoch = 1_790_000_000_123;

/** Two processes on one Redis, all with manual clocks. */
async function open(t: Test) {
  const server = await RedisServer.start(...appendOnly);
  const told = createClient({ url: server.url });
  await told.connect();
  const clock = new ManualClock();
  const begun = clock.now();
  const prefix = `${ids.secret()}:`;
  const stores = [1, 2].map(() => redisStore(server.url, { clock, ids, prefix, scripts: toldTheTime }));
  for (const store of stores) await store.open(0);
  const alive = new Set(stores);
  t.teardown(async () => {
    for (const store of alive) await store.close();
    told.destroy();
    await server.stop();
  });
  const now = (): number => redisEpoch + clock.now() - begun;
  await told.set('now', now());
  return {
    stores: stores as [Store, Store],
    now,
    /** Resolves when what fell due is with Redis. */
    async pass(ms: number): Promise<void> {
      await told.set('now', now() + ms);
      clock.advance(ms);
      for (const store of alive) await store.ping();
    },
    async end(store: Store): Promise<void> {
      alive.delete(store);
      await store.close();
    },
    asked: () => server.scriptCalls(),
  };
}

interface Step {
  readonly elapsed: number;
  readonly process: 0 | 1;
  readonly times: number;
}

const step = (elapsed: fc.Arbitrary<number>): fc.Arbitrary<Step> =>
  fc.record({ elapsed, process: fc.constantFrom(0, 1), times: fc.integer({ min: 1, max: 5 }) });
const ceiling = fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 8 }), fc.integer({ min: 30, max: 120 }));
const sequence = (elapsed: fc.Arbitrary<number>) =>
  fc.record({ ceiling, steps: fc.array(step(elapsed), { minLength: 1, maxLength: 60 }) });

type Check = (own: Taken, exact: Taken, ceiling: number) => void;

/** Has both processes and one oracle asked the same. */
const against =
  (place: Awaited<ReturnType<typeof open>>, check: Check) =>
  async ({ ceiling, steps }: { ceiling: number; steps: readonly Step[] }) => {
    const oracle = memoryStore();
    await oracle.open(0);
    const [workspaceId, keyId] = [ids.make('wks'), ids.make('key')];
    const budgets = [{ budget: 'requests' as const, ceiling }];
    for (const { elapsed, process, times } of [
      { elapsed: 0, process: 0, times: Math.min(2 * ceiling, 30) } as const,
      ...steps,
    ]) {
      await place.pass(elapsed);
      for (let time = 0; time < times; time++) {
        const [own] = await place.stores[process].limits.takeBudgets(workspaceId, keyId, budgets, 0);
        const [exact] = await oracle.limits.takeBudgets(workspaceId, keyId, budgets, place.now());
        check(own!, exact!, ceiling);
      }
    }
    await oracle.close();
  };

t.test('debts that Redis has been told are exact in every process', { skip }, async (t) => {
  const place = await open(t);
  const settled = fc.oneof(fc.integer({ min: redisDebtMs, max: 2000 }), fc.integer({ min: redisDebtMs, max: 70_000 }));
  const check: Check = (own, exact) => deepEqual(own, exact);
  await t.resolves(fc.assert(fc.asyncProperty(sequence(settled), against(place, check)), { numRuns: 25 }));
});

t.test('another process may report a wait that is too short by the debt at most', { skip }, async (t) => {
  const place = await open(t);
  const quick = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 2 * redisDebtMs }),
    fc.integer({ min: 1, max: 2000 }),
    fc.integer({ min: 1, max: 61_000 }),
  );
  let early = 0;
  const check: Check = (own, exact, ceiling) => {
    if (own.passed === exact.passed) {
      ok(
        [0, 1].includes(exact.retryAfterSeconds - own.retryAfterSeconds),
        `waits ${own.retryAfterSeconds} of ${exact.retryAfterSeconds}`,
      );
      ok([0, 1].includes(exact.resetAt - own.resetAt));
      ok([0, 1].includes(own.remaining - exact.remaining));
      return;
    }
    early++;
    ok(
      own.passed && exact.retryAfterSeconds <= Math.ceil(60 / ceiling + redisDebtMs / 1000),
      'what passes would have passed that much later',
    );
  };
  await t.resolves(fc.assert(fc.asyncProperty(sequence(quick), against(place, check)), { numRuns: 40 }));
  t.comment(`${early} passed early`);
});

for (const ceiling of [60, 1])
  t.test(
    `a caller that retries at once costs Redis next to nothing, and waits no less, at ${ceiling} a minute`,
    { skip },
    async (t) => {
      const {
        stores: [one, two],
        now,
        pass,
        asked,
      } = await open(t);
      const budgets = [{ budget: 'requests' as const, ceiling }];
      const place = ['wks_1', 'key_1'] as const;
      const take = async (store: Store): Promise<Taken> => (await store.limits.takeBudgets(...place, budgets, 0))[0]!;
      for (let count = 0; count < 120; count++) await take(one);
      const before = await asked();
      for (let count = 0; count < 1000; count++) {
        const { passed, retryAfterSeconds, remaining, resetAt } = await take(one);
        ok(
          !passed &&
            retryAfterSeconds === 60 &&
            remaining === 0 &&
            resetAt === Math.ceil((now() + 60_000 + ((ceiling - 1) * 60_000) / ceiling) / 1000),
        );
        await pass(10);
      }
      const cost = (await asked()) - before;
      t.ok(cost <= 101, `${cost} steps for a thousand requests in ten seconds`);
      await pass(redisDebtMs);
      t.match(await take(two), { passed: false, retryAfterSeconds: 60 });
      await pass(59_999);
      t.match(await take(two), { passed: false });
      await pass(60_000);
      t.match(await take(two), { passed: true });
    },
  );

t.test('with one request a minute nobody passes early where another process has just refused', { skip }, async (t) => {
  const {
    stores: [one, two],
    pass,
  } = await open(t);
  const take = async (store: Store): Promise<Taken> =>
    (await store.limits.takeBudgets('wks_1', 'key_1', [{ budget: 'requests', ceiling: 1 }], 0))[0]!;
  for (let count = 0; count < 3; count++) await take(one);
  await pass(60_000 - redisDebtMs / 2);
  t.match(await take(one), { passed: false, retryAfterSeconds: 60 });
  await pass(redisDebtMs - 1);
  t.match(await take(two), { passed: false, retryAfterSeconds: 60 });
});

t.test('refusals without Redis are told to it when the process ends', { skip }, async (t) => {
  const {
    stores: [one, two],
    pass,
    end,
  } = await open(t);
  const take = async (store: Store): Promise<Taken> =>
    (await store.limits.takeBudgets('wks_1', 'key_1', [{ budget: 'requests', ceiling: 10 }], 0))[0]!;
  for (let count = 0; count < 20; count++) await take(one);
  await pass(5000);
  t.match(await take(one), { passed: false, retryAfterSeconds: 60 });
  await end(one);
  await pass(1000);
  t.match(await take(two), { passed: false, retryAfterSeconds: 60 });
  await pass(59_000);
  t.match(await take(two), { passed: false });
});

t.test('a flush waits for what was on its way before it', async (t) => {
  const clock = new ManualClock();
  const written: (() => void)[] = [];
  const debts = new Debts(clock, () => new Promise<void>((resolve) => written.push(resolve)));
  const place = { workspaceId: 'wks_1', keyId: 'key_1', budget: 'requests' };
  const exchange = { askedAt: clock.monotonic(), answeredAt: clock.monotonic() };
  debts.noteAnswer(place, 60, false, { level: floor(60), at: redisEpoch }, exchange);
  t.ok(debts.refuseCertain(place, 60));
  clock.advance(redisDebtMs);
  t.equal(written.length, 1, 'its time has come');
  let over = false;
  const flushed = debts.flush().then(() => (over = true));
  await new Promise(setImmediate);
  t.notOk(over);
  written[0]!();
  t.ok(await flushed);
});
