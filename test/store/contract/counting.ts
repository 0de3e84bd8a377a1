/** Budgets and usage. */
import { deepEqual, equal } from 'node:assert/strict';
import type { Case } from '../contract.ts';
import { at, ids, usageQuery } from '../fixtures.ts';
import type { Scene } from '../fixtures.ts';

const requests = { budget: 'requests', ceiling: 2 } as const;
const speech = { budget: 'speech', ceiling: 1 } as const;

const taker =
  ({ store, workspaceId }: Scene, keyId = ids.make('key')) =>
  async (budgets: Parameters<typeof store.limits.takeBudgets>[2], nowMs: number) =>
    (await store.limits.takeBudgets(workspaceId, keyId, budgets, nowMs)).map(({ budget, passed, remaining }) => [
      budget,
      passed,
      remaining,
    ]);

export const countingCases: readonly Case[] = [
  {
    name: 'a budget passes its ceiling, then refuses and tells when it passes again',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const keyId = ids.make('key');
      const take = taker(scene, keyId);
      deepEqual(await take([requests], nowMs), [['requests', true, 1]]);
      deepEqual(await take([requests], nowMs), [['requests', true, 0]]);
      const [refused] = await store.limits.takeBudgets(workspaceId, keyId, [requests], nowMs);
      deepEqual(
        [refused!.passed, refused!.remaining, refused!.retryAfterSeconds],
        [false, 0, 60],
        'a refusal costs one as well',
      );
      deepEqual(await taker(scene)([requests], nowMs), [['requests', true, 1]], 'another key has its own');
      deepEqual(await take([{ ...speech }], nowMs), [['speech', true, 0]], 'as has another budget');
    },
  },
  {
    name: 'the budget that refuses goes into debt and the others stay as they were',
    async run(scene) {
      const take = taker(scene);
      const { nowMs } = scene;
      deepEqual(await take([requests, speech], nowMs), [
        ['requests', true, 1],
        ['speech', true, 0],
      ]);
      deepEqual(await take([requests, speech], nowMs), [
        ['requests', true, 1],
        ['speech', false, 0],
      ]);
      deepEqual(await take([requests, speech], nowMs), [
        ['requests', true, 1],
        ['speech', false, 0],
      ]);
      deepEqual(await take([requests], nowMs), [['requests', true, 0]]);
      deepEqual(
        await take([requests, { budget: 'transcriptionTokens', ceiling: 5 }], nowMs),
        [['requests', false, 0]],
        'the rest is not looked at',
      );
      deepEqual(await take([{ budget: 'transcriptionTokens', ceiling: 5 }], nowMs), [['transcriptionTokens', true, 4]]);
    },
  },
  {
    name: 'a refusal tells how long the budgets after it take as well',
    callersTime: true,
    async run({ store, workspaceId, nowMs }) {
      const keyId = ids.make('key');
      const many = { budget: 'requests', ceiling: 60 } as const;
      const take = async (budgets: Parameters<typeof store.limits.takeBudgets>[2], at = nowMs, id = keyId) =>
        (await store.limits.takeBudgets(workspaceId, id, budgets, at)).at(-1)!;
      equal((await take([many, speech])).passed, true);
      for (let left = 59; left > 0; left--) await take([many]);
      const told = async (): Promise<unknown[]> => {
        const { budget, passed, retryAfterSeconds, restSeconds } = await take(
          [many, { budget: 'transcriptionTokens', ceiling: 1 }, speech],
          nowMs,
        );
        return [budget, passed, retryAfterSeconds, restSeconds];
      };
      deepEqual(
        [await told(), await told()],
        [
          ['requests', false, 2, 60],
          ['requests', false, 3, 60],
        ],
      );
      const last = await take([many, speech], nowMs);
      equal((await take([many, speech], nowMs + 60_000)).passed, true, 'who waits for both passes');
      deepEqual(
        [last.retryAfterSeconds, last.restSeconds, (await take([many], nowMs + 60_000)).restSeconds],
        [4, 60, 0],
      );
      const few = { budget: 'requests', ceiling: 1 } as const;
      const other = ids.make('key');
      equal((await take([few, speech], nowMs, other)).passed, true);
      const inDebt = [await take([few, speech], nowMs, other), await take([few, speech], nowMs, other)];
      deepEqual(
        inDebt.map((each) => [each.retryAfterSeconds, each.restSeconds]),
        [
          [60, 0],
          [60, 0],
        ],
        'a wait no longer than the own one is not reported',
      );
    },
  },
  {
    name: 'of many takes at once exactly as many pass as there is room for',
    async run(scene) {
      const take = taker(scene);
      const taken = await Promise.all(
        Array.from({ length: 50 }, () => take([{ budget: 'requests', ceiling: 10 }], scene.nowMs)),
      );
      equal(taken.filter(([first]) => first![1]).length, 10);
    },
  },
  {
    name: 'a budget refills with time, and who waits as long as told passes',
    callersTime: true,
    async run(scene) {
      const { store, workspaceId, nowMs, now } = scene;
      const keyId = ids.make('key');
      const take = (at: number, ceiling = 2) =>
        store.limits.takeBudgets(workspaceId, keyId, [{ budget: 'requests', ceiling }], at);
      for (let count = 0; count < 9; count++) await take(nowMs);
      const [refused] = await take(nowMs);
      equal(refused!.resetAt, Math.ceil((nowMs + 90_000) / 1000));
      const at = nowMs + refused!.retryAfterSeconds * 1000;
      deepEqual(
        (await take(at)).map(({ passed, remaining, retryAfterSeconds }) => [passed, remaining, retryAfterSeconds]),
        [[true, 0, 0]],
      );
      const [later] = await take((now + 100_000) * 1000, 3);
      equal(later!.remaining, 2);
    },
  },
  {
    name: 'usage counts sessions, turns, failed turns and tokens, each once and in its second',
    async run(scene) {
      const { store, workspaceId } = scene;
      const day = 86_400;
      const start = Math.floor(scene.now / day) * day - 3 * day;
      const other = ids.make('asst');
      const end = async (at: number, status: 'completed' | 'failed' | 'aborted', assistantId = scene.assistantId) => {
        const turn = await scene.streaming({}, { createdAt: at - 1, assistantId });
        await store.turns.finish(turn.finishStep({}, { status, endedAt: at }));
      };
      await end(start, 'completed');
      await end(start + 3599, 'failed');
      await end(start + 3600, 'aborted', other);
      await end(start + 2 * day, 'completed');
      await store.turns.withdraw((await scene.streaming({}, { createdAt: start + 5 })).withdrawStep());
      const read = async (from: number, to: number, over: Parameters<typeof usageQuery>[2] = {}) =>
        (await store.usage.read(workspaceId, usageQuery(from, to, over))).map((bucket) => [
          bucket.start - start,
          bucket.sessions,
          bucket.turns,
          bucket.failedTurns,
        ]);

      deepEqual(await read(start, start + 7200), [
        [0, 3, 2, 1],
        [3600, 0, 1, 0],
      ]);
      deepEqual(await read(start - 1, start + 1), [
        [-3600, 1, 0, 0],
        [0, 0, 1, 0],
      ]);
      deepEqual(await read(start + 1, start + 3600), [[0, 3, 1, 1]]);
      deepEqual(await read(start + 3599, start + 3601), [
        [0, 1, 1, 1],
        [3600, 0, 1, 0],
      ]);
      deepEqual(await read(start, start + 3599), [[0, 2, 1, 0]]);
      deepEqual(await read(start, start), []);
      const days = { bucketSeconds: day } as const;
      deepEqual(await read(start + 10, start + 2 * day + 1, days), [
        [0, 2, 2, 1],
        [day, 1, 0, 0],
        [2 * day, 0, 1, 0],
      ]);
      deepEqual(await read(start, start + day, { ...days, assistantIds: [other] }), [[0, 1, 1, 0]]);
      deepEqual(await read(start, start + day, { ...days, assistantIds: [other, scene.assistantId, other] }), [
        [0, 3, 3, 1],
      ]);
      deepEqual(await read(start, start + day, { ...days, assistantIds: [] }), [[0, 0, 0, 0]]);
      const [tokens] = await store.usage.read(workspaceId, usageQuery(start, start + day, days));
      deepEqual(
        [tokens!.inputTokens, tokens!.outputTokens, tokens!.speechCharacters, tokens!.transcriptionSeconds],
        [9, 15, 0, 0],
      );
      deepEqual((await store.usage.read(ids.make('wks'), usageQuery(start, start + day, days)))[0]!.turns, 0);
    },
  },
  {
    name: 'usage is kept by key as well, and an assistant has that of all keys and of none',
    async run(scene) {
      const { store, workspaceId, assistantId, now } = scene;
      const other = ids.make('asst');
      const turnOf = async (keyId: string | null, of: string) => {
        const turn = await scene.streaming({}, { assistantId: of, ...(keyId !== null && { keyId }) });
        await store.turns.finish(turn.finishStep());
        return turn;
      };
      await turnOf('key_1', assistantId);
      await turnOf('key_1', other);
      await turnOf('key_2', assistantId);
      await turnOf(null, assistantId);
      const withdrawn = await turnOf('key_2', assistantId);
      await store.turns.withdraw(withdrawn.withdrawStep({ ...at(3), turn: withdrawn.finishStep().turn }));
      const spoken = { workspaceId, assistantId, at: now, transcriptionSeconds: 0 };
      await store.usage.count({ ...spoken, id: 'one', keyId: 'key_1', speechCharacters: 5 });
      await store.usage.count({ ...spoken, id: 'two', keyId: null, speechCharacters: 3 });
      const read = async (over: Parameters<typeof usageQuery>[2]) => {
        const buckets = await store.usage.read(workspaceId, usageQuery(now - 3600, now + 60, over));
        return (['sessions', 'turns', 'speechCharacters'] as const).map((name) =>
          buckets.reduce((sum, bucket) => sum + bucket[name], 0),
        );
      };
      deepEqual(await read({}), [5, 4, 8]);
      deepEqual(await read({ keyId: null }), [5, 4, 8]);
      deepEqual(await read({ assistantIds: [assistantId] }), [4, 3, 8]);
      deepEqual(await read({ keyId: 'key_1' }), [2, 2, 5]);
      deepEqual(await read({ keyId: 'key_2' }), [2, 1, 0]);
      deepEqual(await read({ keyId: 'key_1', assistantIds: [assistantId] }), [1, 1, 5]);
      deepEqual(await read({ keyId: 'key_1', assistantIds: [assistantId, other] }), [2, 2, 5]);
      deepEqual(await read({ keyId: 'key_3' }), [0, 0, 0]);
      deepEqual(await read({ keyId: 'key_1', assistantIds: [] }), [0, 0, 0]);
    },
  },
  {
    name: 'many events of one second are all counted',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      await Promise.all(Array.from({ length: 300 }, () => scene.created()));
      const total = async (from: number, to: number) =>
        (await store.usage.read(workspaceId, usageQuery(from, to))).reduce((sum, { sessions }) => sum + sessions, 0);
      equal(await total(now, now + 1), 300);
      equal(await total(now - 7200, now + 7200), 300);
      equal(await total(now + 1, now + 7200), 0);
    },
  },
  {
    name: 'the events of many seconds are each counted once',
    async run(scene) {
      const { store, workspaceId } = scene;
      const hour = Math.floor(scene.now / 3600) * 3600 - 7200;
      await Promise.all(Array.from({ length: 600 }, (_, index) => scene.created({ createdAt: hour + index })));
      const total = async (from: number, to: number) =>
        (await store.usage.read(workspaceId, usageQuery(from, to))).map(({ sessions }) => sessions);
      deepEqual(await total(hour, hour + 599), [599]);
      deepEqual(await total(hour + 1, hour + 3600), [599]);
      deepEqual(await total(hour - 3600, hour + 3600), [0, 600]);
      deepEqual(await total(hour + 300, hour + 3601), [300, 0]);
    },
  },
];
