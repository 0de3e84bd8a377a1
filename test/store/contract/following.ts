/** Cases for sessions that a process follows: each move is notified once, to a follower that waits for it. */
import { deepEqual, equal } from 'node:assert/strict';
import type { Notice } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { assistant, at, workspace, type Scene } from '../fixtures.ts';
import { heard } from './ownership.ts';

/** Checks the notices that came since the last check; the notice of a change in the console marks their end. */
async function movesHeard({ store, workspaceId }: Scene) {
  const watch = await heard(store);
  return {
    stop: watch.stop,
    async expect(...sessionIds: string[]): Promise<void> {
      const last = assistant(workspaceId);
      await store.catalog.create('assistant', last);
      const moves: Notice[] = [];
      for (let notice = await watch.next(); !('id' in notice && notice.id === last.id); notice = await watch.next())
        if (notice.type === 'session.moved') moves.push(notice);
      deepEqual(
        moves,
        sessionIds.map((sessionId) => ({ type: 'session.moved', workspaceId, sessionId })),
      );
    },
  };
}

export const followingCases: readonly Case[] = [
  {
    name: 'a follower of a session gets one notice of its next move, whichever step makes it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = await scene.created();
      const moves = await movesHeard(scene);
      const waits = async () => (await store.sessions.awaitMove(workspaceId, session.id))?.version;
      deepEqual(await store.sessions.awaitMove(workspaceId, session.id), { record: session, version: 1 });
      const turn = await scene.begun(session, 1);
      await moves.expect(session.id);
      equal(await waits(), 2);
      await turn.append(0, 'a');
      await moves.expect();
      await store.turns.finish(turn.finishStep());
      await moves.expect(session.id);
      equal(await waits(), 3);
      const second = await scene.begun(turn.step.session, 3);
      equal(await waits(), 4);
      await store.turns.withdraw(second.withdrawStep());
      await moves.expect(session.id, session.id);
      equal(await waits(), 5);
      await store.sessions.charge({ session, ...at(5), asked: [], nowMs });
      await moves.expect(session.id);
      equal(await waits(), 6);
      equal(await waits(), 6, 'a second follower');
      equal(await store.sessions.save(session, at(6)), 7);
      await moves.expect(session.id);
      equal(await store.sessions.save(session, at(7)), 8);
      await moves.expect();
      await moves.stop();
    },
  },
  {
    name: 'a follower of a session gets no notice of a step that is refused, or of another session',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming();
      const { before } = turn;
      const moves = await movesHeard(scene);
      await store.sessions.awaitMove(workspaceId, before.id);
      equal(await store.sessions.save(before, at(1)), null);
      deepEqual(await store.sessions.charge({ session: before, ...at(1), asked: [], nowMs }), { outcome: 'lost' });
      deepEqual(await store.turns.finish(turn.finishStep({ version: 9 })), { outcome: 'lost' });
      equal(await store.sessions.discard(before, at(1), null), false);
      const other = await scene.created();
      equal(await store.sessions.save(other, at(1)), 2);
      equal(await store.sessions.awaitMove(workspaceId, 'ses_unknown'), null);
      await moves.expect();
      await moves.stop();
    },
  },
  {
    name: 'a follower of a session gets no notice of a step that is sent again',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const turn = await scene.begun(session, 1);
      const moves = await movesHeard(scene);
      const sendAgain = async (send: () => Promise<{ outcome: string }>, outcome: string): Promise<void> => {
        await store.sessions.awaitMove(workspaceId, session.id);
        equal((await send()).outcome, outcome);
        await moves.expect();
      };
      await sendAgain(() => store.turns.begin(turn.step), 'begun');
      const finish = () => store.turns.finish(turn.finishStep());
      equal((await finish()).outcome, 'finished');
      await moves.expect(session.id);
      await sendAgain(finish, 'finished');
      const second = await scene.begun(turn.step.session, 3);
      await moves.expect(session.id);
      const withdraw = () => store.turns.withdraw(second.withdrawStep());
      equal((await withdraw()).outcome, 'finished');
      await sendAgain(withdraw, 'finished');
      await moves.stop();
    },
  },
  {
    name: 'a follower of a session gets a notice of its removal',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const [discarded, erased] = [await scene.created(), (await scene.streaming()).before];
      const moves = await movesHeard(scene);
      await store.sessions.awaitMove(workspaceId, discarded.id);
      equal(await store.sessions.discard(discarded, at(1, discarded.mark), null), true);
      await moves.expect(discarded.id);
      await store.sessions.awaitMove(workspaceId, erased.id);
      const erasure = { workspaceId, kind: 'session', id: erased.id } as const;
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, erased.id);
      await moves.expect(erased.id);
      await store.erasures.finish(erasure);
      equal(await store.sessions.awaitMove(workspaceId, erased.id), null);
      await moves.expect();
      await store.catalog.create('workspace', workspace({ id: workspaceId }));
      const last = await scene.created();
      await store.sessions.awaitMove(workspaceId, last.id);
      await store.catalog.remove('workspace', workspaceId, workspaceId);
      await moves.expect(last.id);
      await moves.stop();
    },
  },
  {
    name: 'a move is in the session that a follower reads, or is notified',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const moves = await movesHeard(scene);
      for (let version = 1; version <= 20; version++) {
        const follow = () => store.sessions.awaitMove(workspaceId, session.id);
        const move = () => store.sessions.save(session, at(version));
        const [read] =
          version % 2 === 0 ? await Promise.all([follow(), move()]) : (await Promise.all([move(), follow()])).reverse();
        const stored = (read as { version: number }).version;
        if (stored === version) await moves.expect(session.id);
        else {
          equal(stored, version + 1);
          await moves.expect();
        }
      }
      await moves.stop();
    },
  },
];
