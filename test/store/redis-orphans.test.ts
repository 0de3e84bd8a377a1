/** The looks for turns of dead processes: soon enough for every lease, and none where there can be nothing to find. */
import { ok } from 'node:assert/strict';
import fc from 'fast-check';
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import { limits } from '../../src/base/limits.ts';
import { redisStore } from '../../src/store/redis.ts';
import type { Store, TurnPlace } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { assistant, ids, Scene } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { toldTheTime } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const lookMs = limits.orphansMs;

/** Processes on one Redis, all with manual clocks. */
async function open(t: Test) {
  const server = await RedisServer.start(...appendOnly);
  const told = createClient({ url: server.url });
  await told.connect();
  const stores: Store[] = [];
  const clock = new ManualClock();
  t.teardown(async () => {
    await Promise.all(stores.map((store) => store.close()));
    told.destroy();
    await server.stop();
  });
  return {
    server,
    clock,
    async process(prefix: string): Promise<Store> {
      const store = redisStore(server.url, { clock, ids, prefix, scripts: toldTheTime });
      await store.open(0);
      stores.push(store);
      return store;
    },
    async pass(ms: number): Promise<void> {
      clock.advance(ms);
      await told.set('now', clock.now());
    },
  };
}

/** A turn of a process that dies: when it begins, and after how long each its lease is renewed. */
const life = fc.record({
  waitMs: fc.integer({ min: 0, max: 12_000 }),
  renewals: fc.array(fc.integer({ min: 1, max: limits.leaseMs - lookMs }), { maxLength: 4 }),
});

t.test('a turn of a dead process is found within a look of the end of its lease', { skip }, async (t) => {
  const { clock, process, pass } = await open(t);
  await pass(0);
  const run = async (lives: readonly { waitMs: number; renewals: readonly number[] }[]): Promise<void> => {
    const prefix = `${ids.secret()}:`;
    const [owner, other] = [await process(prefix), await process(prefix)];
    const ends = new Map<string, number>();
    let events = lives.flatMap(({ waitMs, renewals }) => {
      const scene = new Scene(owner, clock.now());
      let turn: Awaited<ReturnType<typeof scene.streaming>>;
      const begin = async () => {
        turn = await scene.streaming({ nowMs: 0, leaseUntilMs: limits.leaseMs });
        ends.set(turn.place.turnId, clock.now() + limits.leaseMs);
      };
      const renew = async () => {
        await owner.turns.renew(turn.place, turn.fence, limits.leaseMs, 0);
        ends.set(turn.place.turnId, clock.now() + limits.leaseMs);
      };
      let at = clock.now() + waitMs;
      return [{ at, act: begin }, ...renewals.map((afterMs) => ({ at: (at += afterMs), act: renew }))];
    });
    events = events.sort((a, b) => a.at - b.at);
    for (let found = 0; found < lives.length;) {
      const nextLook = clock.now() + lookMs;
      for (; events[0] !== undefined && events[0].at < nextLook; events.shift()) {
        await pass(events[0].at - clock.now());
        await events[0].act();
      }
      await pass(nextLook - clock.now());
      const orphans: TurnPlace[] = await other.turns.orphans(0, 1000);
      for (const { workspaceId, sessionId, turnId } of orphans) {
        const late = clock.now() - ends.get(turnId)!;
        ok(late >= 0, 'its owner lives');
        const fence = await other.turns.takeOver({ workspaceId, sessionId, turnId }, 'x', 60_000, 0);
        ok(fence !== null);
        ends.delete(turnId);
        found++;
      }
      for (const end of ends.values()) ok(clock.now() - end < lookMs, 'a look too late');
    }
  };
  await t.resolves(fc.assert(fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 4 }), run), { numRuns: 15 }));
});

t.test(
  'a lease that is shorter than usual, or was cut, is found as soon by those who hear of it',
  { skip },
  async (t) => {
    const { process, pass } = await open(t);
    await pass(0);
    const [owner, other] = [await process('short:'), await process('short:')];
    const scene = new Scene(owner, 0);
    let wake = (): void => {};
    await other.watch((notice) => void (notice.type === 'changed' && wake()));
    /** Resolves when the other has received all notices so far. */
    const heard = async (): Promise<void> => {
      const last = new Promise<void>((resolve) => (wake = resolve));
      await owner.catalog.create('assistant', assistant(scene.workspaceId));
      await last;
    };
    const leaseUntilMs = limits.leaseMs;
    const usual = await scene.streaming({ nowMs: 0, leaseUntilMs });
    t.same(await other.turns.orphans(0, 1000), [], 'it has looked just now');
    const brief = await scene.streaming({ nowMs: 0, leaseUntilMs: limits.stopMs });
    await heard();
    await pass(limits.stopMs);
    t.same(await other.turns.orphans(0, 1000), [brief.place]);
    await other.turns.takeOver(brief.place, 'x', 60_000, 0);
    await owner.turns.renew(usual.place, usual.fence, leaseUntilMs, 0);
    await owner.turns.requestStop(usual.place, 'aborted', limits.stopMs, 0);
    await heard();
    await pass(limits.stopMs - 1);
    t.same(await other.turns.orphans(0, 1000), []);
    await pass(1);
    t.same(await other.turns.orphans(0, 1000), [usual.place]);
    t.same(await owner.turns.orphans(0, 1000), [usual.place], 'and by whoever asked');
  },
);

t.test('a process without turns sends Redis few commands', { skip }, async (t) => {
  const { server, process, pass } = await open(t);
  await pass(0);
  const store = await process('quiet:');
  const workspaces = 20;
  for (let count = 0; count < workspaces; count++) {
    const turn = await new Scene(store, 0).streaming({ nowMs: 0, leaseUntilMs: limits.leaseMs });
    await store.turns.finish(turn.finishStep());
  }
  const askedFor = async (ms: number): Promise<number> => {
    const before = await server.scriptCalls();
    for (let left = ms; left > 0; left -= lookMs) {
      await pass(lookMs);
      t.same(await store.turns.orphans(0, 1000), []);
    }
    return (await server.scriptCalls()) - before;
  };
  await store.turns.orphans(0, 1000);
  t.equal(await askedFor(10 * limits.leaseMs), 10 * (1 + workspaces), 'once in the time of a lease');
  await askedFor(3 * 60_000);
  t.equal(await askedFor(10 * limits.leaseMs), 10, 'and after a while not at all');
  const turn = await new Scene(store, 0).streaming({ nowMs: 0, leaseUntilMs: limits.leaseMs });
  await pass(limits.leaseMs);
  t.same(await store.turns.orphans(0, 1000), [turn.place]);
});

t.test('a short lease given in a workspace hides none that lapsed there before', { skip }, async (t) => {
  const { clock, process, pass } = await open(t);
  await pass(0);
  const prefix = `${ids.secret()}:`;
  const [owner, other] = [await process(prefix), await process(prefix)];
  const scene = new Scene(owner, clock.now());
  const [dead, stopped] = [
    await scene.streaming({ leaseUntilMs: clock.now() + limits.leaseMs }),
    await scene.streaming(),
  ];
  await pass(limits.leaseMs);
  await other.turns.requestStop(stopped.place, 'aborted', clock.now() + 1000, clock.now());
  t.same(await other.turns.orphans(clock.now(), 10), [dead.place], 'by a process that has never looked');
});
