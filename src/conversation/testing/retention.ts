/** Removes sessions of runs a week after their end, and runs beyond those that an assistant keeps (contract 21). */
import { endedRuns } from '../../../machines/run.ts';
import { secondsOf } from '../../base/clock.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import type { TestRun } from '../../store/store.ts';
import { removeSessionsOf, resultsOf } from '../../turn/erased-tests.ts';
import type { Services } from '../services.ts';

/** Seconds for which sessions of a run are kept. */
const sessionSeconds = 7 * 86_400;

type Parts = Pick<Services, 'store' | 'clock'>;

/** Removes a run with its sessions and its results. */
export async function removeRun(run: TestRun, parts: Parts): Promise<void> {
  const { catalog } = parts.store;
  const results = await resultsOf(catalog, run);
  await removeSessionsOf(results, parts);
  for (const { id } of results) await catalog.remove('test_result', run.workspaceId, id);
  await catalog.remove('test_run', run.workspaceId, run.id);
}

/** Removes the runs of an assistant that is to be removed: its own removal would leave their sessions. */
export async function removeRunsOf(workspaceId: string, assistantId: string, parts: Parts): Promise<void> {
  for await (const run of recordsOf(parts.store.catalog, 'test_run', workspaceId))
    if (run.assistantId === assistantId) await removeRun(run, parts);
}

/** Removes the sessions of all runs that have ended a week ago. */
export async function removeAgedSessions(parts: Parts): Promise<void> {
  const { store, clock } = parts;
  const before = secondsOf(clock.now()) - sessionSeconds;
  for await (const workspace of recordsOf(store.catalog, 'workspace', ''))
    for await (const run of recordsOf(store.catalog, 'test_run', workspace.id)) {
      const isAged = endedRuns.includes(run.machine.state) && (run.endedAt ?? 0) <= before;
      if (run.cleared || !isAged) continue;
      await removeSessionsOf(await resultsOf(store.catalog, run), parts);
      await changeRecord(store.catalog, 'test_run', run.workspaceId, run.id, (now) => ({ ...now, cleared: true }));
    }
}
