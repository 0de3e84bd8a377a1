/** A budget's step applies once, however often, how late and in what order the copies of it arrive. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import type { BudgetName, Taken } from '../../src/store/store.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { Roots } from '../../src/store/redis/keys.ts';
import { StepIds } from '../../src/store/redis/step-ids.ts';
import { RedisLink } from '../../src/store/redis/link.ts';
import type { RedisReply } from '../../src/store/redis/reply.ts';
import { ids } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { PatientClock, toldTheTime } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const redisEpoch = 1_790_000_000_000;

async function open(t: Test) {
  const server = await RedisServer.start(...appendOnly);
  const told = createClient({ url: server.url });
  await told.connect();
  const clock = new PatientClock();
  const link = new RedisLink(server.url, clock, toldTheTime);
  await link.open();
  t.teardown(async () => {
    await link.close();
    clock.stop();
    told.destroy();
    await server.stop();
  });
  return { link, told, roots: new Roots(`${ids.secret()}:`) };
}

const budgetOf = fc.constantFrom<BudgetName>('requests', 'speech');
const step = fc.record({
  elapsed: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 0, max: 59_000 })),
  sender: fc.constantFrom('a', 'b', 'c'),
  lane: fc.integer({ min: 0, max: 2 }),
  budgets: fc.uniqueArray(budgetOf, { minLength: 1 }),
  count: fc.integer({ min: 1, max: 3 }),
  /** For each copy that comes again, before how many further steps. */
  copies: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 3 }),
});

interface Sent {
  readonly arguments: {
    readonly count: number;
    readonly seen: number;
    readonly waited: number;
    readonly asked: readonly (string | number)[];
  };
  readonly lane: string;
  readonly number: number;
  readonly atMs: number;
  readonly answer: RedisReply[];
}

/** Calls are given up within seconds: no copy comes as late as this, and by then a lane may be forgotten. */
const minute = 60_000;

t.test('copies of a step', { skip }, async (t) => {
  const { link, told, roots } = await open(t);
  let repeated = 0;
  const run = async ({
    ceiling,
    steps,
  }: {
    ceiling: number;
    steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[];
  }) => {
    const oracle = memoryStore();
    await oracle.open(0);
    const root = roots.workspace(ids.make('wks'));
    const keyId = ids.make('key');
    const newest = new Map<string, number>();
    let nowMs = redisEpoch;
    let number = 0;
    const late: { readonly before: number; readonly sent: Sent }[] = [];
    const again = async ({ arguments: given, lane, number, atMs, answer }: Sent): Promise<void> => {
      if (nowMs - atMs > minute) return;
      const told = (await link.run('take-budgets', root, { id: keyId, lane, number, ...given })) as RedisReply[];
      // A copy that its lane has left behind is answered to nobody.
      if (newest.get(lane) === number) deepEqual(told.map(String), answer.map(String));
      repeated++;
    };
    for (const [index, { elapsed, sender, lane: place, budgets, count, copies }] of steps.entries()) {
      for (const { sent } of late.filter(({ before }) => before === index)) await again(sent);
      nowMs += elapsed;
      await told.set('now', nowMs);
      const lane = `${sender}/${place}`;
      newest.set(lane, ++number);
      const asked = budgets.map((budget) => ({ budget, ceiling }));
      const given = { count, seen: 0, waited: 0, asked: asked.flatMap(({ budget, ceiling }) => [budget, ceiling]) };
      const answer = (await link.run('take-budgets', root, { id: keyId, lane, number, ...given })) as RedisReply[];
      const due: Taken[] = [];
      for (let request = 0; request < count; request++)
        due.push(...(await oracle.limits.takeBudgets(root, keyId, asked, nowMs)));
      equal(answer.length, 3 * count * budgets.length);
      // A budget after the one that refuses (2) is reported without a charge, and does not count as checked.
      const checked = answer.flatMap((passed, at) =>
        at % 3 === 0 && passed !== 2 ? [{ passed, level: Number(String(answer[at + 1])) }] : [],
      );
      deepEqual(
        due.map(({ passed }) => (passed ? 1 : 0)),
        checked.map(({ passed }) => passed),
      );
      deepEqual(
        due.map(({ remaining }) => remaining),
        checked.map(({ level }) => Math.max(0, Math.floor(level / 60_000))),
      );
      for (const after of copies)
        late.push({ before: index + 1 + after, sent: { arguments: given, lane, number, atMs: nowMs, answer } });
    }
    for (const { sent } of late.filter(({ before }) => before >= steps.length)) await again(sent);
    await oracle.close();
  };
  const story = fc.record({
    ceiling: fc.constantFrom(2, 5, 60, 1_000_000),
    steps: fc.array(step, { minLength: 1, maxLength: 30 }),
  });
  await t.resolves(fc.assert(fc.asyncProperty(story, run), { numRuns: 40 }));
  t.ok(repeated > 0);
});

