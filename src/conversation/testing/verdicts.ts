/** Verdicts of tests (contract 21), as pure functions of what a run saw. */
import { isDeepStrictEqual } from 'node:util';
import { codePoints } from '../../base/text.ts';
import type { PlayedCall, PlayedStep, TestExpectation, Verdict } from '../../store/store.ts';

/** A turn as it ended. */
export interface PlayedTurn {
  readonly reply: string;
  readonly status: string;
  readonly stopReason: string | null;
  readonly calls: readonly PlayedCall[];
}

/** The answer to the judge's criterion; null if none was asked for. */
export interface Judgement {
  readonly isMet: boolean;
  readonly answer: string;
}

type Failures = PlayedStep['failures'];

/** The expectations that a turn does not meet. */
export function failuresOf(expect: TestExpectation, turn: PlayedTurn, judgement: Judgement | null): Failures {
  const { contains = [], notContains = [], calls = [], noCalls, stopReason, charactersMax, judge } = expect;
  const failures: { expect: string; saw: string }[] = [];
  const reply = turn.reply.toLowerCase();
  const names = turn.calls.map(({ name }) => name).join(', ') || 'no call';
  if (stopReason === undefined && turn.status !== 'completed') failures.push({ expect: 'completed', saw: turn.status });
  for (const text of contains)
    if (!reply.includes(text.toLowerCase())) failures.push({ expect: `contains: ${text}`, saw: turn.reply });
  for (const text of notContains)
    if (reply.includes(text.toLowerCase())) failures.push({ expect: `not_contains: ${text}`, saw: turn.reply });
  const missing = missingCall(calls, turn.calls);
  if (missing !== null) failures.push({ expect: `calls: ${JSON.stringify(missing)}`, saw: sawCalls(turn.calls) });
  if (noCalls && turn.calls.length > 0) failures.push({ expect: 'no_calls', saw: names });
  if (stopReason !== undefined && turn.stopReason !== stopReason)
    failures.push({ expect: `stop_reason: ${stopReason}`, saw: String(turn.stopReason) });
  const characters = codePoints(turn.reply);
  if (charactersMax !== undefined && characters > charactersMax)
    failures.push({ expect: `characters_max: ${charactersMax}`, saw: String(characters) });
  if (judge !== undefined && judgement !== null && !judgement.isMet)
    failures.push({ expect: `judge: ${judge}`, saw: judgement.answer });
  return failures;
}

type ExpectedCalls = NonNullable<TestExpectation['calls']>;

/** The first of the expected calls that is not made after those before it; null if all are. */
function missingCall(expected: ExpectedCalls, made: readonly PlayedCall[]): ExpectedCalls[number] | null {
  let from = 0;
  for (const call of expected) {
    const at = made.findIndex((one, index) => index >= from && isSuch(one, call));
    if (at < 0) return call;
    from = at + 1;
  }
  return null;
}

/** Whether a call has the name, and each of the arguments. */
const isSuch = (made: PlayedCall, { name, arguments: wanted = {} }: ExpectedCalls[number]): boolean =>
  made.name === name &&
  Object.entries(wanted).every(
    ([key, value]) =>
      made.arguments !== null && Object.hasOwn(made.arguments, key) && isDeepStrictEqual(made.arguments[key], value),
  );

const sawCalls = (calls: readonly PlayedCall[]): string =>
  JSON.stringify(calls.map(({ name, arguments: input }) => ({ name, arguments: input })));

/** The verdict of one repetition. `isError`: the model's provider failed. */
export const verdictOfRepeat = (steps: readonly PlayedStep[], isError: boolean): Verdict =>
  isError ? 'error' : steps.every(({ failures }) => failures.length === 0) ? 'passed' : 'failed';

/** The verdict of a test over its repetitions. */
export function verdictOf(repeats: readonly Verdict[]): Verdict {
  if (repeats.includes('error')) return 'error';
  if (repeats.every((verdict) => verdict === 'passed')) return 'passed';
  return repeats.includes('passed') ? 'flaky' : 'failed';
}

/** The judgement in a model's answer: its first word is yes or no. Any other answer is no. */
export const judgementOf = (answer: string): Judgement => ({ isMet: /^[^\p{L}]*yes\b/iu.test(answer), answer });
