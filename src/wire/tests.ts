/** The console's shapes of tests of assistants (contract 21). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import {
  Id,
  listOf,
  mapOf,
  metadataOf,
  Name,
  named,
  Nullable,
  recordsQuery,
  Strings,
  Text,
  UnixSeconds,
} from './basics.ts';
import { stopReasons, VisitorValues } from './conversation.ts';

/** The bound of `functionName`. */
const functionNameCharactersMax = 64;

const Criterion = (description?: string) => Text(limits.testTextCharactersMax, 1, description);
const List = <S extends Parameters<typeof Type.Array>[0]>(item: S, description: string) =>
  Type.Array(item, { maxItems: limits.testExpectationsMax, description });

/** A step's expectations. All are optional: without any, the turn must complete. */
const expect = {
  contains: Type.Optional(List(Criterion(), 'Texts that the reply contains, in any case.')),
  not_contains: Type.Optional(List(Criterion(), 'Texts that the reply does not contain, in any case.')),
  calls: Type.Optional(
    List(
      Type.Object({
        name: Criterion(),
        arguments: Type.Optional(
          mapOf(Type.Unknown(), { description: 'Arguments that must be equal; any others may have any value.' }),
        ),
      }),
      'Calls that are made in this order, possibly among others.',
    ),
  ),
  no_calls: Type.Optional(Type.Literal(true, { description: 'No function is called.' })),
  stop_reason: Type.Optional(Strings(stopReasons)),
  characters_max: Type.Optional(
    Type.Integer({ minimum: 0, maximum: limits.outputCharactersMax, description: 'Characters of the reply.' }),
  ),
  judge: Type.Optional(Criterion("A criterion in words. The assistant's own model answers yes or no.")),
};

const ScriptedResult = Type.Object({
  status: Type.Optional(Strings(['completed', 'failed'])),
  output: Type.Optional(Type.Unknown({ description: 'A text, or a value that is sent as JSON.' })),
});

const fields = {
  name: Name(),
  visitor: VisitorValues,
  metadata: metadataOf(),
  steps: Type.Array(
    Type.Object({ message: Text(limits.messageCharactersMax), expect: Type.Optional(Type.Object(expect)) }),
    { minItems: 1, maxItems: limits.testStepsMax },
  ),
  tool_results: mapOf(Type.Array(ScriptedResult, { maxItems: limits.testResultsMax }), {
    maxProperties: limits.toolFunctionsMax,
    propertyNames: { type: 'string', minLength: 1, maxLength: functionNameCharactersMax },
    description: 'The results of each function, in order; the last one repeats.',
  }),
  repeat: Type.Integer({ minimum: 1, maximum: limits.testRepeatMax }),
};

export const PatchTestBody = named('PatchAssistantTest', Type.Partial(Type.Object(fields)));
export type PatchTestBody = Static<typeof PatchTestBody>;
export const CreateTestBody = named(
  'CreateAssistantTest',
  Type.Object({
    ...Type.Partial(Type.Object(fields)).properties,
    from_session: Type.Optional(
      Text(
        limits.nameCharactersMax,
        1,
        'A session: its messages are the steps, its calls are expected, and their outputs are the results. Other fields of the body replace those.',
      ),
    ),
  }),
);
export type CreateTestBody = Static<typeof CreateTestBody>;

export const TestsQuery = Type.Object(recordsQuery('tst'));

