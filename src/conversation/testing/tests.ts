/** Tests of assistants (contract 21): as a request describes them, and as the console shows them. */
import { etagOf } from '../../base/etag.ts';
import { isNestedWithin } from '../../base/json.ts';
import { ownIdOf } from '../../store/records/tests.ts';
import type { AssistantTest, ScriptedResult, TestExpectation } from '../../store/store.ts';
import type { CreateTestBody, PatchTestBody, TestView } from '../../wire/wire.ts';
import { argumentsNestingMax } from '../../providers/tool/arguments.ts';

/** The parts of a test that a person writes. */
export type TestScript = Pick<AssistantTest, 'name' | 'visitor' | 'metadata' | 'steps' | 'toolResults' | 'repeat'>;

type Step = NonNullable<CreateTestBody['steps']>[number];

/** The given parts of a test. */
export function scriptOf(body: PatchTestBody): Partial<TestScript> {
  const { name, visitor, metadata, steps, tool_results: results, repeat } = body;
  return {
    ...(name !== undefined && { name }),
    ...(visitor !== undefined && { visitor }),
    ...(metadata !== undefined && { metadata }),
    ...(steps !== undefined && { steps: steps.map(stepOf) }),
    ...(results !== undefined && {
      toolResults: Object.fromEntries(Object.entries(results).map(([name, all]) => [name, all.map(resultOf)])),
    }),
    ...(repeat !== undefined && { repeat }),
  };
}

/** The path of the first value that is nested more deeply than arguments and outputs may be; null for none. */
export function nestingProblem({ steps = [], tool_results: results = {} }: PatchTestBody): string | null {
  for (const [index, { expect }] of steps.entries())
    for (const [at, call] of (expect?.calls ?? []).entries())
      if (!isNestedWithin(call.arguments, argumentsNestingMax)) return `steps.${index}.expect.calls.${at}.arguments`;
  const isDeep = (all: readonly { readonly output?: unknown }[]): boolean =>
    all.some(({ output }) => !isNestedWithin(output, argumentsNestingMax));
  return Object.values(results).some(isDeep) ? 'tool_results' : null;
}

function stepOf({ message, expect = {} }: Step): AssistantTest['steps'][number] {
  const { contains, not_contains, calls, no_calls, stop_reason, characters_max, judge } = expect;
  const expected: TestExpectation = {
    ...(contains && { contains }),
    ...(not_contains && { notContains: not_contains }),
    ...(calls && { calls }),
    ...(no_calls && { noCalls: true }),
    ...(stop_reason !== undefined && { stopReason: stop_reason }),
    ...(characters_max !== undefined && { charactersMax: characters_max }),
    ...(judge !== undefined && { judge }),
  };
  return { message, expect: expected };
}

const resultOf = ({ status = 'completed', output = '' }: { status?: string; output?: unknown }): ScriptedResult => ({
  status: status as ScriptedResult['status'],
  output: typeof output === 'string' ? output : JSON.stringify(output),
});

export const expectView = (expect: TestExpectation): TestView['steps'][number]['expect'] => ({
  ...(expect.contains && { contains: [...expect.contains] }),
  ...(expect.notContains && { not_contains: [...expect.notContains] }),
  ...(expect.calls && { calls: expect.calls.map((call) => ({ ...call })) }),
  ...(expect.noCalls && { no_calls: true as const }),
  ...(expect.stopReason !== undefined && { stop_reason: expect.stopReason as 'end' }),
  ...(expect.charactersMax !== undefined && { characters_max: expect.charactersMax }),
  ...(expect.judge !== undefined && { judge: expect.judge }),
});

const scriptView = ({ name, visitor, metadata, steps, toolResults, repeat }: TestScript) => ({
  name,
  visitor: { ...visitor },
  metadata: { ...metadata },
  steps: steps.map(({ message, expect }) => ({ message, expect: expectView(expect) })),
  tool_results: Object.fromEntries(
    Object.entries(toolResults).map(([name, all]) => [name, all.map(({ status, output }) => ({ status, output }))]),
  ),
  repeat,
});

export const testView = (test: AssistantTest): TestView => ({
  id: ownIdOf(test),
  object: 'assistant_test',
  ...scriptView(test),
  from_session: test.fromSessionId,
  created_at: test.createdAt,
  updated_at: test.updatedAt,
});

/** A digest of what a run plays: another for every other script. */
export const scriptDigest = (test: AssistantTest): string => etagOf(JSON.stringify(scriptView(test))).slice(1, -1);

/** A digest of tests as a run plays them. Their order does not matter. */
export const testsDigest = (digests: readonly { readonly testId: string; readonly digest: string }[]): string =>
  etagOf(
    digests
      .map(({ testId, digest }) => `${testId} ${digest}`)
      .toSorted()
      .join('\n'),
  ).slice(1, -1);

/** A test as the audit shows it: without words of conversations, which it may be made of. */
export const auditedTest = (test: AssistantTest) => ({
  name: test.name,
  repeat: test.repeat,
  steps: test.steps.length,
  digest: scriptDigest(test),
});
