/** Texts of runs and replays (contract 21), as `parley tests` prints them. */
import { counted } from '../base/text.ts';
import type { TestRunView, TestRunWithResultsView } from '../wire/wire.ts';
import { oneLine } from './output.ts';

export type Run = TestRunWithResultsView;
type Result = Run['results'][number];
export type TestResultView = Extract<Result, { readonly test_id: string }>;
export type ReplayResultView = Extract<Result, { readonly session_id: string }>;
type Repeat = TestResultView['repeats'][number];
type Step = Repeat['steps'][number];
export type Verdict = Repeat['verdict'];

export const endedStatuses: readonly string[] = ['passed', 'failed', 'cancelled', 'interrupted'];

export const testsOf = ({ results }: Run): TestResultView[] =>
  results.filter((one): one is TestResultView => 'test_id' in one);
export const replaysOf = ({ results }: Run): ReplayResultView[] =>
  results.filter((one): one is ReplayResultView => 'session_id' in one);

/** Characters of a message or a reply that are shown. */
const shownCharacters = 300;

export function shown(text: string): string {
  const line = oneLine(text);
  if (line === '') return '(nothing)';
  const characters = [...line];
  return characters.length <= shownCharacters ? line : `${characters.slice(0, shownCharacters).join('')}…`;
}

/** The time that all repetitions took; null for a result that was stored without it. */
export function secondsOf({ repeats }: TestResultView): number | null {
  const times = repeats.flatMap(({ seconds }) => seconds ?? []);
  return times.length < repeats.length ? null : times.reduce((sum, seconds) => sum + seconds, 0);
}

/** The expectations that a step does not meet, each with what was seen instead. */
const failuresOf = ({ failures }: Step, isLastOfError: boolean): FailedStep['failures'] => [
  ...failures.map(({ expect, saw }) => [expect, saw] as const),
  ...(isLastOfError ? [['completed', "the model's provider failed"] as const] : []),
];

/** A step that has failed, with its place in the test. */
export interface FailedStep {
  readonly repetition: number;
  readonly step: number;
  readonly message: string;
  readonly failures: readonly (readonly [expected: string, saw: string])[];
  /** Names of functions whose calls were refused: often the reason for a failure. */
  readonly refused: readonly string[];
}

export const failedSteps = ({ repeats }: TestResultView): FailedStep[] =>
  repeats.flatMap(({ verdict, steps }, repeat) =>
    steps.flatMap((step, index) => {
      const failures = failuresOf(step, verdict === 'error' && index === steps.length - 1);
      const calls = step.calls.filter(({ error }) => error === 'refused');
      const refused = [...new Set(calls.map(({ name }) => name))];
      return failures.length === 0
        ? []
        : [{ repetition: repeat + 1, step: index + 1, message: step.message, failures, refused }];
    }),
  );

const passedOf = ({ repeats }: TestResultView): string =>
  `${repeats.filter(({ verdict }) => verdict === 'passed').length} of ${counted(repeats.length, 'repetition')} passed`;

/** A finished test as one line. */
export function resultLine(result: TestResultView): string {
  const seconds = secondsOf(result);
  const notes = [
    ...(result.repeats.length > 1 ? [passedOf(result)] : []),
    ...(seconds === null ? [] : [`${seconds.toFixed(1)} s`]),
  ];
  return `${result.verdict.padEnd(6)}  ${oneLine(result.name)}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`;
}

/** The failures of a test that has not passed: steps, expectations and what was seen. */
export function failureText(result: TestResultView): string {
  const several = result.repeats.length > 1;
  const lines = failedSteps(result).flatMap(({ repetition, step, message, failures, refused }) => [
    `  ${several ? `repetition ${repetition}, ` : ''}step ${step}: ${shown(message)}`,
    ...failures.flatMap(([expected, saw]) => [`    expected  ${shown(expected)}`, `    got       ${shown(saw)}`]),
    ...refused.map((name) => `    note      ${name} was refused, as every call without a result in tool_results`),
  ]);
  return [`${result.verdict}: ${oneLine(result.name)} (${result.test_id})`, ...lines].join('\n');
}

