/** Cases for sessions at the desk: a step moves the session, stores its messages and silences its turn, or does nothing. */
import { deepEqual, equal } from 'node:assert/strict';
import type { AttendSession, Session } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { heard } from './ownership.ts';
import { at, key, message, page, remembered, snapshot, toolCall, usageQuery, type Scene } from '../fixtures.ts';

const attendance = (state: string) => snapshot(state, { since: 1, person: null, untilMs: null });

/** A step that moves the session to a state of attendance, with so many notices. */
export function attends(scene: Scene, before: Session, version: number, state: string, count = 1): AttendSession {
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
      const watch = await heard(store);
      const silences = { turnId: turn.step.turn.id, leaseUntilMs: nowMs + 60_000 };
      deepEqual(await store.desk.attend({ ...step, silences }), { outcome: 'stored', version: 3 });
      const { place } = turn;
      const noticesUntil = async (type: string): Promise<string[]> => {
        const types: string[] = [];
        do types.push((await watch.next()).type);
        while (types.at(-1) !== type);
        return types;
      };
      const record = key(scene.workspaceId);
      await store.catalog.create('key', record);
      await store.catalog.remove('key', scene.workspaceId, record.id);
      equal((await noticesUntil('changed'))[0], 'turn.stop');
      const silenced = { stop: 'taken' };
      equal((await store.turns.outputAfter(place, 6))?.text, '');
      deepEqual(await turn.append(6, ' and after'), silenced);
      deepEqual(await store.turns.step({ ...place, fence: turn.fence, from: 0, calls: [] }), silenced);
      await store.turns.requestStop(place, 'aborted', nowMs + 60_000, nowMs);
      equal((await noticesUntil('turn.stop')).includes('turn.moved'), false, 'a reader that waits is not notified');
      await watch.stop();
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
  {
    name: 'the transcript shows no more of a turn in flight than is released where messages of the desk follow it',
    async run(scene) {
      const { store, workspaceId } = scene;
      const turn = await scene.streaming({ released: 0 });
      await turn.append(0, 'Before the take');
      const call = toolCall({ position: 6 });
      equal(await store.turns.step({ ...turn.place, fence: turn.fence, from: 0, calls: [call] }), 'stored');
      await store.turns.release(turn.place, turn.fence, 6);
      await store.desk.attend(attends(scene, turn.step.session, 2, 'waiting', 3));
      for (const order of ['asc', 'desc'] as const) {
        const { items } = await store.sessions.messages(workspaceId, turn.step.session.id, page({ order }));
        const reply = items.find(({ role }) => role === 'assistant')!;
        deepEqual([items.length, reply.content, reply.toolCalls?.length], [5, 'Before', 1]);
      }
      const hidden = await scene.streaming({ released: -1 });
      await hidden.append(0, 'Before the take');
      await store.desk.attend(attends(scene, hidden.step.session, 2, 'waiting', 3));
      deepEqual(await scene.transcript(hidden.step.session.id), []);
    },
  },
  {
    name: 'a step of the desk counts nothing for a trial and for a session of a test',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      const used = async (): Promise<number> => {
        const buckets = await store.usage.read(workspaceId, usageQuery(now - 10, now + 10));
        return buckets.reduce((sum, { handovers }) => sum + handovers, 0);
      };
      for (const channel of ['console', 'test', 'api'] as const) {
        const session = await scene.created({ channel });
        equal(await used(), 0);
        const step = { ...attends(scene, session, 1, 'person'), counts: { handovers: 1 } };
        equal((await store.desk.attend(step)).outcome, 'stored');
      }
      equal(await used(), 1);
    },
  },
];
