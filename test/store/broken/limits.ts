/** Broken stores: faults of limits, budgets and usage. */
import type { AskedLimit } from '../../../src/store/store.ts';
import { api } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

const asCounter = (limit: AskedLimit): AskedLimit => (limit.kind === 'quota' ? { ...limit, kind: 'counter' } : limit);

const withoutCeiling = (limit: AskedLimit): AskedLimit =>
  limit.kind === 'quota' ? { ...limit, ceiling: Infinity } : limit;

export const brokenLimits: BrokenStores = {
  'a charge of a session that has moved': (store) => ({
    async chargeSession(step) {
      const found = await store.sessions.read(step.session.workspaceId, step.session.id);
      return store.sessions.charge({ ...step, version: found!.version, mark: found!.record.mark });
    },
  }),
  'half a charge: the session moves where a limit refuses': (store) => ({
    async chargeSession(step) {
      const answer = await store.sessions.charge(step);
      if (answer.outcome === 'limited') await store.sessions.save(step.session, step);
      return answer;
    },
  }),
  'half a charge: limits are taken for a session that has moved': (store) => ({
    async chargeSession(step) {
      await store.limits.take({ workspaceId: step.session.workspaceId, asked: step.asked, nowMs: step.nowMs });
      return store.sessions.charge({ ...step, asked: [] });
    },
  }),
  'a forgotten slot: no ceiling': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, slot: step.slot && api(Infinity) }),
  }),
  'a slot that is never free again': (store) => {
    let begun = 0;
    return {
      async beginTurn(step) {
        const answer = await store.turns.begin({ ...step, slot: step.slot && api(step.slot.ceiling - begun) });
        if (answer.outcome === 'begun' && step.slot !== null) begun++;
        return answer;
      },
      turnsInFlight: async () => begun,
    };
  },
  'one number of slots whatever their name': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, slot: step.slot && api(step.slot.ceiling) }),
  }),
  'usage that forgets failed turns': (store) => ({
    finishTurn: (step) =>
      store.turns.finish(
        step.turn.status === 'failed' ? { ...step, turn: { ...step.turn, status: 'completed' } } : step,
      ),
  }),
  'a usage window with its end included': (store) => ({
    usage: (workspaceId, query) =>
      store.usage.read(workspaceId, { ...query, end: query.end + (query.end > query.start ? 1 : 0) }),
  }),
  'a request charged to the budgets that would have passed it': (store) => ({
    takeBudgets: (workspaceId, keyId, budgets, nowMs) =>
      budgets.map((budget) => (store.limits.takeBudgets(workspaceId, keyId, [budget], nowMs) as never[])[0]!),
  }),
  'limits taken one by one': (store) => ({
    takeLimits: async (step) =>
      (await Promise.all(step.asked.map((each) => store.limits.take({ ...step, asked: [each] })))).flat(),
  }),
  'a place for each who asks': (store) => ({
    takeLimits: (step) =>
      store.limits.take({
        ...step,
        asked: step.asked.map((each) => (each.kind === 'place' ? { ...each, ceiling: Infinity } : each)),
      }),
  }),
  'a quota that its last cost may exceed': (store) => ({
    takeLimits: (step) => store.limits.take({ ...step, asked: step.asked.map(asCounter) }),
  }),
  'a turn that begins beyond a quota': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, ...(step.asked && { asked: step.asked.map(withoutCeiling) }) }),
  }),
  'a settlement that is left out': (store) => ({
    finishTurn: ({ settled: _, ...step }) => store.turns.finish(step),
  }),
};
