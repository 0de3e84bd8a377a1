/** Tests of assistants in the console's pages: a form's text for each value, states in words, and what comes first. */
import t from 'tap';
import {
  emptyExpectation,
  emptyStep,
  expectationPath,
  kindsFor,
  testBodyOf,
  testDraftOf,
  textOf,
  valueOf,
} from '../../../src/pages/console/parts/test-draft.ts';
import {
  differencesFirst,
  draftTests,
  failuresFirst,
  failureWords,
  lengthWords,
  verdictCounts,
} from '../../../src/pages/console/parts/test-state.ts';

t.test('each value of an argument has a text that stands for it', (t) => {
  for (const value of [
    ...['order', '', '7', '1.0', 'true', 'null', '"quoted"', '{"a":1}', 'two\nlines', ' spaced ', 'naïve "x"', '[oops'],
    ...[7, -0.5, 1e21, 0, true, false, null, [], {}, { a: [1, 'b', null] }],
  ])
    t.same(valueOf(textOf(value)), value, JSON.stringify(value));
  t.equal(textOf('order'), 'order');
  t.equal(textOf('7'), '"7"');
  t.equal(valueOf('12345678901234567890'), '12345678901234567890', 'a number of too many digits stays a text');
  t.equal(valueOf('007'), '007');
  t.end();
});

const script = {
  name: 'Order status',
  visitor: { plan: '7', age: 7, member: true },
  metadata: { ref: '1' },
  steps: [
    {
      message: 'Where is order 7?',
      expect: {
        contains: ['way', 'two\nlines'],
        not_contains: ['sorry'],
        calls: [{ name: 'look_up', arguments: { order: 7, deep: { a: ['7'] } } }, { name: 'log' }],
        stop_reason: 'end' as const,
        characters_max: 100,
        judge: 'It names the state of the order.',
      },
    },
    { message: 'Thanks', expect: { no_calls: true as const } },
  ],
  tool_results: {
    look_up: [
      { status: 'completed' as const, output: '{"state":"sent"}' },
      { status: 'failed' as const, output: 'Closed.' },
    ],
  },
  repeat: 3,
};
const stored = {
  ...script,
  id: 'tst_1',
  object: 'assistant_test' as const,
  from_session: null,
  created_at: 10,
  updated_at: 10,
};
const fields = [{ name: 'plan', type: 'text' as const }];

t.test('a test that is read into the form and stored again is the same', (t) => {
  t.same(testBodyOf(testDraftOf(stored, fields), fields), script);
  t.equal(testDraftOf(stored, fields).visitor[0]!.text, '7', 'a text field of the pre-chat form needs no quotes');
  t.equal(testDraftOf(stored, []).visitor[0]!.text, '"7"');
  t.end();
});

t.test('an expectation is named as the server names it, and a single kind is offered once', (t) => {
  const kinds = ['contains', 'calls', 'contains', 'judge', 'calls'] as const;
  const step = { ...emptyStep, expectations: kinds.map((kind) => ({ ...emptyExpectation, kind })) };
  t.same(
    kinds.map((_, index) => expectationPath(2, step, index)),
    [
      'steps.2.expect.contains.0',
      'steps.2.expect.calls.0.name',
      'steps.2.expect.contains.1',
      'steps.2.expect.judge',
      'steps.2.expect.calls.1.name',
    ],
  );
  const offered = (index: number) => kindsFor(step, index).map(([kind]) => kind);
  t.notOk(offered(0).includes('judge'));
  t.ok(offered(3).includes('judge'));
  t.ok(offered(0).includes('calls'));
  t.end();
});

const run = (fields: object) => ({
  id: 'run_1',
  object: 'test_run' as const,
  version: 'draft' as const,
  digest: 'd',
  status: 'passed' as const,
  created_at: 20,
  started_at: 20,
  ended_at: 21,
  progress: { done: 2, of: 2 },
  usage: { input_tokens: 0, output_tokens: 0 },
  replay: false,
  counts: null,
  ...fields,
});

