/** Claims of deliveries on Redis: which workspaces a process asks, and how the deliveries of other processes are found. */
import t, { type Test } from 'tap';
import { DueWorkspaces } from '../../src/store/redis/due-workspaces.ts';
import type { Store, WebhookDelivery } from '../../src/store/store.ts';
import { ids, Scene, webhook } from './fixtures.ts';
import { RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const sweepMs = 30_000;

interface Processes {
  readonly stores: readonly [Store, Store];
  /** Scripts that Redis has run. */
  scripts(): Promise<number>;
}

/** Two processes on one Redis. */
async function twoProcesses(t: Test): Promise<Processes> {
  const server = await RedisServer.start();
  t.teardown(() => server.stop());
  const open = async (): Promise<Store> => {
    const { store, dispose } = await openStore(server.url, { prefix: 'shared:', allowVolatile: true });
    t.teardown(dispose);
    return store;
  };
  return {
    stores: [await open(), await open()],
    async scripts() {
      const text = String(await server.command('INFO', 'commandstats'));
      // A script is sent whole once.
      return [...text.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
    },
  };
}

const claim = (store: Store, nowMs: number, owner = 'one'): Promise<WebhookDelivery[]> =>
  store.webhooks.claim({ owner, nowMs, leaseUntilMs: nowMs + 25_000, limit: 4, skip: new Set() });

/** Workspaces with a webhook each. */
async function hooked(store: Store, nowMs: number, count: number): Promise<Scene[]> {
  const scenes = Array.from({ length: count }, () => new Scene(store, nowMs));
  for (const scene of scenes)
    await store.catalog.create('webhook', webhook(scene.workspaceId, { events: ['turn.completed'] }));
  return scenes;
}

async function endTurn(scene: Scene): Promise<void> {
  const begun = await scene.streaming();
  await scene.store.turns.finish(begun.finishStep());
}

t.test('claims of a process without ends ask Redis nothing between two sweeps', { skip }, async (t) => {
  const { stores, scripts } = await twoProcesses(t);
  const nowMs = Date.now();
  await hooked(stores[0], nowMs, 20);
  await claim(stores[0], nowMs);
  const before = await scripts();
  for (let each = 1; each <= 20; each++) t.same(await claim(stores[0], nowMs + each), []);
  t.equal(await scripts(), before);
  await claim(stores[0], nowMs + sweepMs);
  t.equal(await scripts(), before + 21, 'a sweep asks for the list, and each workspace once');
});

t.test('a process asks the workspace of an end that it has stored, and no other', { skip }, async (t) => {
  const { stores, scripts } = await twoProcesses(t);
  const nowMs = Date.now();
  const [scene] = (await hooked(stores[0], nowMs, 20)) as [Scene];
  await claim(stores[0], nowMs);
  await endTurn(scene);
  await endTurn(new Scene(stores[0], nowMs));
  const before = await scripts();
  const claimed = await claim(stores[0], nowMs + 1);
  t.match(claimed, [{ workspaceId: scene.workspaceId }]);
  t.equal(await scripts(), before + 2, 'which of two workspaces has a webhook, and its deliveries');
});

t.test('a delivery that is due again is claimed at its time', { skip }, async (t) => {
  const { stores, scripts } = await twoProcesses(t);
  const nowMs = Date.now();
  const [scene] = (await hooked(stores[0], nowMs, 1)) as [Scene];
  await endTurn(scene);
  const [delivery] = (await claim(stores[0], nowMs)) as [WebhookDelivery];
  const nextAtMs = nowMs + 5000;
  await stores[0].webhooks.settle({ delivery, owner: 'one', status: 'pending', attempts: 1, nextAtMs });
  const before = await scripts();
  t.same(await claim(stores[0], nextAtMs - 1), []);
  t.equal(await scripts(), before, 'nothing is asked before');
  t.match(await claim(stores[0], nextAtMs), [{ id: delivery.id }]);
});

t.test('the deliveries of a process that has died are found by the sweep of another', { skip }, async (t) => {
  const [dead, living] = (await twoProcesses(t)).stores;
  const nowMs = Date.now();
  const [stored, leased] = (await hooked(dead, nowMs, 2)) as [Scene, Scene];
  t.same(await claim(living, nowMs), []);
  await endTurn(leased);
  t.match(await claim(dead, nowMs), [{ workspaceId: leased.workspaceId }]);
  await endTurn(stored);
  // The first process never claims again, and its lease ends before the sweep.
  const found = await claim(living, nowMs + sweepMs, 'two');
  t.same(new Set(found.map(({ workspaceId }) => workspaceId)), new Set([stored.workspaceId, leased.workspaceId]));
});

t.test('a workspace that is noted while it is asked stays noted', async (t) => {
  const due = new DueWorkspaces();
  const [one, other] = [ids.make('wks'), ids.make('wks')];
  due.note(one, 5);
  due.note(other, 5);
  due.note(one, 7);
  t.same(due.dueAt(4), []);
  t.same(due.dueAt(5), [one, other], 'the earlier time stays');
  due.forget(one);
  due.note(one, 3);
  due.note(one, 99);
  t.same(due.dueAt(5), [other, one], 'the one that was asked last is the last');
  due.ended(one);
  due.ended(one);
  t.same([due.takeEnded(), due.takeEnded()], [[one], []]);
});
