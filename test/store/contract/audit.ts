/** The audit (contract 22): the row of a change is stored in the step that makes the change, or neither is. */
import { deepEqual, equal } from 'node:assert/strict';
import { installation } from '../../../src/store/records.ts';
import type { AuditEntry, Session } from '../../../src/store/store.ts';
import { listAudit } from '../../../src/store/parts/audit.ts';
import type { Case } from '../contract.ts';
import {
  api,
  assistant,
  at,
  credential,
  ids,
  key,
  page,
  remembered,
  snapshot,
  workspace,
  type Scene,
} from '../fixtures.ts';

/** A row, as the console writes it. */
export const auditRow = (workspaceId: string, over: Partial<AuditEntry> = {}): AuditEntry => ({
  id: ids.make('aud'),
  workspaceId,
  at: 1,
  by: { id: 'prs_1', name: 'Ada 👋', role: 'owner', address: '192.0.2.1' },
  action: 'update',
  objectType: 'assistant',
  objectId: 'asst_1',
  inWorkspaceId: workspaceId,
  changes: [
    { path: 'name', before: null, after: 'Ada' },
    { path: 'tool_ids', before: ['tool_1'], after: [] },
  ],
  ...over,
});

const rowsOf = async ({ store, workspaceId }: Scene, place = workspaceId): Promise<readonly AuditEntry[]> =>
  (await store.catalog.list('audit_entry', place, page())).items;

/** Takes a step with a row; the row must be stored exactly if the step has made its change. */
async function taken<T>(scene: Scene, step: (audit: AuditEntry) => Promise<T>, isStored: boolean): Promise<T> {
  const before = await rowsOf(scene);
  const row = auditRow(scene.workspaceId);
  const answer = await step(row);
  deepEqual(await rowsOf(scene), isStored ? [...before, row] : before);
  return answer;
}

const trial = (scene: Scene): Session => scene.session({ channel: 'console' });

