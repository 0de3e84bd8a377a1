/** Limits of any kind, taken together. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { AskedLimit, SettledLimit } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { at, type Scene } from '../fixtures.ts';

const [hour, day] = [3_600_000, 86_400_000];
const bucket = (ceiling: number, cost = 1): AskedLimit => ({
  kind: 'bucket',
  name: 'asst_1/address/abc',
  ceiling,
  periodMs: hour,
  cost,
});
const counter = (ceiling: number, cost = 1): AskedLimit => ({
  kind: 'counter',
  name: 'asst_1/minutes',
  ceiling,
  periodMs: day,
  cost,
});
const quota = (ceiling: number, cost: number): AskedLimit => ({
  kind: 'quota',
  name: 'key_1/tokens',
  ceiling,
  periodMs: day,
  cost,
});
const place = (ceiling: number, holder: string, untilMs: number): AskedLimit => ({
  kind: 'place',
  name: 'asst_1/visitors',
  ceiling,
  holder,
  untilMs,
});

const taker =
  ({ store, workspaceId, nowMs }: Scene) =>
  async (asked: readonly AskedLimit[], at = nowMs) =>
    store.limits.take({ workspaceId, asked, nowMs: at });
/** Takes the limits and returns for each whether it passes. */
const passer =
  (scene: Scene) =>
  async (...asked: AskedLimit[]) =>
    (await taker(scene)(asked)).map(({ passed }) => passed);

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
      for (let times = 0; times < 4; times++)
        await store.limits.takeBudgets(
          workspaceId,
          'key_2',
          [
            { budget: 'requests', ceiling: 3 },
            { budget: 'speech', ceiling: 2 },
          ],
          nowMs,
        );
      const [one, two, three] = await read();
      equal(first!.remaining, 2, 'nothing was charged before');
      deepEqual([one!.budgets.requests, one!.budgets.speech.remaining], [{ remaining: 2, resetAt: first!.resetAt }, 2]);
      deepEqual(
        [two!.budgets.requests.remaining, two!.budgets.speech.remaining, two!.budgets.transcriptionTokens.remaining],
        [1, 0, 1],
        'what refused is in debt',
      );
      ok(two!.budgets.speech.resetAt > two!.budgets.requests.resetAt);
      equal(three!.usedAt, null);
      deepEqual(
        [three!.budgets.requests.remaining, three!.budgets.requests.resetAt - Math.ceil(nowMs / 1000) <= 60],
        [3, true],
      );
      for (const { usedAt } of [one!, two!])
        deepEqual([usedAt! % 60, Math.abs(usedAt! * 1000 - nowMs) < 600_000], [0, true], 'to the minute');
      deepEqual(
        (await read()).map(({ usedAt }) => usedAt),
        [one!.usedAt, two!.usedAt, null],
      );
    },
  },
  {
    name: 'limits are taken all or none, and a refusal costs nothing',
    async run(scene) {
      const pass = passer(scene);
      const until = scene.nowMs + 600_000;
      deepEqual(await pass(bucket(3), counter(9), place(1, 'vis_1', until)), [true, true, true]);
      for (let again = 0; again < 5; again++)
        deepEqual(await pass(bucket(3), counter(9), place(1, 'vis_2', until)), [true, true, false]);
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
      deepEqual(
        [await pass(counter(90, 60)), await pass(counter(90, 60)), await pass(counter(90, 60))],
        [[true], [true], [false]],
        'the last one may pass the ceiling',
      );
      const [counted] = await take([counter(90, 60)]);
      ok(counted!.waitMs! > 0 && counted!.waitMs! <= day);
      deepEqual(await pass(bucket(4, 3), { ...bucket(4, 3), name: 'another' }), [true, true]);
      const [held] = await take([bucket(4, 3)]);
      equal(held!.passed, false);
      ok(held!.waitMs! > hour / 2 - 60_000 && held!.waitMs! <= hour / 2, 'one is left, and two refill in half an hour');
      deepEqual(
        await take([
          bucket(0),
          { ...counter(0), name: 'none' },
          { ...place(0, 'vis_1', scene.nowMs + 1), name: 'nobody' },
        ]),
        Array(3).fill({ passed: false, waitMs: null }),
      );
      deepEqual(await take([{ ...bucket(4, 5), name: 'too much' }]), [{ passed: false, waitMs: null }]);
    },
  },
  {
    name: 'a quota refuses a cost that does not fit under its ceiling, and charges nothing',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const [take, pass] = [taker(scene), passer(scene)];
      const read = () =>
        store.limits.used(workspaceId, [{ kind: 'counter', name: 'key_1/tokens', periodMs: day }], nowMs);
      deepEqual([await pass(quota(100, 60)), await pass(quota(100, 41))], [[true], [false]]);
      deepEqual(await read(), [60], 'a refusal costs nothing');
      const [refused] = await take([quota(100, 41)]);
      ok(refused!.waitMs! > 0 && refused!.waitMs! <= day);
      deepEqual(await take([quota(100, 101)]), [{ passed: false, waitMs: null }], 'more than the whole');
      deepEqual(await pass(quota(100, 40), counter(0)), [true, false]);
      deepEqual([await pass(quota(100, 40)), await read()], [[true], [100]], 'up to the ceiling');
      deepEqual(await pass(quota(100, 1)), [false]);
      deepEqual(await pass(quota(101, 1)), [true], 'a ceiling that was raised');
      deepEqual(await pass(quota(50, 1)), [false], 'a ceiling that was lowered');
    },
  },
  {
    name: 'a turn reserves a quota with its begin, and its end and its withdrawal settle it once',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const read = async () =>
        (await store.limits.used(workspaceId, [{ kind: 'counter', name: 'key_1/tokens', periodMs: day }], nowMs))[0];
      const settled = (cost: number): SettledLimit[] => [
        { kind: 'counter', name: 'key_1/tokens', periodMs: day, sinceMs: nowMs - (nowMs % day), cost },
      ];
      const first = await scene.streaming({ slot: null, asked: [quota(100, 60)] });
      equal(await read(), 60);
      const refused = await store.turns.begin(scene.beginStep(await scene.created(), 1, { asked: [quota(100, 60)] }));
      deepEqual([refused.outcome, await read()], ['limited', 60]);
      const end = first.finishStep({ settled: settled(-50) });
      for (let times = 0; times < 2; times++) equal((await store.turns.finish(end)).outcome, 'finished');
      equal(await read(), 10);
      const second = await scene.streaming({ slot: null, asked: [quota(100, 60)] });
      equal(await read(), 70);
      const step = second.withdrawStep({ settled: settled(-60), nowMs });
      for (let times = 0; times < 2; times++) equal((await store.turns.withdraw(step)).outcome, 'finished');
      equal(await read(), 10);
      const many = await Promise.all(
        Array.from({ length: 12 }, async () =>
          store.turns.begin(scene.beginStep(await scene.created(), 1, { slot: null, asked: [quota(100, 30)] })),
        ),
      );
      equal(many.filter(({ outcome }) => outcome === 'begun').length, 3);
      equal(await read(), 100);
    },
  },
  {
    name: 'a place is held until its lease ends, and who has one needs no other',
    async run(scene) {
      const [take, pass] = [taker(scene), passer(scene)];
      const until = scene.nowMs + 600_000;
      for (const holder of ['vis_1', 'vis_2', 'vis_1']) deepEqual(await pass(place(2, holder, until)), [true]);
      const [refused] = await take([place(2, 'vis_3', until)]);
      ok(refused!.waitMs! > 540_000 && refused!.waitMs! <= 600_000, `a wait of ${refused!.waitMs} ms`);
      deepEqual(
        await pass(place(1, 'vis_1', scene.nowMs)),
        [true],
        'a ceiling that was lowered, and a lease that is not cut',
      );
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
      const taken = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          pass(bucket(20), counter(15), place(7, `vis_${index}`, scene.nowMs + 600_000)),
        ),
      );
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
      const all = [
        { passed: true, waitMs: 0 },
        { passed: true, waitMs: 0 },
        { passed: true, waitMs: 0 },
      ];
      deepEqual(await take(asked, noon), all);
      const other = [bucket(2), counter(1), place(1, 'vis_2', noon + day)];
      deepEqual(await take(other, noon), [
        { passed: false, waitMs: hour / 2 },
        { passed: false, waitMs: day / 2 },
        { passed: false, waitMs: 5000 },
      ]);
      deepEqual(
        (await take(other, noon + hour / 2 - 1)).map(({ passed }) => passed),
        [false, false, true],
      );
      deepEqual(
        (await take(other, noon + hour / 2)).map(({ passed }) => passed),
        [true, false, true],
      );
      await scene.store.sweep(noon + hour, 100);
      deepEqual(
        (await take(other, midnight + day - 1)).map(({ passed }) => passed),
        [true, false, true],
      );
      deepEqual(await take(other, midnight + day), all);
      await scene.store.sweep(midnight + day + 1, 100);
      deepEqual(
        (await take(other, midnight + day + 1)).map(({ passed }) => passed),
        [true, false, true],
      );
    },
  },
  {
    name: 'a holder has one place for all of its seats, until the last of them is over',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const pass = passer(scene);
      const until = nowMs + 600_000;
      const seat = (holder: string, name: string): AskedLimit =>
        ({ ...place(1, holder, until), seat: name }) as AskedLimit;
      deepEqual(await pass(seat('vis_1', 'ses_1')), [true]);
      deepEqual(await pass(seat('vis_1', 'ses_2')), [true]);
      const present = () => store.limits.used(workspaceId, [{ kind: 'place', name: 'asst_1/visitors' }], nowMs);
      deepEqual(await present(), [1]);
      const settle = async (session: string, untilMs: number) => {
        const settled: SettledLimit[] = [
          { kind: 'place', name: 'asst_1/visitors', holder: 'vis_1', seat: session, untilMs },
        ];
        const saved = await scene.created();
        ok(await store.sessions.save(saved, at(1), undefined, settled, nowMs));
      };
      await settle('ses_1', nowMs);
      deepEqual(await pass(seat('vis_2', 'ses_3')), [false], 'the other seat holds the place');
      await settle('ses_2', nowMs);
      deepEqual(await present(), [0]);
      deepEqual(await pass(seat('vis_2', 'ses_3')), [true]);
    },
  },
  {
    name: 'a session is moved with the limits that it takes, or neither is',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const used = async () =>
        (
          await store.limits.used(
            workspaceId,
            [
              { kind: 'counter', name: 'asst_1/minutes', periodMs: day },
              { kind: 'place', name: 'asst_1/visitors' },
            ],
            nowMs,
          )
        ).join(' ');
      const session = await scene.created({ mark: 'one' });
      const taken = (version: number, mark: string, next: string, ...asked: AskedLimit[]) =>
        store.sessions.charge({ session: { ...session, mark: next }, version, mark, asked, nowMs });
      const [first, second] = [place(1, 'vis_1', nowMs + 600_000), place(1, 'vis_2', nowMs + 600_000)];
      deepEqual(await taken(1, 'one', 'two', counter(100, 60), first), { outcome: 'charged', version: 2 });
      equal(await used(), '60 1');
      deepEqual(await taken(1, 'one', 'three', counter(100, 60)), { outcome: 'lost' }, 'an old version');
      deepEqual(await taken(2, 'one', 'three', counter(100, 60)), { outcome: 'lost' }, 'an old mark');
      const refused = await taken(2, 'two', 'three', counter(100, 60), second);
      deepEqual(refused.outcome === 'limited' && refused.answers.map(({ passed }) => passed), [true, false]);
      ok(refused.outcome === 'limited' && refused.answers[1]!.waitMs! > 540_000);
      equal(await used(), '60 1', 'a refusal takes nothing');
      const stored = (await store.sessions.read(workspaceId, session.id))!;
      deepEqual([stored.version, stored.record.mark], [2, 'two'], 'and moves nothing');
      deepEqual(await taken(2, 'two', 'three'), { outcome: 'charged', version: 3 }, 'without any limit');
      const many = await Promise.all(Array.from({ length: 20 }, () => taken(3, 'three', 'four', counter(100, 1))));
      equal(
        many.filter(({ outcome }) => outcome === 'charged').length,
        1,
        'of many that decided on one version one moves the session',
      );
      equal(await used(), '61 1');
    },
  },
  {
    name: 'a turn takes its limits with its begin, settles them with its end, and gives them back when it is withdrawn',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const sinceMs = nowMs - (nowMs % day);
      const used = async () =>
        (
          await store.limits.used(
            workspaceId,
            [
              { kind: 'counter', name: 'asst_1/minutes', periodMs: day },
              { kind: 'place', name: 'asst_1/visitors' },
            ],
            nowMs,
          )
        ).join(' ');
      const asked = [
        counter(100, 60),
        bucket(2),
        { ...place(2, 'vis_1', nowMs + 600_000), seat: 'ses_1' } as AskedLimit,
      ];
      const begun = await scene.streaming({ slot: null, asked });
      equal(await used(), '60 1');
      deepEqual(
        await store.turns.begin(begun.step),
        { outcome: 'begun', version: begun.version, fence: begun.fence },
        'sent twice',
      );
      equal(await used(), '60 1');
      const settled = (cost: number, untilMs: number): SettledLimit[] => [
        { kind: 'counter', name: 'asst_1/minutes', periodMs: day, sinceMs, cost },
        { kind: 'bucket', name: 'asst_1/address/abc', ceiling: 2, periodMs: hour, cost: Math.min(0, cost) && -1 },
        { kind: 'place', name: 'asst_1/visitors', holder: 'vis_1', seat: 'ses_1', untilMs },
      ];
      const end = begun.finishStep({ settled: settled(5, nowMs + 60_000) });
      for (let times = 0; times < 2; times++) equal((await store.turns.finish(end)).outcome, 'finished');
      equal(await used(), '65 1');

      const withdrawn = await scene.streaming({ slot: null, asked });
      equal(await used(), '125 1');
      const refused = await store.turns.begin(scene.beginStep(await scene.created(), 1, { asked: [bucket(2)] }));
      equal(refused.outcome, 'limited');
      ok(refused.outcome === 'limited' && refused.answers[0]!.waitMs! > 0);
      const step = withdrawn.withdrawStep({ settled: settled(-60, nowMs), nowMs });
      for (let times = 0; times < 2; times++) equal((await store.turns.withdraw(step)).outcome, 'finished');
      equal(await used(), '65 0');
      deepEqual(await taker(scene)([bucket(2)]), [{ passed: true, waitMs: 0 }]);
      const earlier: SettledLimit = {
        kind: 'counter',
        name: 'asst_1/minutes',
        periodMs: day,
        sinceMs: sinceMs - day,
        cost: -60,
      };
      const saved = await scene.created();
      ok(await store.sessions.save(saved, at(1), undefined, [earlier], nowMs));
      equal(await used(), '65 0', 'a day that is over is left alone');
    },
  },
];
