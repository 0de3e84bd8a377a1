/** Cases for turns among several processes: leases renewed, stops requested by others, and notices. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Key, Notice, Store, TurnPlace } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { api, assistant, ids, key, workspace } from '../fixtures.ts';

/** The notices of a store, as they come. */
export async function heard(store: Store): Promise<{ next(): Promise<Notice>; stop(): Promise<void> }> {
  const waiting: Notice[] = [];
  let wake = (): void => {};
  const stop = await store.watch((notice) => {
    waiting.push(notice);
    wake();
  });
  return {
    stop,
    async next() {
      while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return waiting.shift()!;
    },
  };
}

export const ownershipCases: readonly Case[] = [
  {
    name: 'a lease is renewed by its owner alone, and the slot with it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      equal(await store.turns.inFlight(workspaceId), 0);
      const until = nowMs + 60_000;
      equal(await store.turns.renew(turn.place, { ...turn.fence, owner: 'x' }, until, nowMs), 'fenced');
      equal(await store.turns.renew(turn.place, { ...turn.fence, epoch: 2 }, until, nowMs), 'fenced');
      equal(await store.turns.inFlight(workspaceId), 0);
      equal(await store.turns.renew(turn.place, turn.fence, until, nowMs), 'renewed');
      equal(await store.turns.inFlight(workspaceId), 1);
      equal(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), null);
      deepEqual(
        (await store.turns.orphans(nowMs, 1000)).filter((place) => place.workspaceId === workspaceId),
        [],
      );
      await store.turns.finish(turn.finishStep());
      equal(await store.turns.renew(turn.place, turn.fence, until, nowMs), 'fenced');
    },
  },
  {
    name: 'a piece of output renews the lease when it is told to',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      equal(await turn.append(0, 'a'), 'stored');
      equal(await store.turns.inFlight(workspaceId), 0, 'of itself it renews nothing');
      const lease = { leaseUntilMs: nowMs + 60_000, nowMs };
      const piece = { ...turn.place, fence: turn.fence, position: 1, text: 'b' };
      equal(await store.turns.append({ ...piece, ...lease, fence: { ...turn.fence, owner: 'x' } }), 'fenced');
      equal(await store.turns.append({ ...piece, ...lease }), 'stored');
      equal(await store.turns.inFlight(workspaceId), 1);
      equal(await store.turns.takeOver(turn.place, 'reaper', nowMs + 60_000, nowMs), null);
      equal(await store.turns.output(turn.place), 'ab');
    },
  },
  {
    name: "a lease that lapsed is not renewed when the turn was seized or its slot is somebody else's",
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const one = { slot: api(1) };
      const until = nowMs + 60_000;
      const late = await scene.streaming({ ...one, leaseUntilMs: nowMs - 1 });
      await scene.streaming(one);
      equal(await store.turns.renew(late.place, late.fence, until, nowMs), 'fenced');
      const piece = { ...late.place, fence: late.fence, position: 0, text: 'a', leaseUntilMs: until, nowMs };
      equal(await store.turns.append(piece), 'fenced');
      equal(await store.turns.inFlight(workspaceId), 1);
      equal(await store.turns.output(late.place), '');
      const fence = await store.turns.takeOver(late.place, 'reaper', nowMs - 1, nowMs);
      equal(await store.turns.renew(late.place, late.fence, until, nowMs), 'fenced');
      equal(await store.turns.renew(late.place, fence!, until, nowMs), 'renewed', 'a seized turn needs no slot');
      equal(await store.turns.inFlight(workspaceId), 1);
    },
  },
  {
    name: 'a stop is kept with the turn and told to its owner, who still owns it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming();
      equal(await turn.append(0, 'a'), 'stored');
      equal(
        await store.turns.requestStop({ ...turn.place, turnId: 'turn_never' }, 'aborted', nowMs + 60_000, nowMs),
        false,
      );
      equal(await store.turns.requestStop(turn.place, 'aborted', nowMs + 60_000, nowMs), true);
      equal(await store.turns.requestStop(turn.place, 'expired', nowMs + 60_000, nowMs), true);
      deepEqual(await turn.append(1, 'b'), { stop: 'aborted' }, 'the first reason stands');
      deepEqual(await store.turns.renew(turn.place, turn.fence, nowMs + 60_000, nowMs), { stop: 'aborted' });
      equal(await turn.append(2, 'c', { ...turn.fence, owner: 'x' }), 'fenced');
      equal(await store.turns.output(turn.place), 'ab');
      equal(await store.turns.inFlight(workspaceId), 1);
      equal((await store.turns.finish(turn.finishStep())).outcome, 'finished');
      equal(await store.turns.requestStop(turn.place, 'aborted', nowMs + 60_000, nowMs), false);
    },
  },
  {
    name: 'who asks a turn to stop leaves its owner only so long, and whoever seizes it then is told of it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming();
      const until = nowMs + 60_000;
      const orphans = async () =>
        (await store.turns.orphans(nowMs, 1000)).filter((place) => place.workspaceId === workspaceId);
      await store.turns.requestStop(turn.place, 'aborted', until, nowMs);
      equal(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), null);
      await store.turns.requestStop(turn.place, 'expired', nowMs - 1, nowMs);
      deepEqual(await orphans(), [turn.place]);
      deepEqual(
        await store.turns.renew(turn.place, turn.fence, until, nowMs),
        { stop: 'aborted' },
        'an owner that lives may renew it',
      );
      equal(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), null);
      await store.turns.requestStop(turn.place, 'aborted', nowMs - 1, nowMs);
      await store.turns.requestStop(turn.place, 'aborted', until, nowMs);
      deepEqual(await orphans(), [turn.place], 'nobody but the owner prolongs it');
      equal(await store.turns.inFlight(workspaceId), 1, 'its slot is its own until it is sealed');
      const seized = await store.turns.takeOver(turn.place, 'reaper', until, nowMs);
      deepEqual(seized, { epoch: 2, owner: 'reaper', stop: 'aborted' });
      deepEqual(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), seized, 'sent again');
      equal(await turn.append(0, 'late'), 'fenced');
      const other = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      equal((await store.turns.takeOver(other.place, 'reaper', until, nowMs))!.stop, null);
    },
  },
  {
    name: 'whoever has read all there is of a turn is told once when there is more, and when it is over',
    async run(scene) {
      const { store, workspaceId } = scene;
      const [turn, failing] = [await scene.streaming(), await scene.streaming()];
      const watch = await heard(store);
      /** Checks the notices up to now; the notice of a change in the console marks their end. */
      const told = async (...expected: TurnPlace[]): Promise<void> => {
        const last = assistant(workspaceId);
        await store.catalog.create('assistant', last);
        for (const place of expected) deepEqual(await watch.next(), { type: 'turn.moved', ...place });
        deepEqual(await watch.next(), { type: 'changed', kind: 'assistant', workspaceId, id: last.id });
      };
      await turn.append(0, 'a');
      equal((await store.turns.outputAfter(turn.place, 0))?.text, 'a');
      await turn.append(1, 'b');
      await told();
      await store.turns.outputAfter(turn.place, 2);
      await turn.append(2, 'c');
      await turn.append(3, 'd');
      await told(turn.place);
      await store.turns.outputAfter(failing.place, 0);
      await store.turns.withdraw(failing.withdrawStep());
      await told(failing.place);
      await store.turns.outputAfter(turn.place, 4);
      await store.turns.finish(turn.finishStep());
      await told(turn.place);
      equal((await store.turns.outputAfter(turn.place, 4))?.turn.status, 'completed');
      await told();
      await watch.stop();
    },
  },
  {
    name: 'whoever reads a turn whose text is released is told when there is more to see, and of nothing else',
    async run(scene) {
      const { store, workspaceId } = scene;
      const turn = await scene.streaming({ released: 0 });
      const watch = await heard(store);
      const told = async (...expected: TurnPlace[]): Promise<void> => {
        const last = assistant(workspaceId);
        await store.catalog.create('assistant', last);
        for (const place of expected) deepEqual(await watch.next(), { type: 'turn.moved', ...place });
        deepEqual(await watch.next(), { type: 'changed', kind: 'assistant', workspaceId, id: last.id });
      };
      await store.turns.outputAfter(turn.place, 0);
      await turn.append(0, 'abc');
      await told();
      await store.turns.release(turn.place, turn.fence, 2);
      await told(turn.place);
      equal((await store.turns.outputAfter(turn.place, 2))?.text, '');
      await store.turns.release(turn.place, turn.fence, 5);
      await told(turn.place);
      await store.turns.outputAfter(turn.place, 3);
      await store.turns.release(turn.place, turn.fence, 6);
      await told();
      await turn.append(3, 'def');
      await told(turn.place);
      await store.turns.outputAfter(turn.place, 6);
      await turn.append(6, 'ghi');
      await told();
      await watch.stop();
    },
  },
  {
    name: 'whoever awaits the output of a turn is told nothing while nothing moves, and told where its workspace goes',
    async run(scene) {
      const { store, workspaceId } = scene;
      const turn = await scene.streaming();
      const watch = await heard(store);
      await store.catalog.create('workspace', workspace({ id: workspaceId }));
      deepEqual(await watch.next(), { type: 'changed', kind: 'workspace', workspaceId, id: workspaceId });
      const toldNothing = async (): Promise<void> => {
        const last = assistant(workspaceId);
        await store.catalog.create('assistant', last);
        deepEqual(await watch.next(), { type: 'changed', kind: 'assistant', workspaceId, id: last.id });
      };
      equal(
        (await store.turns.outputAfter(turn.place, 1))?.text,
        null,
        'beyond what is stored there is nothing to await',
      );
      await turn.append(0, 'a');
      await toldNothing();
      await store.turns.outputAfter(turn.place, 1);
      await turn.append(0, 'a');
      deepEqual(await store.turns.finish(turn.finishStep({ version: 9 })), { outcome: 'lost' });
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ version: 9 })), { outcome: 'lost' });
      await toldNothing();
      await store.catalog.remove('workspace', workspaceId, workspaceId);
      // The list of workspaces and their content may lie on two shards, whose notices come in any order; a removal in
      // steps sends a notice for each step.
      const told = [await watch.next(), await watch.next()];
      while (!told.some(({ type }) => type === 'turn.moved')) told.push(await watch.next());
      deepEqual(
        told.filter(({ type }) => type === 'turn.moved'),
        [{ type: 'turn.moved', ...turn.place }],
      );
      const changed = told.filter(({ type }) => type === 'changed');
      deepEqual(
        changed,
        changed.map(() => ({ type: 'changed', kind: 'workspace', workspaceId, id: workspaceId })),
      );
      await watch.stop();
    },
  },
  {
    name: 'the removal of a workspace is announced once, and at most once more if it has records',
    async run(scene) {
      const { catalog } = scene.store;
      const watch = await heard(scene.store);
      /** Removes a workspace with these records; resolves with the number of times that this is announced. */
      const announced = async (workspaceId: string, records: readonly Key[]): Promise<number> => {
        await catalog.create('workspace', workspace({ id: workspaceId }));
        for (const each of records) await catalog.create('key', each);
        await catalog.remove('workspace', workspaceId, workspaceId);
        // The list of workspaces and their content may lie on two shards, whose notices come in any order.
        const [listed, content] = [workspace(), assistant(workspaceId)];
        await catalog.create('workspace', listed);
        await catalog.create('assistant', content);
        const ends = new Set([listed.id, content.id]);
        let changes = 0;
        while (ends.size > 0) {
          const notice = await watch.next();
          if (notice.type !== 'changed' || ends.delete(notice.id)) continue;
          if (notice.kind === 'workspace' && notice.id === workspaceId) changes++;
        }
        return changes - 1;
      };
      equal(await announced(scene.workspaceId, []), 1);
      const other = ids.make('wks');
      const times = await announced(other, [key(other)]);
      ok(times === 1 || times === 2, `${times} times`);
      await watch.stop();
    },
  },
  {
    name: 'a seizure sent again is the same one, whatever became of its lease meanwhile',
    async run(scene) {
      const { store, nowMs } = scene;
      const turn = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      const until = nowMs + 60_000;
      const seized = (await store.turns.takeOver(turn.place, 'reaper', until, nowMs))!;
      equal(
        await store.turns.renew(turn.place, { epoch: seized.epoch, owner: seized.owner }, until + 60_000, nowMs),
        'renewed',
      );
      deepEqual(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), seized);
      await store.turns.requestStop(turn.place, 'aborted', nowMs + 30_000, nowMs);
      deepEqual(await store.turns.takeOver(turn.place, 'reaper', until, nowMs), { ...seized, stop: 'aborted' });
      equal(await store.turns.takeOver(turn.place, 'another', until, nowMs), null);
    },
  },
  {
    name: 'who watches hears of stops and of what the console changed, until it stops',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming();
      const watch = await heard(store);
      const short = await heard(store);
      await short.stop();
      await store.turns.requestStop(turn.place, 'expired', nowMs + 60_000, nowMs);
      deepEqual(await watch.next(), { type: 'turn.stop', ...turn.place, reason: 'expired' });
      const record = key(workspaceId);
      await store.catalog.create('key', record);
      await store.catalog.create('key', record);
      await store.catalog.replace('key', record, 2);
      await store.catalog.replace('key', { ...record, revokedAt: 1 }, 1);
      await store.catalog.remove('key', workspaceId, record.id);
      await store.catalog.remove('key', workspaceId, record.id);
      const other = assistant(workspaceId);
      await store.catalog.create('assistant', other);
      const changed = { type: 'changed', kind: 'key', workspaceId, id: record.id };
      for (let count = 0; count < 3; count++) deepEqual(await watch.next(), changed);
      deepEqual(await watch.next(), { ...changed, kind: 'assistant', id: other.id });
      await watch.stop();
    },
  },
];