t.test('the tests of a draft have passed only where the newest run of all of them on it has', (t) => {
  const tests = [stored, { ...stored, id: 'tst_2' }];
  const stateOf = (...runs: readonly object[]) => draftTests('d', tests, runs.map(run)).state;
  t.equal(draftTests('d', [], [run({})]).state, 'none');
  t.equal(stateOf(), 'not run');
  t.equal(stateOf({}), 'passed');
  t.equal(stateOf({ digest: 'other' }), 'not run');
  t.equal(stateOf({ replay: true }), 'not run');
  t.equal(stateOf({ progress: { done: 1, of: 1 } }), 'not run', 'of some tests alone');
  t.equal(stateOf({ status: 'failed' }, {}), 'failed', 'the newest counts');
  t.equal(stateOf({ status: 'queued' }, {}), 'running');
  t.equal(stateOf({ status: 'cancelled' }, {}), 'unfinished');
  t.equal(stateOf({ created_at: 9 }), 'changed', 'a test has changed since');
  t.end();
});

t.test('what failed comes first, and is counted', (t) => {
  const results = (['passed', 'flaky', 'error', 'passed', 'failed'] as const).map((verdict, index) => ({
    test_id: `tst_${index}`,
    name: 'T',
    verdict,
    repeats: [],
  }));
  t.same(
    failuresFirst(results).map(({ verdict }) => verdict),
    ['failed', 'error', 'flaky', 'passed', 'passed'],
  );
  t.equal(verdictCounts(results), '1 failed, 1 error, 1 flaky, 2 passed');
  t.end();
});

t.test('each expectation that is not met is said in words', (t) => {
  const said = (expect: string, saw: string) => {
    const words = failureWords({ expect, saw });
    return [words.expected, words.saw].filter(Boolean).join(' | ');
  };
  t.equal(said('contains: a: b', 'no'), 'The reply contains “a: b”');
  t.equal(said('characters_max: 1200', '1300'), 'The reply has at most 1,200 characters | It has 1,300.');
  t.equal(
    said('calls: {"name":"a","arguments":{"b":1}}', '[{"name":"c","arguments":{}},{"name":"a","arguments":{"b":2}}]'),
    'A call of a with {"b":1} | It called c, a with {"b":2}.',
  );
  t.equal(said('calls: {"name":"a"}', '[]'), 'A call of a | No function was called.');
  t.equal(said('calls: {"name":"a"}', '[{"name":"a…'), 'A call of a | It called [{"name":"a…', 'a list that was cut');
  t.equal(said('no_calls', 'a, b'), 'No function is called | It called a, b.');
  t.equal(said('completed', 'failed'), 'The turn completes | It is failed.');
  t.equal(said('judge: Polite.', 'No, rude.'), 'The reply meets “Polite.” | The model’s judgement: No, rude.');
  t.end();
});

t.test('conversations that differ most come first', (t) => {
  const result = (id: string, fields: object) => ({
    session_id: id,
    messages: [{ message: 'Hi', stored: 'a', reply: 'a' }],
    calls: 'same' as const,
    ended: 'same' as const,
    failed: false,
    characters: { stored: 100, reply: 100 },
    ...fields,
  });
  const other = { messages: [{ message: 'Hi', stored: 'a', reply: 'b' }] };
  const results = [
    result('same', {}),
    result('replies', other),
    result('shorter', { ...other, characters: { stored: 100, reply: 20 } }),
    result('ended', { ended: 'different' }),
    result('calls', { calls: 'different' }),
  ];
  t.same(
    differencesFirst(results).map(({ session_id: id }) => id),
    ['calls', 'ended', 'shorter', 'replies', 'same'],
  );
  t.equal(lengthWords(results[2]!), '100 → 20 characters (−80 %)');
  t.equal(lengthWords(results[0]!), '100 → 100 characters');
  t.end();
});
