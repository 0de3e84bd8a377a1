/** Runs of tests as the API answers them, for the tests of `parley tests`. */
import type { Run, TestResultView, Verdict } from '../../src/cli/test-report.ts';
import { id } from './support.ts';

type Step = TestResultView['repeats'][number]['steps'][number];

export const testStep = (fields: Partial<Step> = {}): Step => ({
  message: 'Hello',
  reply: 'Hi there',
  stop_reason: 'end',
  calls: [],
  failures: [],
  judged: false,
  ...fields,
});

export const missed = testStep({
  message: 'Where is order 7?',
  reply: 'No idea.',
  failures: [{ expect: 'contains: on its way', saw: 'No idea.' }],
});

/** A test with one repetition for each verdict. */
export const testResult = (
  letter: string,
  name: string,
  verdict: Verdict,
  repeats: readonly (readonly [Verdict, Step])[] = [[verdict, verdict === 'failed' ? missed : testStep()]],
): TestResultView => ({
  test_id: id('tst', letter),
  name,
  verdict,
  repeats: repeats.map(([own, step]) => ({ verdict: own, seconds: 0.25, steps: [step] })),
});

export const runId = id('run', 'a');

export const testRun = (fields: Partial<Run> = {}): Run => ({
  id: runId,
  object: 'test_run',
  version: 'draft',
  digest: 'a'.repeat(27),
  status: 'passed',
  created_at: 1767225600,
  started_at: 1767225601,
  ended_at: 1767225603,
  progress: { done: fields.results?.length ?? 0, of: fields.results?.length ?? 0 },
  usage: { input_tokens: 12, output_tokens: 5 },
  replay: false,
  counts: null,
  results: [],
  ...fields,
});
