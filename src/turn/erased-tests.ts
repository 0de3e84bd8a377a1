/** Removes what tests and runs of tests keep of erased sessions (contract 22), and runs with their sessions. */
import type { Clock } from '../base/clock.ts';
import { recordsOf } from '../store/parts/catalog.ts';
import { resultsBegin, runKeyOf } from '../store/records/tests.ts';
import type { Erasure, Origins, Store, TestResult, TestRun } from '../store/store.ts';

/** Each of these records may have 256 KiB. */
const few = { limit: 10 };

export interface ErasedTestsParts {
  readonly store: Store;
  readonly clock: Clock;
}

type RunName = Pick<TestRun, 'id' | 'workspaceId' | 'assistantId'>;

/** The results of a run so far, in its order: four million characters at most. */
export async function resultsOf(catalog: Pick<Store['catalog'], 'list'>, run: RunName): Promise<TestResult[]> {
  const results: TestResult[] = [];
  for await (const result of recordsOf(catalog, 'test_result', run.workspaceId, { begin: resultsBegin(run) }))
    results.push(result);
  return results;
}

/** Sessions that are removed at the same time. */
const removedAtOnce = 16;

/** Removes the sessions that were held for results. Nothing outside of such a session names it. */
export async function removeSessionsOf(
  results: readonly Pick<TestResult, 'workspaceId' | 'sessionIds'>[],
  { store, clock }: ErasedTestsParts,
): Promise<void> {
  const all = results.flatMap(({ workspaceId, sessionIds }) => sessionIds.map((id) => ({ workspaceId, id })));
  const rest = all.values();
  const worker = async (): Promise<void> => {
    for (const { workspaceId, id } of rest) {
      const erasure = { workspaceId, kind: 'session', id } as const;
      await store.erasures.begin(erasure, clock.now());
      await store.erasures.eraseSession(erasure, id);
      await store.erasures.finish(erasure);
    }
  };
  await Promise.all(Array.from({ length: Math.min(removedAtOnce, all.length) }, worker));
}

/**
 * Removes the tests that were made from erased sessions, and the runs that repeat their words. The sessions are gone
 * before: no process makes a test of them any more. `wasCut`: an earlier process began the erasure, and may have removed
 * a run without its results. `check` throws where the erasure does not continue.
 */
export async function eraseTests(
  erasure: Erasure,
  wasCut: boolean,
  parts: ErasedTestsParts,
  check: () => void,
): Promise<void> {
  const { catalog, erasures } = parts.store;
  const { workspaceId } = erasure;
  const remove = async (results: readonly TestResult[]): Promise<void> => {
    check();
    await removeSessionsOf(results, parts);
    for (const { id } of results) await erasures.eraseRecord(erasure, 'test_result', id);
  };
  for await (const { id, fromSessionId, fromVisitorId } of recordsOf(catalog, 'assistant_test', workspaceId, few)) {
    check();
    if (isNamed(erasure, { sessionIds: [fromSessionId ?? ''], visitorIds: [fromVisitorId ?? ''] }))
      await erasures.eraseRecord(erasure, 'assistant_test', id);
  }
  for await (const run of recordsOf(catalog, 'test_run', workspaceId, few)) {
    check();
    if (!isNamed(erasure, run.origins)) continue;
    // A process that plays the run stores nothing more once its row is gone.
    await erasures.eraseRecord(erasure, 'test_run', run.id);
    await remove(await resultsOf(catalog, run));
  }
  if (!wasCut) return;
  for await (const result of recordsOf(catalog, 'test_result', workspaceId, few))
    if ((await catalog.read('test_run', workspaceId, runKeyOf(result))) === null) await remove([result]);
}

const isNamed = ({ kind, id }: Erasure, { sessionIds, visitorIds }: Origins): boolean =>
  (kind === 'session' ? sessionIds : visitorIds).includes(id);
