/** Broken stores: faults of sessions, transcripts and the desk. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { at } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

export const brokenSessions: BrokenStores = {
  'a session known by its version alone': (store) => ({
    saveSession: (session, { version }) => store.sessions.save(session, at(version)),
    beginTurn: (step) => store.turns.begin({ ...step, mark: undefined }),
    finishTurn: (step) => store.turns.finish({ ...step, mark: undefined }),
    withdrawTurn: (step) => store.turns.withdraw({ ...step, mark: undefined }),
  }),
  'a session counted twice when it is sent twice': (store) => ({
    async createSession(step) {
      const again = (await store.sessions.read(step.session.workspaceId, step.session.id)) !== null;
      if (again)
        await store.sessions.create({
          ...step,
          session: { ...step.session, id: `${step.session.id}2` },
          remember: null,
        });
      return store.sessions.create(step);
    },
  }),
  'a session that is never discarded': () => ({
    discardSession: async () => true,
  }),
  'a session discarded though it has moved': (store) => ({
    async discardSession(session, basis, named) {
      const found = await store.sessions.read(session.workspaceId, session.id);
      return store.sessions.discard(
        session,
        found === null ? basis : { version: found.version, mark: found.record.mark },
        named,
      );
    },
  }),
  'a step of the desk on a session that has moved': (store) => ({
    async attendSession(step) {
      const found = await store.sessions.read(step.session.workspaceId, step.session.id);
      return store.desk.attend({ ...step, version: found!.version, mark: found!.record.mark });
    },
  }),
  'a take that does not silence its turn': (store) => ({
    attendSession: ({ silences: _, ...step }) => store.desk.attend(step),
  }),
  'a step of the desk without its messages': (store) => ({
    attendSession: (step) => store.desk.attend({ ...step, messages: [] }),
  }),
  'a message of the desk that is not remembered': (store) => ({
    attendSession: (step) => store.desk.attend({ ...step, remember: null }),
  }),
  'a session discarded without its memory': (store) => ({
    discardSession: (session, basis) => store.sessions.discard(session, basis, null),
  }),
  'a session without the messages from before it': (store) => ({
    createSession: ({ earlier: _, ...step }) => store.sessions.create(step),
  }),
  'sessions in the wrong order': (store) => ({
    sessions: (workspaceId, filter, page) =>
      store.sessions.list(workspaceId, filter, { ...page, order: page.order === 'asc' ? 'desc' : 'asc' }),
  }),
  'a transcript in the wrong order': (store) => ({
    async messages(workspaceId, sessionId, page) {
      const found = await store.sessions.messages(workspaceId, sessionId, page);
      return { ...found, items: found.items.toReversed() };
    },
  }),
  'a follower of a session without a notice': (store) => ({
    watch: (listener) => store.watch((notice) => notice.type !== 'session.moved' && listener(notice)),
  }),
  'a follower of a session with a notice of each move': (store) => {
    const followed = new Set<string>();
    const again = async (workspaceId: string, id: string): Promise<void> => {
      if (followed.has(id)) await store.sessions.awaitMove(workspaceId, id);
    };
    return {
      async awaitSession(workspaceId, sessionId) {
        followed.add(sessionId);
        return store.sessions.awaitMove(workspaceId, sessionId);
      },
      async saveSession(session, ...rest) {
        await again(session.workspaceId, session.id);
        return store.sessions.save(session, ...rest);
      },
    };
  },
  'a follower of a session that waits only after it has read': (store) => ({
    async awaitSession(workspaceId, sessionId) {
      const found = await store.sessions.read(workspaceId, sessionId);
      await turnOfTheLoop();
      await store.sessions.awaitMove(workspaceId, sessionId);
      return found;
    },
  }),
  'a sweep that takes too much': (store) => ({
    sweep: (nowMs, limit) => store.sweep(nowMs + 86_400_000 * 365, limit),
  }),
  'a listing of all visitors': (store) => ({
    sessions: (workspaceId, filter, wanted) => store.sessions.list(workspaceId, { ...filter, visitorId: null }, wanted),
  }),
  'a listing without the filter of status': (store) => ({
    sessions: (workspaceId, filter, page) => store.sessions.list(workspaceId, { ...filter, status: null }, page),
  }),
  'a session that replaces no other': (store) => ({
    createSession: ({ replaces: _, ...step }) => store.sessions.create(step),
  }),
  'a session that replaces any other': (store) => ({
    async createSession(step) {
      const { session, remember, nowMs } = step;
      const known =
        step.replaces === undefined || remember === null
          ? null
          : await store.requests.find(session.workspaceId, remember.scope, remember.key, nowMs);
      return store.sessions.create(known === null ? step : { ...step, replaces: known.resultId });
    },
  }),
};