/** Reasons for which a run has no results. */
export const nothingPlayed = {
  tests: 'all its tests were deleted before.',
  replay: 'all its conversations were deleted before.',
} as const;

/** The texts of all tests that have not passed, or of all replays. */
export function detailsText(run: Run): string {
  if (run.replay && run.progress.of === 0) return 'No conversations: a replay takes those that have ended.';
  if (endedStatuses.includes(run.status) && run.progress.done === run.progress.of && run.results.length === 0)
    return `Nothing was played: ${run.replay ? nothingPlayed.replay : nothingPlayed.tests}`;
  if (run.replay) return replaysText(replaysOf(run));
  const open = testsOf(run).filter(({ verdict }) => verdict !== 'passed');
  return open.map(failureText).join('\n\n');
}

const differs = ({ stored, reply }: ReplayResultView['messages'][number]): boolean => stored !== reply;

/** The distance of a replay from its conversation: calls and the ends of turns count more than words. */
function distance({ failed, calls, ended, messages }: ReplayResultView): number {
  if (failed) return 3;
  return calls === 'different' || ended === 'different' ? 2 : messages.some(differs) ? 1 : 0;
}

/** Replays, those with the most differences first; equal ones are counted alone. */
function replaysText(replays: readonly ReplayResultView[]): string {
  const sorted = replays.toSorted((one, other) => distance(other) - distance(one));
  const texts = sorted.filter((one) => distance(one) > 0).map(replayText);
  const equal = replays.length - texts.length;
  return [...texts, ...(equal === 0 ? [] : [`${counted(equal, 'conversation')} without a difference.`])].join('\n\n');
}

function replayText({ session_id, failed, calls, ended, characters, messages }: ReplayResultView): string {
  const lines = messages.flatMap((message, index) =>
    differs(message)
      ? [
          `  ${index + 1}. ${shown(message.message)}`,
          `    then  ${shown(message.stored)}`,
          `    now   ${shown(message.reply)}`,
        ]
      : [],
  );
  const head = `${session_id}: calls ${calls}, ended ${ended}, ${characters.stored} -> ${characters.reply} characters`;
  return [failed ? `${head}, the model's provider failed` : head, ...lines].join('\n');
}

const verdicts: readonly Verdict[] = ['passed', 'flaky', 'failed', 'error'];

/** The number of tests of each verdict. */
const verdictCounts = (run: Run): string =>
  verdicts
    .map((verdict) => [verdict, testsOf(run).filter((one) => one.verdict === verdict).length] as const)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');

const endings: Readonly<Record<string, string>> = {
  passed: 'has passed',
  failed: 'has failed',
  cancelled: 'was cancelled',
  interrupted: 'was interrupted (run it again)',
};

/** The last line about a run. */
export function sumText(run: Run): string {
  const { progress, usage, counts } = run;
  const done = progress.done < progress.of ? `${progress.done} of ` : '';
  const noun = run.replay ? 'conversation' : 'test';
  const parts = [
    `${done}${counted(progress.of, noun)}`,
    ...(run.replay ? [] : [verdictCounts(run)].filter((text) => text !== '')),
    ...(counts === null
      ? []
      : [`${counts.calls_different} with other calls, ${counts.ended_different} with another end`]),
    `${usage.input_tokens} tokens in, ${usage.output_tokens} out`,
  ];
  return `The ${run.replay ? 'replay' : 'run'} ${run.id} ${endings[run.status] ?? `is ${run.status}`}: ${parts.join('; ')}.`;
}

/** The version that a run plays, or the draft. */
export const playedText = ({ version }: Pick<TestRunView, 'version'>): string =>
  version === 'draft' ? 'the draft' : `version ${version}`;
