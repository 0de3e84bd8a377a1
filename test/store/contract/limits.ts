/** Limits of any kind, taken together. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { AskedLimit } from '../../../src/store.ts';
import type { Case } from '../contract.ts';
import type { Scene } from '../fixtures.ts';

const [hour, day] = [3_600_000, 86_400_000];
const bucket = (ceiling: number, cost = 1): AskedLimit => ({ kind: 'bucket', name: 'asst_1/address/abc', ceiling, periodMs: hour, cost });
const counter = (ceiling: number, cost = 1): AskedLimit => ({ kind: 'counter', name: 'asst_1/minutes', ceiling, periodMs: day, cost });
const place = (ceiling: number, holder: string, untilMs: number): AskedLimit => ({ kind: 'place', name: 'asst_1/visitors', ceiling, holder, untilMs });

const taker = ({ store, workspaceId, nowMs }: Scene) => async (asked: readonly AskedLimit[], at = nowMs) => store.limits.take({ workspaceId, asked, nowMs: at });
/** Which of the limits pass. */
const passer = (scene: Scene) => async (...asked: AskedLimit[]) => (await taker(scene)(asked)).map(({ passed }) => passed);

export const limitCases: readonly Case[] = [
  {
    name: 'budgets are read as they stand, and reading charges nothing',
    async run({ store, workspaceId, nowMs }) {
      const ceilings = { requests: 3, speech: 2, transcriptionTokens: 1 };
      const keys = ['key_1', 'key_2', 'key_3'].map((id) => ({ id, limits: ceilings }));
      const read = async () => store.limits.readBudgets(workspaceId, keys, nowMs);
      deepEqual(await store.limits.readBudgets(workspaceId, [], nowMs), []);
      for (let times = 0; times < 5; times++) await read();
      const [first] = await store.limits.takeBudgets(workspaceId, 'key_1', [{ budget: 'requests', ceiling: 3 }], nowMs);
      for (let times = 0; times < 4; times++) await store.limits.takeBudgets(workspaceId, 'key_2', [{ budget: 'requests', ceiling: 3 }, { budget: 'speech', ceiling: 2 }], nowMs);
      const [one, two, three] = await read();
      equal(first!.remaining, 2, 'nothing was charged before');
      deepEqual([one!.budgets.requests, one!.budgets.speech.remaining], [{ remaining: 2, resetAt: first!.resetAt }, 2]);
      deepEqual([two!.budgets.requests.remaining, two!.budgets.speech.remaining, two!.budgets.transcriptionTokens.remaining], [1, 0, 1], 'what refused is in debt');
      ok(two!.budgets.speech.resetAt > two!.budgets.requests.resetAt);
      equal(three!.usedAt, null);
      deepEqual([three!.budgets.requests.remaining, three!.budgets.requests.resetAt - Math.ceil(nowMs / 1000) <= 60], [3, true]);
      for (const { usedAt } of [one!, two!]) deepEqual([usedAt! % 60, Math.abs(usedAt! * 1000 - nowMs) < 600_000], [0, true], 'to the minute');
      deepEqual((await read()).map(({ usedAt }) => usedAt), [one!.usedAt, two!.usedAt, null]);
    },
  },
  {
    name: 'limits are taken all or none, and a refusal costs nothing',
    async run(scene) {
      const pass = passer(scene);
      const until = scene.nowMs + 600_000;
      deepEqual(await pass(bucket(3), counter(9), place(1, 'vis_1', until)), [true, true, true]);
      for (let again = 0; again < 5; again++) deepEqual(await pass(bucket(3), counter(9), place(1, 'vis_2', until)), [true, true, false]);
      deepEqual(await pass(bucket(3, 2), counter(1), place(2, 'vis_2', until)), [true, false, true]);
      deepEqual(await pass(bucket(3, 2)), [true], 'the bucket was charged once');
      deepEqual(await pass(bucket(3)), [false]);
      deepEqual(await pass(counter(2)), [true], 'as was the counter');
      deepEqual(await pass(counter(2)), [false]);
      deepEqual(await pass(place(1, 'vis_1', until)), [true], 'vis_2 has no place');
      deepEqual(await pass(), []);
    },
  },
  {
    name: 'a counter refuses once it has reached its ceiling, a bucket where it holds less than is asked',
    async run(scene) {
      const [take, pass] = [taker(scene), passer(scene)];
      deepEqual([await pass(counter(90, 60)), await pass(counter(90, 60)), await pass(counter(90, 60))], [[true], [true], [false]], 'the last one may pass the ceiling');
      const [counted] = await take([counter(90, 60)]);
      ok(counted!.waitMs! > 0 && counted!.waitMs! <= day);
      deepEqual(await pass(bucket(4, 3), { ...bucket(4, 3), name: 'another' }), [true, true]);
      const [held] = await take([bucket(4, 3)]);
      equal(held!.passed, false);
      ok(held!.waitMs! > hour / 2 - 60_000 && held!.waitMs! <= hour / 2, 'one is left, and two refill in half an hour');
      deepEqual(await take([bucket(0), { ...counter(0), name: 'none' }, { ...place(0, 'vis_1', scene.nowMs + 1), name: 'nobody' }]), Array(3).fill({ passed: false, waitMs: null }));
      deepEqual(await take([{ ...bucket(4, 5), name: 'too much' }]), [{ passed: false, waitMs: null }]);
    },
  },
  {
    name: 'a place is held until its lease ends, and who has one needs no other',
    async run(scene) {
      const [take, pass] = [taker(scene), passer(scene)];
      const until = scene.nowMs + 600_000;
      for (const holder of ['vis_1', 'vis_2', 'vis_1']) deepEqual(await pass(place(2, holder, until)), [true]);
      const [refused] = await take([place(2, 'vis_3', until)]);
      ok(refused!.waitMs! > 540_000 && refused!.waitMs! <= 600_000);
      deepEqual(await pass(place(1, 'vis_1', scene.nowMs)), [true], 'a ceiling that was lowered, and a lease that is not cut');
      deepEqual(await pass(place(2, 'vis_3', until)), [false]);
      deepEqual(await pass({ ...place(1, 'vis_3', until), name: 'other' }), [true], 'places of another name');
      deepEqual(await pass({ ...place(1, 'vis_1', scene.nowMs - 1), name: 'lapsed' }), [true]);
      deepEqual(await pass({ ...place(1, 'vis_2', until), name: 'lapsed' }), [true]);
    },
  },
  {
    name: 'of many who ask at once exactly as many pass as there is room for',
    async run(scene) {
      const pass = passer(scene);
      const taken = await Promise.all(Array.from({ length: 40 }, (_, index) => pass(bucket(20), counter(15), place(7, `vis_${index}`, scene.nowMs + 600_000))));
      equal(taken.filter((each) => each.every(Boolean)).length, 7);
      deepEqual(await pass(bucket(20, 13), counter(8)), [true, true], 'the others were charged nothing');
    },
  },
  {
    name: 'limits come back with time: a bucket refills, a counter begins anew at midnight UTC, a place falls free',
    callersTime: true,
    async run(scene) {
      const take = taker(scene);
      const midnight = scene.nowMs - (scene.nowMs % day) + day;
      const noon = midnight + day / 2;
      const asked = [bucket(2, 2), counter(1), place(1, 'vis_1', noon + 5000)];
      const all = [{ passed: true, waitMs: 0 }, { passed: true, waitMs: 0 }, { passed: true, waitMs: 0 }];
      deepEqual(await take(asked, noon), all);
      const other = [bucket(2), counter(1), place(1, 'vis_2', noon + day)];
      deepEqual(await take(other, noon), [{ passed: false, waitMs: hour / 2 }, { passed: false, waitMs: day / 2 }, { passed: false, waitMs: 5000 }]);
      deepEqual((await take(other, noon + hour / 2 - 1)).map(({ passed }) => passed), [false, false, true]);
      deepEqual((await take(other, noon + hour / 2)).map(({ passed }) => passed), [true, false, true]);
      await scene.store.sweep(noon + hour, 100);
      deepEqual((await take(other, midnight + day - 1)).map(({ passed }) => passed), [true, false, true]);
      deepEqual(await take(other, midnight + day), all);
      await scene.store.sweep(midnight + day + 1, 100);
      deepEqual((await take(other, midnight + day + 1)).map(({ passed }) => passed), [true, false, true]);
    },
  },
];
