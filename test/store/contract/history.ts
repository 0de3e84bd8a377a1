/** Cases for histories: an actor's move is stored with the step that makes it. */
import { deepEqual, equal } from 'node:assert/strict';
import { limits } from '../../../src/base/limits.ts';
import { movesKept } from '../../../src/store/moves.ts';
import type { Move, TurnPast } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { assistant, at, credential, key, snapshot, workspace } from '../fixtures.ts';

export const move = (seq: number, over: Partial<Move> = {}): Move => ({
  seq,
  atMs: 1_790_000_000_123 + seq,
  version: 1,
  event: { type: 'chat', turnId: 'turn_1', assistantRefusal: null } as Move['event'],
  from: seq === 1 ? null : 'open',
  to: 'streaming',
  outcomes: [{ type: 'refused', code: 'session_ended' } as Move['outcomes'][number]],
  cause: { requestId: `req_${seq}`, by: { kind: 'key', id: 'key_1', name: 'é "👋"' } },
  snapshot: seq === 1 ? snapshot('open', { endedAt: null }) : null,
  ...over,
});

const past: TurnPast = {
  turnId: 'turn_1',
  version: 1,
  runsUntil: 1_790_000_300_000,
  shared: true,
  events: [
    { type: 'output', at: 1_790_000_000_200 },
    { type: 'stop', at: 1_790_000_000_300, reason: 'aborted' } as TurnPast['events'][number],
  ],
  stoppedBy: { requestId: 'req_9', by: { kind: 'operator', id: 'operator', name: 'operator' } },
};

