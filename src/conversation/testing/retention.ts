/** Removes sessions of runs a week after their end, and runs beyond those that an assistant keeps (contract 21). */
import { endedRuns } from '../../../machines/run.ts';
import { secondsOf } from '../../base/clock.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import type { TestRun } from '../../store/store.ts';
import type { Services } from '../services.ts';
import { resultsOf } from './results.ts';

/** Seconds for which sessions of a run are kept. */
const sessionSeconds = 7 * 86_400;

type Parts = Pick<Services, 'store' | 'clock'>;

/** Removes the sessions of a run. Nothing outside of a session of a test names it. */
async function removeSessions(run: TestRun, { store, clock }: Parts): Promise<void> {
  const { workspaceId } = run;
  for (const { sessionIds } of await resultsOf(store.catalog, run))
    for (const id of sessionIds) {
      const erasure = { workspaceId, kind: 'session', id } as const;
      await store.erasures.begin(erasure, clock.now());
      await store.erasures.eraseSession(erasure, id);
      await store.erasures.finish(erasure);
    }
}

/** Removes a run with its sessions and its results. */
export async function removeRun(run: TestRun, parts: Parts): Promise<void> {
  const { catalog } = parts.store;
  await removeSessions(run, parts);
  for (const { id } of await resultsOf(catalog, run)) await catalog.remove('test_result', run.workspaceId, id);
  await catalog.remove('test_run', run.workspaceId, run.id);
}

/** Removes the sessions of all runs that have ended a week ago. */
export async function removeAgedSessions(parts: Parts): Promise<void> {
  const { store, clock } = parts;
  const before = secondsOf(clock.now()) - sessionSeconds;
  for await (const workspace of recordsOf(store.catalog, 'workspace', ''))
    for await (const run of recordsOf(store.catalog, 'test_run', workspace.id)) {
      const isAged = endedRuns.includes(run.machine.state) && (run.endedAt ?? 0) <= before;
      if (run.cleared || !isAged) continue;
      await removeSessions(run, parts);
      await changeRecord(store.catalog, 'test_run', run.workspaceId, run.id, (now) => ({ ...now, cleared: true }));
    }
}
