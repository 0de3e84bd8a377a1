/** Results of a run (contract 21): read from the store, and as the console shows them. */
import { limits } from '../../base/limits.ts';
import { ownIdOf, resultsBegin } from '../../store/records/tests.ts';
import type { Catalog, Page, ReplayOutcome, TestOutcome, TestResult, TestRun } from '../../store/store.ts';

/** The results of a run so far, in its order. */
export async function resultsOf(
  catalog: Pick<Catalog, 'list'>,
  run: Pick<TestRun, 'id' | 'workspaceId' | 'assistantId'>,
): Promise<TestResult[]> {
  const begin = resultsBegin(run);
  const results: TestResult[] = [];
  for (let after: string | null = begin; after !== null;) {
    const page: Page<TestResult> = await catalog.list('test_result', run.workspaceId, {
      limit: limits.listMax,
      after,
      order: 'asc',
    });
    const own = page.items.filter((result) => result.id.startsWith(begin));
    results.push(...own);
    after = own.length < page.items.length ? null : page.next;
  }
  return results;
}

export const runView = (run: TestRun) => ({
  id: ownIdOf(run),
  object: 'test_run' as const,
  version: run.version ?? ('draft' as const),
  digest: run.digest,
  status: run.machine.state,
  created_at: run.createdAt,
  started_at: run.startedAt,
  ended_at: run.endedAt,
  progress: { done: run.done, of: run.of },
  usage: { input_tokens: run.usage.inputTokens, output_tokens: run.usage.outputTokens },
  replay: run.plan.kind === 'replay',
  counts:
    run.counts === null
      ? null
      : { calls_different: run.counts.callsDifferent, ended_different: run.counts.endedDifferent },
});

export const runWithResults = (run: TestRun, results: readonly TestResult[]) => ({
  ...runView(run),
  results: results.flatMap(({ outcome }) => (outcome === null ? [] : [outcomeView(outcome)])),
});

const outcomeView = (outcome: TestOutcome | ReplayOutcome) =>
  outcome.kind === 'test' ? testOutcomeView(outcome) : replayView(outcome);

const testOutcomeView = ({ testId, name, verdict, repeats }: TestOutcome) => ({
  test_id: testId,
  name,
  verdict,
  repeats: repeats.map(({ verdict: own, seconds = null, steps }) => ({
    verdict: own,
    seconds,
    steps: steps.map(({ message, reply, stopReason, calls, failures, judged }) => ({
      ...{ message, reply, stop_reason: stopReason, calls: [...calls], failures: [...failures], judged },
    })),
  })),
});

const replayView = ({ sessionId, messages, calls, ended, characters }: ReplayOutcome) => ({
  session_id: sessionId,
  messages: [...messages],
  ...{ calls, ended, characters },
});
