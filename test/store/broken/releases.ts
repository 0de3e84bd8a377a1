/** Broken stores: faults of versions, rollouts and feedback. */
import type { Assistant, Turn } from '../../../src/store/store.ts';
import { page } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

export const brokenReleases: BrokenStores = {
  'a version that its assistant names is not stored': (store) => ({
    'catalog.replace': (kind, record, version, move, audit) =>
      store.catalog.replace(kind, record, version, move, audit),
  }),
  'a version is stored apart from the change that makes it': (store) => ({
    'catalog.replace': async (kind, record, version, move, audit, made) => {
      if (made !== undefined) await store.catalog.create('assistant_version', made);
      return store.catalog.replace(kind, record, version, move, audit);
    },
  }),
  'versions outlive their assistant': (store) => ({
    'catalog.remove': async (kind, workspaceId, id, audit) => {
      const { items } = await store.catalog.list('assistant_version', workspaceId, page());
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'assistant') for (const made of items) await store.catalog.create('assistant_version', made);
      return removed;
    },
  }),
  'feedback that is forgotten': () => ({ rateTurn: async () => true }),
  'feedback that is never removed': (store) => ({
    rateTurn: async (step) => step.feedback === null || store.turns.rate(step),
  }),
  'feedback that is counted with each sending': (store) => ({
    async rateTurn(step) {
      await store.turns.rate({ ...step, session: { ...step.session, channel: 'console' }, feedback: null });
      return store.turns.rate(step);
    },
  }),
  'a session created on versions that have changed': (store) => ({
    createSession: ({ release: _, ...step }) => store.sessions.create(step),
  }),
  'a turn begun on versions that have changed': (store) => ({
    beginTurn: ({ release: _, ...step }) => store.turns.begin(step),
  }),
  'a sealed turn that is not counted for its version': (store) => ({
    finishTurn: ({ turn: { assistantVersion: _, ...turn }, ...step }) => store.turns.finish({ ...step, turn }),
  }),
  'a turn counted for its version with each sending of its end': (store) => {
    const sealed = new Set<string>();
    let repeated = 0;
    return {
      finishTurn(step) {
        if (sealed.has(step.turn.id)) repeated++;
        sealed.add(step.turn.id);
        return store.turns.finish(step);
      },
      async 'catalog.releaseCounts'(workspaceId, assistantId) {
        const { candidate, versions } = await store.catalog.releaseCounts(workspaceId, assistantId);
        return { candidate: { ...candidate, turns: candidate.turns + repeated }, versions };
      },
    };
  },
  'a rollout that is halted later than by its turn': (store) => {
    let halted = false;
    return {
      async 'catalog.read'(kind, workspaceId, id) {
        const found = await store.catalog.read(kind, workspaceId, id);
        const { release } = (found?.record ?? {}) as Partial<Assistant>;
        if (!release?.candidate?.isHalted || halted) return found;
        halted = true;
        const rolling = { ...release, candidate: { ...release.candidate, isHalted: false } };
        return { ...found!, record: { ...found!.record, release: rolling } };
      },
    };
  },
  'a rollout that begins anew with the counts of the earlier one': (store) => ({
    'catalog.replace': (kind, record, ...rest) => {
      const { release } = record as { release?: { candidate?: { since: number } } };
      const since = release?.candidate === undefined ? undefined : { ...release.candidate, since: 3 };
      return store.catalog.replace(
        kind,
        since === undefined ? record : { ...record, release: { ...release, candidate: since } },
        ...rest,
      );
    },
  }),
  'a withdrawn turn that counts for no rollout': (store) => {
    const unversioned = ({ assistantVersion: _, ...turn }: Turn): Turn => turn;
    return {
      withdrawTurn: (step) => store.turns.withdraw({ ...step, turn: unversioned(step.turn) }),
      beginTurn: (step) => store.turns.begin({ ...step, turn: unversioned(step.turn) }),
    };
  },
  'versions that no change drops': (store) => ({
    'catalog.replace': (kind, record, version, move, audit, made) =>
      store.catalog.replace(kind, record, version, move, audit, made),
  }),
  'feedback that is not counted for its version': (store) => ({
    async 'catalog.releaseCounts'(workspaceId, assistantId) {
      const { candidate, versions } = await store.catalog.releaseCounts(workspaceId, assistantId);
      const without = [...versions].map(([number, counts]) => [number, { ...counts, feedbackUp: 0 }] as const);
      return { candidate, versions: new Map(without) };
    },
  }),
};
