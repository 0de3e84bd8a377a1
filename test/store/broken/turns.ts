/** Broken stores: faults of turns. */
import type { Message, Session, Versioned } from '../../../src/store/store.ts';
import { type BrokenStores, fences } from './broken-stores.ts';

export const brokenTurns: BrokenStores = {
  'a failed turn that is reported as completed': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, turn: { ...step.turn, status: 'completed' } }),
  }),
  'a write after the fence': (store) => {
    const known = fences(store);
    return { ...known, appendOutput: (step) => store.turns.append({ ...step, fence: known.of(step) ?? step.fence }) };
  },
  'a fence that is the epoch alone': (store) => {
    const known = fences(store);
    return {
      ...known,
      appendOutput(step) {
        const fence = known.of(step);
        return store.turns.append(fence?.epoch === step.fence.epoch ? { ...step, fence } : step);
      },
    };
  },
  'half a commit: a refused turn has moved the session': (store) => ({
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      if (answer.outcome === 'full') await store.sessions.save(step.session, step);
      return answer;
    },
  }),
  'half a commit: the request is not remembered with the turn': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, remember: null }),
  }),
  'a turn begun again for a request that is remembered': (store) => ({
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      return answer.outcome === 'remembered' ? store.turns.begin({ ...step, remember: null }) : answer;
    },
  }),
  'an append applied twice': (store) => ({
    appendOutput: async (step) =>
      store.turns.append({ ...step, position: [...(await store.turns.output(step))].length }),
  }),
  'a step that tells of no request to stop': (store) => ({
    stepTurn: (step) => store.turns.step(step).then((answer) => (typeof answer === 'object' ? 'stored' : answer)),
  }),
  'a stale read': (store) => {
    const cached = new Map<string, Versioned<Session> | null>();
    return {
      async session(workspaceId, sessionId) {
        const key = `${workspaceId}/${sessionId}`;
        if (!cached.has(key)) cached.set(key, await store.sessions.read(workspaceId, sessionId));
        return cached.get(key)!;
      },
    };
  },
  'a turn seized from its living owner': (store) => ({
    takeOverTurn: (place, owner, leaseUntilMs, nowMs) =>
      store.turns.takeOver(place, owner, leaseUntilMs, nowMs + 3_600_000),
  }),
  'a withdrawn turn that leaves its messages': (store) => {
    const left = new Map<string, Message[]>();
    return {
      async withdrawTurn(step) {
        const { items } = await store.sessions.messages(step.session.workspaceId, step.session.id, {
          limit: 100,
          after: null,
          order: 'asc',
        });
        left.set(step.session.id, items);
        return store.turns.withdraw(step);
      },
      async messages(workspaceId, sessionId, page) {
        const found = await store.sessions.messages(workspaceId, sessionId, page);
        return { ...found, items: [...found.items, ...(left.get(sessionId) ?? [])] };
      },
    };
  },
  'a turn that is withdrawn first and begins then': (store) => ({
    async withdrawTurn(step) {
      const turn = await store.turns.read(step.session.workspaceId, step.session.id, step.turn.id);
      const earlier =
        turn === null &&
        (await store.sessions.read(step.session.workspaceId, step.session.id))?.version === step.version;
      return earlier ? { outcome: 'fenced' } : store.turns.withdraw(step);
    },
  }),
  'a claim that keeps nothing': () => ({ claimTurn: async () => true }),
  'a sealed turn that failed and is counted as completed': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, turn: { ...step.turn, status: 'completed' } }),
  }),
};
