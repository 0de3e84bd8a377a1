/** A run and its results (contract 21), as the console shows them. */
import { ownIdOf } from '../../store/records/tests.ts';
import type { ReplayOutcome, TestOutcome, TestResult, TestRun } from '../../store/store.ts';

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

const replayView = ({ sessionId, messages, calls, ended, failed, characters }: ReplayOutcome) => ({
  session_id: sessionId,
  messages: [...messages],
  ...{ calls, ended, failed: failed ?? false, characters },
});
