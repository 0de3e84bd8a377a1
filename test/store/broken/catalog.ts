/** Broken stores: faults of records and the audit. */
import { NameTaken } from '../../../src/store/store.ts';
import { at, page } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

export const brokenCatalog: BrokenStores = {
  'a name of a credential that a second one gets': (store) => ({
    'catalog.replace': async (kind, record, version, ...rest) => {
      const nameless = { ...record, name: null };
      return store.catalog.replace(kind, record, version, ...rest).catch((error: unknown) => {
        if (!(error instanceof NameTaken)) throw error;
        return store.catalog.replace(kind, nameless, version, ...rest);
      });
    },
  }),
  'tests outlive their assistant': (store) => ({
    'catalog.remove': async (kind, workspaceId, id, audit) => {
      const { items } = await store.catalog.list('assistant_test', workspaceId, page());
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'assistant') for (const test of items) await store.catalog.create('assistant_test', test);
      return removed;
    },
  }),
  'a lost update: a save that does not compare': (store) => ({
    saveSession: async (session) =>
      store.sessions.save(session, at((await store.sessions.read(session.workspaceId, session.id))?.version ?? 0)),
  }),
  'a change of a record whose row in the audit is forgotten': (store) => ({
    'catalog.replace': (kind, record, version, move) => store.catalog.replace(kind, record, version, move),
  }),
  'a row in the audit of a change that another writer hindered': (store) => ({
    async 'catalog.replace'(kind, record, version, move, audit) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.catalog.replace(kind, record, version, move);
    },
  }),
  'a row in the audit of a trial that is not opened': (store) => ({
    async createSession({ audit, ...step }) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.sessions.create(step);
    },
  }),
  'a row in the audit of a turn that does not begin': (store) => ({
    async beginTurn({ audit, ...step }) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.turns.begin(step);
    },
  }),
  'a row in the audit with each sending of an end': (store) => ({
    async finishTurn({ audit, ...step }) {
      const answer = await store.turns.finish(step);
      if (audit !== undefined && answer.outcome === 'finished') await store.catalog.create('audit_entry', audit);
      return answer;
    },
  }),
  'a row in the audit with each request to stop': (store) => ({
    async requestStop(place, reason, leaseUntilMs, nowMs, audit) {
      const inFlight = await store.turns.requestStop(place, reason, leaseUntilMs, nowMs);
      if (audit !== undefined && inFlight) await store.catalog.create('audit_entry', audit);
      return inFlight;
    },
  }),
  'a row in the audit with each sending of an erasure': (store) => ({
    async beginErasure(erasure, nowMs, audit) {
      const hadBegun = await store.erasures.begin(erasure, nowMs);
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return hadBegun;
    },
  }),
  'rows of the audit whose places are forgotten': (store) => ({
    'catalog.list': async (kind, workspaceId, wanted) =>
      kind === 'audit_place' ? { items: [], next: null } : store.catalog.list(kind, workspaceId, wanted),
  }),
  'an audit that is removed with its workspace': (store) => ({
    async 'catalog.remove'(kind, workspaceId, id, audit) {
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'workspace')
        for (const row of (await store.catalog.list('audit_entry', id, page())).items)
          await store.catalog.remove('audit_entry', id, row.id);
      return removed;
    },
  }),
};
