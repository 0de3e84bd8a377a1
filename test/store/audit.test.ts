/** Lists of the audit and its sweep: each reads a bounded number of rows, with any number of workspaces. */
import t from 'tap';
import { timeText } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { listAudit, sweepAudit, type AuditFilter } from '../../src/store/parts/audit.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { storeOf, takeStep } from '../../src/store/steps.ts';
import type { AuditEntry, Store } from '../../src/store/store.ts';
import { auditRow } from './contract/audit.ts';
import { page, workspace } from './fixtures.ts';

const all: AuditFilter = { workspaceId: null, by: null, objectId: null };
const dayMs = 86_400_000;

/** A store that counts the pages and the rows that are read. */
async function opened(): Promise<{ readonly store: Store; readonly reads: { count: number } }> {
  const sound = memoryStore();
  await sound.open(Date.now());
  const reads = { count: 0 };
  const counted = ['catalog.list', 'catalog.read'];
  const store = storeOf(sound, (step) => (...given) => {
    if (counted.includes(step)) reads.count++;
    return takeStep(sound, step, given as never) as never;
  });
  return { store, reads };
}

/** An id of a row that was written at this time. */
const idAt = (atMs: number, number: number): string =>
  `aud_${timeText(atMs)}${String(number).padStart(16, '0')}`.slice(0, 30);

const put = async ({ catalog }: Store, over: Partial<AuditEntry>): Promise<AuditEntry> => {
  const row = auditRow('wks_1', over);
  await catalog.create('audit_entry', row);
  return row;
};

t.test('a page of all rows costs the same for 3 and for 300 workspaces', async (t) => {
  const costs: number[] = [];
  for (const workspaces of [3, 300]) {
    const { store, reads } = await opened();
    const ids: string[] = [];
    for (let number = 0; number < 300; number++) {
      const own = workspace({ id: `wks_${number}` });
      if (number < workspaces) await store.catalog.create('workspace', own);
      ids.push((await put(store, { workspaceId: `wks_${number % workspaces}`, id: idAt(Date.now(), number) })).id);
    }
    reads.count = 0;
    const { items, next } = await listAudit(store.catalog, all, page({ limit: 20, order: 'desc' }));
    costs.push(reads.count);
    t.same(
      items.map(({ id }) => id),
      ids.slice(-20).reverse(),
    );
    t.equal(next, items.at(-1)!.id);
  }
  t.equal(costs[0], costs[1]);
});

t.test('a filter that fits few rows gets shorter pages, and all rows in the end', async (t) => {
  const { store, reads } = await opened();
  const nowMs = Date.now();
  const wanted: string[] = [];
  for (let number = 0; number < 12_000; number++) {
    const isWanted = number % 4_000 === 0;
    const { id } = await put(store, {
      id: idAt(nowMs, number),
      ...(isWanted && { objectId: 'asst_wanted' }),
    });
    if (isWanted) wanted.push(id);
  }
  for (const filter of [
    { ...all, objectId: 'asst_wanted' },
    { ...all, objectId: 'asst_wanted', workspaceId: 'wks_1' },
  ]) {
    const found: string[] = [];
    let requests = 0;
    for (let after: string | null = null, more = true; more; requests++) {
      reads.count = 0;
      const { items, next } = await listAudit(store.catalog, filter, page({ after }));
      t.ok(reads.count <= 5_000 + 3 * 50, `${reads.count} reads`);
      found.push(...items.map(({ id }) => id));
      after = next;
      more = next !== null;
    }
    t.same(found, wanted);
    t.ok(requests > 1);
  }
});

t.test('a row of a step that changed nothing has a place and is left out', async (t) => {
  const { store } = await opened();
  await store.catalog.create('audit_place', { id: 'aud_0', workspaceId: 'audit', place: 'wks_1' });
  const { id } = await put(store, {});
  const { items, next } = await listAudit(store.catalog, all, page());
  t.same([items.map((each) => each.id), next], [[id], null]);
});

t.test('the sweep removes rows after 400 days, a bounded number at a time, and no others', async (t) => {
  const { store } = await opened();
  const nowMs = Date.now();
  const old = limits.scanRowsMax + 10;
  for (let number = 0; number < old; number++)
    await put(store, { workspaceId: `wks_${number % 3}`, id: idAt(nowMs - (limits.auditDays + 1) * dayMs, number) });
  const kept = [];
  for (const days of [limits.auditDays - 1, 1])
    kept.push((await put(store, { id: idAt(nowMs - days * dayMs, days) })).id);
  const clock = { now: () => nowMs };
  t.equal(await sweepAudit(store.catalog, clock), true, 'more are left');
  t.equal(await sweepAudit(store.catalog, clock), false);
  t.equal(await sweepAudit(store.catalog, clock), false);
  const { items } = await listAudit(store.catalog, all, page());
  t.same(
    items.map(({ id }) => id),
    kept,
  );
  t.equal((await store.catalog.list('audit_place', 'audit', page())).items.length, 2, 'nor are their places left');
  t.equal((await store.catalog.list('audit_entry', 'wks_0', page())).items.length, 0);
});