export const auditCases: readonly Case[] = [
  {
    name: 'a change of a record is stored with its row in the audit, and a step that changes nothing stores no row',
    async run(scene) {
      const { workspaceId, store } = scene;
      const { catalog } = store;
      const records = [
        ['assistant', assistant(workspaceId)],
        ['key', key(workspaceId)],
        ['credential', credential(workspaceId)],
      ] as const;
      for (const [kind, record] of records) {
        const { id } = record;
        await taken(scene, (row) => catalog.create(kind, record, undefined, row), true);
        await taken(scene, (row) => catalog.create(kind, record, undefined, row), false);
        equal(await taken(scene, (row) => catalog.replace(kind, record, 1, undefined, row), true), 2);
        equal(await taken(scene, (row) => catalog.replace(kind, record, 1, undefined, row), false), null);
        equal(await taken(scene, (row) => catalog.remove(kind, workspaceId, id, row), true), true);
        equal(await taken(scene, (row) => catalog.remove(kind, workspaceId, id, row), false), false);
        equal(await taken(scene, (row) => catalog.replace(kind, record, 2, undefined, row), false), null);
      }
    },
  },
  {
    name: 'a session is created and ended with a row in the audit, and a step that does neither stores no row',
    async run(scene) {
      const { store, nowMs } = scene;
      const session = trial(scene);
      const step = scene.createStep({
        session,
        trialsMax: 1,
        remember: remembered(session.id, nowMs + 60_000),
      });
      await taken(scene, (audit) => store.sessions.create({ ...step, audit }), true);
      await taken(scene, (audit) => store.sessions.create({ ...step, audit }), false);
      const again = { ...step, session: trial(scene) };
      equal((await taken(scene, (audit) => store.sessions.create({ ...again, audit }), false)).outcome, 'remembered');
      const other = { ...again, remember: null };
      equal((await taken(scene, (audit) => store.sessions.create({ ...other, audit }), false)).outcome, 'full');

      const ended = { ...session, machine: snapshot('ended') };
      const save = (version: number) => (audit: AuditEntry) =>
        store.sessions.save(ended, at(version), undefined, [], nowMs, audit);
      equal(await taken(scene, save(2), false), null);
      equal(await taken(scene, save(1), true), 2);
      equal(await taken(scene, save(1), false), null);
    },
  },
  {
    name: 'a turn begins with its row in the audit, and a turn that does not begin stores no row',
    async run(scene) {
      const { store, nowMs } = scene;
      const session = await scene.created();
      const step = scene.beginStep(session, 1, { slot: api(1), remember: remembered('turn_1', nowMs + 60_000) });
      const lost = { ...step, ...at(2) };
      equal((await taken(scene, (audit) => store.turns.begin({ ...lost, audit }), false)).outcome, 'lost');
      equal((await taken(scene, (audit) => store.turns.begin({ ...step, audit }), true)).outcome, 'begun');
      equal((await taken(scene, (audit) => store.turns.begin({ ...step, audit }), false)).outcome, 'begun');
      const other = await scene.created();
      const again = scene.beginStep(other, 1, { remember: remembered('turn_2', nowMs + 60_000) });
      equal((await taken(scene, (audit) => store.turns.begin({ ...again, audit }), false)).outcome, 'remembered');
      const full = scene.beginStep(other, 1, { slot: api(1) });
      equal((await taken(scene, (audit) => store.turns.begin({ ...full, audit }), false)).outcome, 'full');
      const limited = scene.beginStep(other, 1, {
        slot: null,
        asked: [{ kind: 'counter', name: 'asst_1/day', ceiling: 0, periodMs: 86_400_000, cost: 1 }],
      });
      equal((await taken(scene, (audit) => store.turns.begin({ ...limited, audit }), false)).outcome, 'limited');
    },
  },
  {
    name: 'an aborted turn is sealed with its row in the audit once, and the row outlasts a withdrawal',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      const fenced = turn.finishStep({ fence: { ...turn.fence, owner: 'another' } });
      equal((await taken(scene, (audit) => store.turns.finish({ ...fenced, audit }), false)).outcome, 'fenced');
      const lost = turn.finishStep(at(7));
      equal((await taken(scene, (audit) => store.turns.finish({ ...lost, audit }), false)).outcome, 'lost');
      const step = turn.finishStep();
      equal((await taken(scene, (audit) => store.turns.finish({ ...step, audit }), true)).outcome, 'finished');
      equal((await taken(scene, (audit) => store.turns.finish({ ...step, audit }), false)).outcome, 'finished');

      const row = auditRow(scene.workspaceId);
      const withdrawn = await scene.streaming({ audit: row });
      equal((await store.turns.withdraw(withdrawn.withdrawStep())).outcome, 'finished');
      deepEqual((await rowsOf(scene)).at(-1), row);
    },
  },
  {
    name: 'the first request to stop a turn is stored with its row in the audit, and further ones store no row',
    async run(scene) {
      const { store, nowMs } = scene;
      const turn = await scene.streaming();
      const stop =
        (place = turn.place) =>
        (audit: AuditEntry) =>
          store.turns.requestStop(place, 'aborted', nowMs + 60_000, nowMs, audit);
      equal(await taken(scene, stop({ ...turn.place, turnId: 'turn_none' }), false), false);
      equal(await taken(scene, stop(), true), true);
      equal(await taken(scene, stop(), false), true);
      await store.turns.finish(turn.finishStep());
      equal(await taken(scene, stop(), false), false);
    },
  },
  {
    name: 'an erasure begins with its row in the audit, one that has begun stores no row, and rows outlast it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = trial(scene);
      await taken(scene, (audit) => store.sessions.create(scene.createStep({ session, audit })), true);
      const erasure = { workspaceId, kind: 'session', id: session.id } as const;
      await taken(scene, (row) => store.erasures.begin(erasure, nowMs, row), true);
      await taken(scene, (row) => store.erasures.begin(erasure, nowMs, row), false);
      const before = await rowsOf(scene);
      await store.erasures.eraseSession(erasure, session.id);
      await store.erasures.finish(erasure);
      deepEqual(await rowsOf(scene), before);
    },
  },
  {
    name: 'rows of the audit outlast their workspace, its removal has a row, and no other place shows them',
    async run(scene) {
      const { store, workspaceId } = scene;
      const { catalog } = store;
      const record = workspace({ id: workspaceId });
      await catalog.create('workspace', record, undefined, auditRow('workspaces', { objectId: workspaceId }));
      await taken(scene, (row) => catalog.create('key', key(workspaceId), undefined, row), true);
      await taken(scene, (audit) => store.sessions.create(scene.createStep({ session: trial(scene), audit })), true);
      const before = await rowsOf(scene);
      await catalog.remove('workspace', '', workspaceId, auditRow('workspaces', { objectId: workspaceId }));
      deepEqual(await rowsOf(scene), before);
      const ofWorkspaces = await rowsOf(scene, 'workspaces');
      equal(ofWorkspaces.filter(({ objectId }) => objectId === workspaceId).length, 2);
      for (const place of [installation, ids.make('wks')]) deepEqual(await rowsOf(scene, place), []);
    },
  },
  {
    name: 'a row of the audit is found by its place, whichever step has stored it',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const rows: AuditEntry[] = [];
      const row = (place = workspaceId): AuditEntry => (rows.push(auditRow(place)), rows.at(-1)!);
      await store.catalog.create('key', key(workspaceId), undefined, row());
      await store.catalog.create('audit_entry', row(installation));
      await store.catalog.replace('key', key(workspaceId), 7, undefined, auditRow(workspaceId));
      const session = trial(scene);
      await store.sessions.create(scene.createStep({ session, audit: row() }));
      await store.sessions.save({ ...session, messageCount: 1 }, at(1), undefined, [], nowMs, row());
      const turn = await scene.streaming({ audit: row() });
      await store.turns.requestStop(turn.place, 'aborted', nowMs + 60_000, nowMs, row());
      await store.turns.finish(turn.finishStep({ audit: row() }));
      await store.erasures.begin({ workspaceId, kind: 'session', id: session.id }, nowMs, row());
      const filter = { workspaceId: null, by: null, objectId: null };
      const { items } = await listAudit(store.catalog, filter, page());
      deepEqual(
        items.filter(({ id }) => rows.some((each) => each.id === id)),
        rows,
      );
      equal(items.length, rows.length, 'a step that changed nothing has no row');
    },
  },
];