t.test('a debt that is told twice, or too late, is told once', { skip }, async (t) => {
  const { link, told, roots } = await open(t);
  const root = roots.workspace('wks_1');
  const level = () => told.hGet(`${root}:budget:key_1`, 'requests');
  const at = (ms: number) => told.set('now', redisEpoch + ms);
  await at(0);
  // Uses a clock ahead of Redis's: a debt that is sent again a second later is not a second newer.
  const debt = { id: 'key_1', lane: 'a/0', number: 1, budget: 'requests', level: -540_000, since: redisEpoch + 5000 };
  await link.run('hold-budget', root, debt);
  t.equal(await level(), `-540000 ${redisEpoch}`);
  await at(1000);
  await link.run('hold-budget', root, debt);
  t.equal(await level(), `-540000 ${redisEpoch}`);
  await link.run('take-budgets', root, {
    id: 'key_1',
    lane: 'a/0',
    number: 2,
    count: 1,
    seen: 0,
    waited: 0,
    asked: ['requests', 10],
  });
  const after = await level();
  await link.run('hold-budget', root, debt);
  t.equal(await level(), after);
});

t.test('lanes of those who have ended are forgotten, and no others', { skip }, async (t) => {
  const { link, told, roots } = await open(t);
  const root = roots.workspace('wks_1');
  const take = (sender: string, number: number) =>
    link.run('take-budgets', root, {
      id: 'key_1',
      lane: `${sender}/0`,
      number,
      count: 1,
      seen: 0,
      waited: 0,
      asked: ['requests', 60],
    });
  // The time says when to look: at every 256th millisecond.
  const looks = redisEpoch - (redisEpoch % 256);
  await told.set('now', looks + 1);
  for (let sender = 0; sender < 100; sender++) await take(`old${sender}`, 1);
  await told.set('now', looks + 30_001);
  await take('living', 1);
  t.equal(await told.hLen(`${root}:budget:key_1`), 103);
  await told.set('now', looks + 256 * 240);
  await take('new', 1);
  t.same((await told.hKeys(`${root}:budget:key_1`)).sort(), ['living/0', 'new/0', 'requests', 'used']);
});

t.test('a lane has one step at a time, and there are no more than steps at once', async (t) => {
  const sender = new StepIds(ids);
  const life = fc.array(fc.record({ target: fc.constantFrom('x', 'y'), ends: fc.nat(5), fails: fc.boolean() }), {
    minLength: 1,
    maxLength: 60,
  });
  const run = async (steps: readonly { target: string; ends: number; fails: boolean }[]): Promise<void> => {
    const numbers = new Map<string, number>();
    const busy = new Map<string, { target: string; end(): void; over: Promise<unknown> }>();
    const most = new Map<string, number>();
    for (const { target, ends, fails } of steps) {
      let begun = '';
      const over = sender.send(target, (lane, number) => {
        begun = `${target} ${lane}`;
        ok(!busy.has(begun), 'its lane is free');
        ok(number > (numbers.get(begun) ?? 0), 'its number grows');
        numbers.set(begun, number);
        return new Promise<void>((resolve, reject) =>
          busy.set(begun, {
            target,
            end: () => (fails ? reject(new Error('away')) : resolve()),
            over: Promise.resolve(),
          }),
        );
      });
      const kept = busy.get(begun)!;
      busy.set(begun, { ...kept, over: over.catch(() => {}) });
      most.set(
        target,
        Math.max(most.get(target) ?? 0, [...busy.values()].filter((each) => each.target === target).length),
      );
      ok(Number(begun.split('/')[1]) < most.get(target)!, 'no lane is made while one is free');
      for (const [name, each] of [...busy].slice(0, ends)) {
        each.end();
        await each.over;
        busy.delete(name);
      }
    }
    for (const each of busy.values()) each.end();
    await Promise.all([...busy.values()].map(({ over }) => over));
  };
  await t.resolves(fc.assert(fc.asyncProperty(life, run), { numRuns: 300 }));
});
