/** Cases for sessions at the desk: a step moves the session, stores its messages and silences its turn, or does nothing. */
import { deepEqual, equal } from 'node:assert/strict';
import type { AttendSession, Session } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { at, message, page, remembered, snapshot, type Scene } from '../fixtures.ts';

const attendance = (state: string) => snapshot(state, { since: 1, person: null, untilMs: null });

/** A step that moves the session to a state of attendance, with so many notices. */
function attends(scene: Scene, before: Session, version: number, state: string, count = 1): AttendSession {
  const messages = Array.from({ length: count }, (_, index) =>
    message({ role: 'notice', content: `Note ${index}`, stopReason: null, sequence: index + 1 }),
  );
  return {
    session: { ...before, messageCount: before.messageCount + count, attendance: attendance(state) },
    ...at(version),
    messages,
    remember: null,
    nowMs: scene.nowMs,
  };
}

const idsAtDesk = async ({ store, workspaceId }: Scene): Promise<string[]> =>
  (await store.desk.list(workspaceId, page())).items.map(({ id }) => id);

export const deskCases: readonly Case[] = [
  {
    name: 'a step of the desk stores session and messages, and the list has the session until it leaves the desk',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const step = attends(scene, session, 1, 'waiting', 2);
      deepEqual(await store.desk.attend(step), { outcome: 'stored', version: 2 });
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: step.session, version: 2 });
      deepEqual(await scene.transcript(session.id), step.messages);
      deepEqual(await idsAtDesk(scene), [session.id]);
      equal((await store.desk.workspaces()).includes(workspaceId), true);
      const back = attends(scene, step.session, 2, 'assistant', 0);
      deepEqual(await store.desk.attend(back), { outcome: 'stored', version: 3 });
      deepEqual(await idsAtDesk(scene), []);
    },
  },
  {
    name: 'a session that ends leaves the desk',
    async run(scene) {
      const { store } = scene;
      const session = await scene.created();
      const step = attends(scene, session, 1, 'person');
      await store.desk.attend(step);
      const ended = { ...step.session, machine: snapshot('ended', { endedAt: 1, activeTurnId: null, expiresAt: 9 }) };
      equal(await store.sessions.save(ended, at(2)), 3);
      deepEqual(await idsAtDesk(scene), []);
    },
  },
  {
    name: 'a step of the desk on a session that has moved changes nothing',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      await store.sessions.save(session, at(1));
      deepEqual(await store.desk.attend(attends(scene, session, 1, 'person')), { outcome: 'lost' });
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: session, version: 2 });
      deepEqual(await scene.transcript(session.id), []);
      deepEqual(await idsAtDesk(scene), []);
    },
  },
  {
    name: 'a message under a key is stored once',
    async run(scene) {
      const { store } = scene;
      const session = await scene.created();
      const step = attends(scene, session, 1, 'person');
      const remember = remembered(step.messages[0]!.id, scene.nowMs + 1000);
      deepEqual(await store.desk.attend({ ...step, remember }), { outcome: 'stored', version: 2 });
      const again = attends(scene, step.session, 2, 'person');
      deepEqual(await store.desk.attend({ ...again, remember }), { outcome: 'remembered', remembered: remember });
      deepEqual(await scene.transcript(session.id), step.messages);
    },
  },
  {
    name: 'a turn that a step of the desk has silenced stores no output and no call, and is sealed with what it had',
    async run(scene) {
      const { store, nowMs } = scene;
      const turn = await scene.streaming();
      const { session } = turn.step;
      equal(await turn.append(0, 'Before'), 'stored');
      const step = attends(scene, session, 2, 'person');
      const silences = { turnId: turn.step.turn.id, leaseUntilMs: nowMs + 60_000 };
      deepEqual(await store.desk.attend({ ...step, silences }), { outcome: 'stored', version: 3 });
      const silenced = { stop: 'taken' };
      deepEqual(await turn.append(6, ' and after'), silenced);
      const place = { workspaceId: scene.workspaceId, sessionId: session.id, turnId: turn.step.turn.id };
      deepEqual(await store.turns.step({ ...place, fence: turn.fence, from: 0, calls: [] }), silenced);
      equal(await store.turns.output(place), 'Before');
      const finish = { ...turn.finishStep(), session: step.session, ...at(3), tail: { position: 6, text: '' } };
      deepEqual(await store.turns.finish(finish), { outcome: 'finished', version: 4 });
      const transcript = await scene.transcript(session.id);
      deepEqual(transcript.map(({ role, content }) => `${role}: ${content}`).slice(1), [
        'assistant: Before',
        'notice: Note 0',
      ]);
    },
  },
];
