/** Tests and their runs in words and in order: pure functions of what the API answers. */
import { count, plural } from '../format.ts';
import type { AssistantTest, ReplayResult, TestResult, TestRun } from '../types.ts';

type Tone = 'plain' | 'lit' | 'red' | 'good';
export type Verdict = TestResult['verdict'];

export const runTones = {
  queued: 'plain',
  running: 'lit',
  passed: 'good',
  failed: 'red',
  cancelled: 'plain',
  interrupted: 'red',
} as const satisfies Record<TestRun['status'], Tone>;

export const verdictTones = { passed: 'good', flaky: 'lit', failed: 'red', error: 'red' } as const satisfies Record<
  Verdict,
  Tone
>;

/** Whether a run waits or is played. */
export const isUnended = ({ status }: Pick<TestRun, 'status'>): boolean => status === 'queued' || status === 'running';

/** The tests of a draft: none exist, or how the newest run of all of them on this draft has ended. */
export type DraftTests =
  | { readonly state: 'none' | 'not run'; readonly run: null }
  | { readonly state: 'running' | 'passed' | 'failed' | 'unfinished' | 'changed'; readonly run: TestRun };

/** `runs`: newest first. `changed`: a test has changed since the run was made. */
export function draftTests(digest: string, tests: readonly AssistantTest[], runs: readonly TestRun[]): DraftTests {
  if (tests.length === 0) return { state: 'none', run: null };
  const run = runs.find((one) => !one.replay && one.digest === digest && one.progress.of === tests.length);
  if (run === undefined) return { state: 'not run', run: null };
  if (isUnended(run)) return { state: 'running', run };
  if (tests.some((test) => test.updated_at > run.created_at)) return { state: 'changed', run };
  return { state: run.status === 'passed' || run.status === 'failed' ? run.status : 'unfinished', run };
}

const verdictOrder: readonly Verdict[] = ['failed', 'error', 'flaky', 'passed'];

/** Sorts failures before passes. */
export const failuresFirst = <Result extends { readonly verdict: Verdict }>(results: readonly Result[]): Result[] =>
  results.toSorted((one, other) => verdictOrder.indexOf(one.verdict) - verdictOrder.indexOf(other.verdict));

/** "2 failed, 1 flaky, 7 passed" */
export const verdictCounts = (results: readonly TestResult[]): string =>
  verdictOrder
    .map((verdict) => [results.filter((one) => one.verdict === verdict).length, verdict] as const)
    .filter(([number]) => number > 0)
    .map(
      ([number, verdict]) =>
        `${count(number)} ${verdict === 'error' ? plural(number, 'error').split(' ')[1] : verdict}`,
    )
    .join(', ');

type Failure = TestResult['repeats'][number]['steps'][number]['failures'][number];

/** An expectation that is not met, in words; `saw`: null where the reply shows it. */
export interface FailureWords {
  readonly expected: string;
  readonly saw: string | null;
}

export function failureWords({ expect, saw }: Failure): FailureWords {
  const colon = expect.indexOf(': ');
  const [kind, value] = colon < 0 ? [expect, ''] : [expect.slice(0, colon), expect.slice(colon + 2)];
  switch (kind) {
    case 'completed':
      return { expected: 'The turn completes', saw: `It is ${saw}.` };
    case 'contains':
      return { expected: `The reply contains “${value}”`, saw: null };
    case 'not_contains':
      return { expected: `The reply does not contain “${value}”`, saw: null };
    case 'characters_max':
      return {
        expected: `The reply has at most ${count(Number(value))} characters`,
        saw: `It has ${count(Number(saw))}.`,
      };
    case 'no_calls':
      return { expected: 'No function is called', saw: `It called ${saw}.` };
    case 'stop_reason':
      return { expected: `The turn ends with ${value}`, saw: `It ended with ${saw}.` };
    case 'judge':
      return { expected: `The reply meets “${value}”`, saw: `The model’s judgement: ${saw}` };
    case 'calls':
      return { expected: `A call of ${callWords(value)}`, saw: callsSeen(saw) };
    default:
      return { expected: expect, saw };
  }
}

interface SeenCall {
  readonly name: string;
  readonly arguments?: unknown;
}

const wordsOf = ({ name, arguments: args }: SeenCall): string =>
  args === undefined || args === null || JSON.stringify(args) === '{}' ? name : `${name} with ${JSON.stringify(args)}`;

const callWords = (json: string): string => wordsOf(JSON.parse(json) as SeenCall);

/** The calls that were made. Their list may have been shortened. */
function callsSeen(json: string): string {
  try {
    const calls = JSON.parse(json) as readonly SeenCall[];
    return calls.length === 0 ? 'No function was called.' : `It called ${calls.map(wordsOf).join(', ')}.`;
  } catch {
    return `It called ${json}`;
  }
}

/** Whether a replayed conversation has another reply than the stored one. */
export const hasOtherReplies = ({ messages }: ReplayResult): boolean =>
  messages.some(({ stored, reply }) => stored !== reply);

/** The weight of the differences: calls weigh most, then how turns end, then replies. */
const difference = (result: ReplayResult): number =>
  (result.calls === 'different' ? 4 : 0) + (result.ended === 'different' ? 2 : 0) + (hasOtherReplies(result) ? 1 : 0);

export const isDifferent = (result: ReplayResult): boolean => difference(result) > 0;

/** Sorts by differences, the most first; among equals, by the change of length. */
export const differencesFirst = (results: readonly ReplayResult[]): ReplayResult[] =>
  results.toSorted((one, other) => difference(other) - difference(one) || lengthChange(other) - lengthChange(one));

const lengthChange = ({ characters: { stored, reply } }: ReplayResult): number => Math.abs(reply - stored);

/** "120 → 80 characters (−33 %)" */
export function lengthWords({ characters: { stored, reply } }: ReplayResult): string {
  const percent = stored === 0 ? 0 : Math.round((reply / stored - 1) * 100);
  const change = percent === 0 ? '' : ` (${percent > 0 ? '+' : '−'}${count(Math.abs(percent))} %)`;
  return `${count(stored)} → ${plural(reply, 'character')}${change}`;
}
