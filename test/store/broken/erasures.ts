/** Broken stores: faults of erasures. */
import type { Message } from '../../../src/store/store.ts';
import { page } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

export const brokenErasures: BrokenStores = {
  'an erasure that leaves the messages': (store) => {
    const left = new Map<string, Message[]>();
    return {
      async eraseSession(erasure, sessionId) {
        const { items } = await store.sessions.messages(erasure.workspaceId, sessionId, page());
        left.set(sessionId, items);
        await store.erasures.eraseSession(erasure, sessionId);
      },
      async messages(workspaceId, sessionId, wanted) {
        const found = await store.sessions.messages(workspaceId, sessionId, wanted);
        return { ...found, items: [...found.items, ...(left.get(sessionId) ?? [])] };
      },
    };
  },
  'an erasure that takes the usage along': (store) => {
    let erased = false;
    return {
      async eraseSession(...given) {
        await store.erasures.eraseSession(...given);
        erased = true;
      },
      usage: async (...given) =>
        (await store.usage.read(...given)).map((bucket) => (erased ? { ...bucket, turns: 0 } : bucket)),
    };
  },
  'an erasure that nobody continues': () => ({ unfinishedErasures: async () => [] }),
  'an erasure that forgets no request': (store) => ({
    forgetTraces: (workspaceId, traces) =>
      store.erasures.forget(workspaceId, { ...traces, sessionIds: new Set<string>() }),
  }),
  'an erasure that frees no place': (store) => ({
    forgetTraces: (workspaceId, traces) => store.erasures.forget(workspaceId, { ...traces, places: [] }),
  }),
  'an erasure that frees every place of a holder': (store) => ({
    forgetTraces: (workspaceId, { places, ...traces }) =>
      store.erasures.forget(workspaceId, { ...traces, places: places.map((each) => ({ ...each, seat: null })) }),
  }),
};
