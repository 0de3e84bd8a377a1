/** The tests of an assistant, its runs, and how each test did last, as pages read and follow them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, ApiFailure } from '../api.ts';
import { repeatedly } from '../clock.ts';
import { useList, type ListOf } from '../data.ts';
import { inWorkspace } from '../route.ts';
import type { Assistant, AssistantTest, TestResult, TestRun, TestRunWithResults } from '../types.ts';
import { draftTests, isUnended, type DraftTests, type Verdict } from './test-state.ts';

export const testsPage = (assistant: string): string => inWorkspace('assistants', assistant, 'tests');
export const testPage = (assistant: string, test: string): string =>
  inWorkspace('assistants', assistant, 'tests', test);
export const runPage = (assistant: string, run: string): string =>
  inWorkspace('assistants', assistant, 'test-runs', run);

/** Milliseconds between two readings of what is played. */
export const playedMs = 1500;

/** All tests of the assistant at `path`: a page more is read until they are complete. */
export function useTests(path: string): ListOf<AssistantTest> {
  const list = useList<AssistantTest>(`${path}/tests`);
  useEffect(() => void (list.next !== null && !list.loading && list.more()), [list.next, list.loading]);
  return list;
}

/** The runs of the assistant at `path`, newest first; read again while one is played, and every `idleMs` if given. */
export function useRuns(path: string, idleMs: number | null = null): ListOf<TestRun> {
  const list = useList<TestRun>(`${path}/test-runs`);
  const latest = useRef(list.again);
  latest.current = list.again;
  const wait = list.items.some(isUnended) ? playedMs : idleMs;
  useEffect(() => (wait === null ? undefined : repeatedly(wait, async () => latest.current())), [path, wait]);
  return list;
}

/** The tests of the assistant's draft; null until they and the runs are read. */
export function useDraftTests(
  { draft }: Assistant,
  path: string,
): { readonly found: DraftTests | null; readonly again: () => void } {
  const tests = useTests(path);
  const runs = useRuns(path);
  const isRead = tests.begun && tests.next === null && runs.begun;
  return { found: isRead ? draftTests(draft.digest, tests.items, runs.items) : null, again: runs.again };
}

/** Begins a run; resolves with it. */
export const startRun = (path: string, body: object): Promise<TestRunWithResults> =>
  ask<TestRunWithResults>(`${path}/test-runs`, { body });

export interface LastResult {
  readonly verdict: Verdict;
  readonly run: TestRun;
}

/** The most runs that are read for last results. */
const readMax = 5;

/** The newest result of each test, by the test's id. Reads the runs, newest first, until each test has a result. */
export function useLastResults(
  path: string,
  tests: readonly AssistantTest[],
  runs: readonly TestRun[],
): ReadonlyMap<string, LastResult> {
  const [results, setResults] = useState<ReadonlyMap<string, LastResult>>(new Map());
  const read = useRef(new Map<string, readonly TestResult[]>());
  const played = runs.filter((run) => !run.replay && run.progress.done > 0);
  const wanted = [...tests.map(({ id }) => id), ...played.map(({ id, progress }) => `${id} ${progress.done}`)].join();
  useEffect(() => {
    const leave = new AbortController();
    const readAll = async () => {
      const found = new Map<string, LastResult>();
      for (const run of played.slice(0, readMax)) {
        if (tests.every(({ id }) => found.has(id))) break;
        for (const { test_id: id, verdict } of await resultsOf(run, leave.signal))
          if (!found.has(id)) found.set(id, { verdict, run });
      }
      setResults(found);
    };
    const resultsOf = async (run: TestRun, signal: AbortSignal) => {
      const known = read.current.get(run.id);
      if (known !== undefined) return known;
      const whole = await ask<TestRunWithResults>(`${path}/test-runs/${run.id}`, { signal });
      const own = whole.results.filter((one): one is TestResult => 'test_id' in one);
      if (!isUnended(whole)) read.current.set(run.id, own);
      return own;
    };
    // A failure leaves the tests without results in the list.
    readAll().catch((error: unknown) => {
      if (!leave.signal.aborted && !(error instanceof ApiFailure)) throw error;
    });
    return () => leave.abort();
  }, [path, wanted]);
  return results;
}
