/** The script of the budgets and the arithmetic of `machines/budget.ts`, driven with the same random sequences. */
import { deepEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { createClient } from 'redis';
import t from 'tap';
import type { BudgetName } from '../../src/store.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { ManualClock } from '../model/provider.ts';
import { ids } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore, toldTheTime } from './redis-stores.ts';

const names: readonly BudgetName[] = ['requests', 'speech', 'transcriptionTokens'];
const ceiling = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 1_000_000 }));
const budgets = fc.uniqueArray(fc.record({ budget: fc.constantFrom(...names), ceiling }), { selector: ({ budget }) => budget, minLength: 1 });
// Steps of nothing, of about one request, of any length, and back.
const elapsed = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30_000 }), fc.integer({ min: -200_000, max: 400_000 }), fc.constantFrom(59_999, 60_000, 60_001, 120_000));
const sequence = fc.array(fc.record({ elapsed, budgets, times: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 25 });

t.test('one arithmetic', { skip: whyNoRedis() ?? false }, async (t) => {
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
  const run = async (steps: readonly { elapsed: number; budgets: readonly { budget: BudgetName; ceiling: number }[]; times: number }[]) => {
    const memory = memoryStore();
    await memory.open(0);
    const place = [ids.make('wks'), ids.make('key')] as const;
    let nowMs = 1_790_000_000_123;
    for (const step of steps) {
      nowMs += step.elapsed;
      await clock.set('now', nowMs);
      for (let time = 0; time < step.times; time++) {
        // What this process knows of a debt is too old to be used: it is Redis that is asked.
        wheel.advance(200_000);
        deepEqual(await redis.store.limits.takeBudgets(...place, step.budgets, 0), await memory.limits.takeBudgets(...place, step.budgets, nowMs));
      }
    }
    await memory.close();
  };
  await t.resolves(fc.assert(fc.asyncProperty(sequence, run), { numRuns: 60 }));
});