export const historyCases: readonly Case[] = [
  {
    name: "each step of a session adds one move to the session's history, and a step that is not taken adds none",
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session();
      const read = (): Promise<Move[]> => store.history.read('session', workspaceId, session.id);
      deepEqual(await read(), []);
      const create = scene.createStep({ session, move: move(1) });
      for (let sent = 0; sent < 2; sent++) await store.sessions.create(create);
      deepEqual(await read(), [move(1)], 'as it was written, once');

      const turn = await scene.begun(session, 1, { move: move(2) });
      await store.turns.begin(turn.step);
      equal((await store.turns.begin({ ...scene.beginStep(session, 1), move: move(2) })).outcome, 'lost');
      const finish = turn.finishStep({ move: move(3, { turn: past }) });
      for (let sent = 0; sent < 2; sent++) equal((await store.turns.finish(finish)).outcome, 'finished');
      const nobody = { requestId: null, by: null };
      const saved = { ...finish.session, machine: snapshot('ended') };
      equal(await store.sessions.save(saved, at(3, saved.mark), move(4, { cause: nobody })), 4);
      equal(await store.sessions.save(saved, at(3, saved.mark), move(4)), null);

      const other = await scene.begun(saved, 4, { move: move(5) });
      const withdraw = other.withdrawStep({ move: move(6, { turn: { ...past, events: [], stoppedBy: nobody } }) });
      for (let sent = 0; sent < 2; sent++) equal((await store.turns.withdraw(withdraw)).outcome, 'finished');
      deepEqual(
        await read(),
        [
          move(1),
          move(2),
          move(3, { turn: past }),
          move(4, { cause: nobody }),
          move(5),
          move(6, { turn: { ...past, events: [], stoppedBy: nobody } }),
        ],
        'the end of a turn with its past',
      );
      deepEqual(await store.history.read('session', 'wks_other', session.id), [], 'seen from another workspace');
      deepEqual(await store.history.read('key', workspaceId, session.id), [], 'of another kind');
    },
  },
  {
    name: 'keys and assistants have a history, until they are removed',
    async run({ store, workspaceId }) {
      const { catalog, history } = store;
      await catalog.create('workspace', workspace({ id: workspaceId }), move(1));
      for (const [kind, record] of [
        ['key', key(workspaceId)],
        ['assistant', assistant(workspaceId)],
      ] as const) {
        const read = (): Promise<Move[]> => history.read(kind, workspaceId, record.id);
        await catalog.create(kind, record, move(1));
        await catalog.create(kind, record, move(1));
        equal(await catalog.replace(kind, record, 1, move(2)), 2);
        equal(await catalog.replace(kind, record, 1, move(2)), null);
        deepEqual(await read(), [move(1), move(2)]);
        equal(await catalog.remove(kind, workspaceId, record.id), true);
        deepEqual(await read(), []);
      }
      const stays = key(workspaceId);
      await catalog.create('key', stays, move(1));
      await catalog.create('credential', credential(workspaceId), move(1));
      await catalog.remove('workspace', workspaceId, workspaceId);
      deepEqual(await history.read('key', workspaceId, stays.id), [], 'with the workspace');
    },
  },
  {
    name: "a session's history goes with it",
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      await store.catalog.create('workspace', workspace({ id: workspaceId, retentionDays: 2 }));
      const sessions = [now - 3 * 86_400, now].map((lastActivityAt) => scene.session({ lastActivityAt }));
      for (const session of sessions) await store.sessions.create(scene.createStep({ session, move: move(1) }));
      while ((await store.sweep(nowMs, 10)) > 0);
      const kept = await Promise.all(sessions.map(({ id }) => store.history.read('session', workspaceId, id)));
      deepEqual(kept, [[], [move(1)]]);
    },
  },
  {
    name: 'of a long history the newest steps are kept',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session();
      await store.sessions.create(scene.createStep({ session, move: move(1) }));
      const beyond = 3;
      const steps = Array.from({ length: movesKept + beyond - 1 }, (_, index) => index + 1);
      // Sent one after the other without waiting: both kinds of store take them in this order.
      const versions = await Promise.all(
        steps.map((version) => store.sessions.save(session, at(version, session.mark), move(version + 1))),
      );
      deepEqual(
        versions,
        steps.map((version) => version + 1),
      );
      const kept = await store.history.read('session', workspaceId, session.id);
      deepEqual(
        kept.map(({ seq }) => seq),
        Array.from({ length: movesKept }, (_, index) => index + 1 + beyond),
      );
    },
  },
  {
    name: "a turn in flight is in its session's history, and stays in order with what moves the session meanwhile",
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const read = async (): Promise<number[]> =>
        (await store.history.read('session', workspaceId, session.id)).map(({ seq }) => seq);
      const turn = await scene.begun(session, 1, { move: move(2) });
      deepEqual(await store.history.read('session', workspaceId, session.id), [move(2)]);
      equal(await store.sessions.save(turn.step.session, at(2, turn.step.session.mark), move(3)), 3);
      deepEqual(await read(), [2, 3]);
      equal((await store.turns.finish(turn.finishStep({ version: 3, move: move(4) }))).outcome, 'finished');
      deepEqual(await read(), [2, 3, 4]);
    },
  },
  {
    name: 'the two steps of a turn leave a long history one after the other',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session();
      await store.sessions.create(scene.createStep({ session, move: move(1) }));
      const turn = await scene.begun(session, 1, { move: move(2) });
      const { session: ended, ...finish } = turn.finishStep({ move: move(3) });
      equal((await store.turns.finish({ session: ended, ...finish })).outcome, 'finished');
      const savedUpTo = async (last: number, from: number): Promise<number[]> => {
        const versions = Array.from({ length: last - from }, (_, index) => from + index);
        await Promise.all(
          versions.map((version) => store.sessions.save(ended, at(version, ended.mark), move(version + 1))),
        );
        return (await store.history.read('session', workspaceId, session.id)).slice(0, 2).map(({ seq }) => seq);
      };
      deepEqual(await savedUpTo(movesKept + 1, 3), [2, 3]);
      deepEqual(await savedUpTo(movesKept + 2, movesKept + 1), [3, 4]);
      deepEqual(await savedUpTo(movesKept + 3, movesKept + 2), [4, 5]);
    },
  },
  {
    name: 'a turn that is over and then withdrawn leaves its steps in the history',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const turn = await scene.begun(session, 1, { move: move(2) });
      const finish = turn.finishStep({ move: move(3, { turn: past }) });
      equal((await store.turns.finish(finish)).outcome, 'finished');
      const withdraw = turn.withdrawStep({ ...at(3, finish.session.mark), turn: finish.turn, move: move(4) });
      for (let sent = 0; sent < 2; sent++) equal((await store.turns.withdraw(withdraw)).outcome, 'finished');
      deepEqual(await store.history.read('session', workspaceId, session.id), [
        move(2),
        move(3, { turn: past }),
        move(4),
      ]);
    },
  },
  {
    name: 'the steps of more turns than are read at once are one history',
    async run(scene) {
      const { store, workspaceId } = scene;
      let session = await scene.created();
      for (let version = 1; version <= 2 * limits.scanRowsMax + 3; version += 2) {
        const turn = await scene.begun(session, version, { move: move(version + 1) });
        const finish = turn.finishStep({ move: move(version + 2) });
        equal((await store.turns.finish(finish)).outcome, 'finished');
        session = finish.session;
      }
      const seqs = (await store.history.read('session', workspaceId, session.id)).map(({ seq }) => seq);
      deepEqual(
        seqs,
        Array.from({ length: 2 * limits.scanRowsMax + 4 }, (_, index) => index + 2),
      );
    },
  },
];