export const TestView = named(
  'AssistantTest',
  Type.Object({
    id: Id('tst'),
    object: Type.Literal('assistant_test'),
    name: Type.String(),
    visitor: mapOf(Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
    metadata: mapOf(Type.String()),
    steps: Type.Array(Type.Object({ message: Type.String(), expect: Type.Object(expect) })),
    tool_results: mapOf(Type.Array(Type.Object({ status: Strings(['completed', 'failed']), output: Type.String() }))),
    repeat: Type.Integer(),
    from_session: Nullable(Id('ses')),
    created_at: UnixSeconds(),
    updated_at: UnixSeconds(),
  }),
);
export type TestView = Static<typeof TestView>;
export const TestList = listOf('AssistantTestList', TestView);

export const CreateTestRunBody = named(
  'CreateTestRun',
  Type.Object({
    version: Type.Union([Type.Integer({ minimum: 1, maximum: limits.versionNumberMax }), Type.Literal('draft')]),
    test_ids: Type.Optional(
      Type.Array(Text(limits.nameCharactersMax), {
        minItems: 1,
        maxItems: limits.testsMax,
        description: 'All tests of the assistant without it.',
      }),
    ),
    repeat: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.testRepeatMax })),
    replay: Type.Optional(
      Type.Object(
        { sessions: Type.Integer({ minimum: 1, maximum: limits.replaySessionsMax }) },
        { description: 'Plays that many of the newest sessions that have ended or expired again, instead of tests.' },
      ),
    ),
  }),
);
export type CreateTestRunBody = Static<typeof CreateTestRunBody>;

export const TestRunsQuery = Type.Object(recordsQuery('run'));

const runStatuses = ['queued', 'running', 'passed', 'failed', 'cancelled', 'interrupted'] as const;
const verdicts = ['passed', 'flaky', 'failed', 'error'] as const;
const same = () => Strings(['same', 'different']);

const run = {
  id: Id('run'),
  object: Type.Literal('test_run'),
  version: Type.Union([Type.Integer(), Type.Literal('draft')]),
  digest: Type.String({ description: 'The digest of the settings that are played.' }),
  status: Strings(runStatuses),
  created_at: UnixSeconds(),
  started_at: Nullable(UnixSeconds()),
  ended_at: Nullable(UnixSeconds()),
  progress: Type.Object({ done: Type.Integer(), of: Type.Integer() }),
  usage: Type.Object({ input_tokens: Type.Integer(), output_tokens: Type.Integer() }),
  replay: Type.Boolean(),
  counts: Nullable(
    Type.Object(
      { calls_different: Type.Integer(), ended_different: Type.Integer() },
      { description: 'Conversations of a replay that differ; null before its end, and for tests.' },
    ),
  ),
};

const Call = Type.Object({
  name: Type.String(),
  arguments: Nullable(mapOf(Type.Unknown())),
  status: Type.String(),
  error: Nullable(Type.String()),
});
const Step = Type.Object({
  message: Type.String(),
  reply: Type.String(),
  stop_reason: Nullable(Type.String()),
  calls: Type.Array(Call),
  failures: Type.Array(Type.Object({ expect: Type.String(), saw: Type.String() })),
  judged: Type.Boolean({ description: 'Whether the model has judged the reply.' }),
});
const TestResultView = Type.Object({
  test_id: Type.String(),
  name: Type.String(),
  verdict: Strings(verdicts),
  repeats: Type.Array(
    Type.Object({
      verdict: Strings(verdicts),
      seconds: Nullable(Type.Number({ description: 'The time that the repetition took; null if it is not known.' })),
      steps: Type.Array(Step),
    }),
  ),
});
const ReplayResultView = Type.Object({
  session_id: Type.String(),
  messages: Type.Array(Type.Object({ message: Type.String(), stored: Type.String(), reply: Type.String() })),
  calls: same(),
  ended: same(),
  failed: Type.Boolean({ description: "The model's provider failed, and the conversation ended there." }),
  characters: Type.Object({ stored: Type.Integer(), reply: Type.Integer() }),
});

export const TestRunView = named('TestRun', Type.Object(run));
export type TestRunView = Static<typeof TestRunView>;
export const TestRunList = listOf('TestRunList', TestRunView);
export const TestRunWithResultsView = named(
  'TestRunWithResults',
  Type.Object({
    ...run,
    results: Type.Array(Type.Union([TestResultView, ReplayResultView]), {
      description: 'Those that are done, in the order of the run.',
    }),
  }),
);
export type TestRunWithResultsView = Static<typeof TestRunWithResultsView>;
