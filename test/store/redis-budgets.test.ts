/** The script of the budgets and the arithmetic of `machines/budget.ts`, driven with the same random sequences. */
import { deepEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { createClient } from 'redis';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { BudgetName } from '../../src/store/store.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { ids } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore, toldTheTime } from './redis-stores.ts';

const names: readonly BudgetName[] = ['requests', 'speech', 'transcriptionTokens'];
const ceiling = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 1_000_000 }));
const budgets = fc.uniqueArray(fc.record({ budget: fc.constantFrom(...names), ceiling }), {
  selector: ({ budget }) => budget,
  minLength: 1,
});
// Steps of nothing, of about one request, of any length, and back.
const elapsed = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 30_000 }),
  fc.integer({ min: -200_000, max: 400_000 }),
  fc.constantFrom(59_999, 60_000, 60_001, 120_000),
);
const sequence = fc.array(
  fc.record({ elapsed, budgets, times: fc.integer({ min: 1, max: 4 }), together: fc.boolean() }),
  { minLength: 1, maxLength: 25 },
);

t.test('the scripts and the pure function compute equal budgets', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const clock = createClient({ url: server.url });
  await clock.connect();
  const wheel = new ManualClock();
  const redis = await openStore(server.url, { scripts: toldTheTime, clock: wheel });
  t.teardown(async () => {
    await redis.dispose();
    clock.destroy();
    await server.stop();
  });
  const run = async (
    steps: readonly {
      elapsed: number;
      budgets: readonly { budget: BudgetName; ceiling: number }[];
      times: number;
      together: boolean;
    }[],
  ) => {
    const memory = memoryStore();
    await memory.open(0);
    const place = [ids.make('wks'), ids.make('key')] as const;
    let nowMs = 1_790_000_000_123;
    for (const step of steps) {
      nowMs += step.elapsed;
      await clock.set('now', nowMs);
      const take = async () => redis.store.limits.takeBudgets(...place, step.budgets, 0);
      const expected = [];
      for (let time = 0; time < step.times; time++)
        expected.push(await memory.limits.takeBudgets(...place, step.budgets, nowMs));
      // The process's knowledge of a debt is now too old to be used, so Redis is asked.
      wheel.advance(200_000);
      if (step.together) deepEqual(await Promise.all(expected.map(take)), expected);
      else
        for (const one of expected) {
          deepEqual(await take(), one);
          wheel.advance(200_000);
        }
    }
    await memory.close();
  };
  await t.resolves(fc.assert(fc.asyncProperty(sequence, run), { numRuns: 60 }));
});

t.test(
  'requests of one moment are charged in one step, for each key and its budgets',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    const redis = await openStore(server.url);
    t.teardown(async () => {
      await redis.dispose();
      await server.stop();
    });
    const take = (keyId: string, names: readonly BudgetName[] = ['requests'], ceiling = 100) =>
      redis.store.limits.takeBudgets(
        'wks_1',
        keyId,
        names.map((budget) => ({ budget, ceiling })),
        0,
      );
    await take('key_0');
    const before = await server.scriptCalls();
    const answers = await Promise.all([
      take('key_1'),
      take('key_1'),
      take('key_2'),
      take('key_1', ['requests', 'speech']),
      take('key_1'),
      take('key_1', ['requests'], 2),
    ]);
    t.equal((await server.scriptCalls()) - before, 4);
    t.same(
      answers.map((taken) => taken.map(({ budget, passed, remaining }) => [budget, passed, remaining])),
      [
        [['requests', true, 99]],
        [['requests', true, 98]],
        [['requests', true, 99]],
        [
          ['requests', true, 96],
          ['speech', true, 99],
        ],
        [['requests', true, 97]],
        [['requests', true, 1]],
      ],
    );
    const many = limits.redisGatheredMax + 1;
    t.equal(
      (await Promise.all(Array.from({ length: many }, () => take('key_3', ['requests'], 1000)))).at(-1)![0]!.remaining,
      1000 - many,
    );
    t.equal((await server.scriptCalls()) - before, 6, 'a step has a bounded number of requests');
  },
);
