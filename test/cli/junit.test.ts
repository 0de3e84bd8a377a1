/** JUnit files: what their readers expect, for every verdict, and for texts that XML cannot contain. */
import t from 'tap';
import { junit } from '../../src/cli/junit.ts';
import type { Run } from '../../src/cli/test-report.ts';
import { missed, testResult, testRun, testStep } from './played.ts';
import { junitProblems, parseXml, type XmlElement } from './xml.ts';

const suiteOf = (run: Run, assistant = 'Support'): XmlElement => {
  const root = parseXml(junit(assistant, run));
  t.strictSame(junitProblems(root), []);
  return root.children[0]!;
};
const casesOf = (suite: XmlElement): XmlElement[] => suite.children.filter(({ name }) => name === 'testcase');

t.test('a run is a suite, and each test is one case with its time and its verdict', async (t) => {
  const results = [
    testResult('a', 'It greets', 'passed'),
    testResult('b', 'Order status', 'failed'),
    testResult('c', 'Sometimes', 'flaky', [
      ['passed', testStep()],
      ['failed', missed],
    ]),
    testResult('d', 'No provider', 'error'),
  ];
  const suite = suiteOf(testRun({ status: 'failed', results }));
  t.match(suite.attributes, { name: 'Support (draft)', tests: '4', failures: '2', errors: '1', time: '2.000' });
  t.equal(suite.attributes['timestamp'], '2026-01-01T00:00:01');
  const [passed, failed, flaky, error] = casesOf(suite);
  t.strictSame(passed!.attributes, { name: 'It greets', classname: 'Support', time: '0.250' });
  t.strictSame(passed!.children, []);
  t.match(failed!.children, [
    { name: 'failure', attributes: { type: 'failed', message: 'step 1: expected contains: on its way, got No idea.' } },
  ]);
  t.match(failed!.children[0]!.text, /step 1: Where is order 7\?\n +expected +contains: on its way\n +got +No idea\./);
  t.equal(flaky!.attributes['time'], '0.500');
  t.match(flaky!.children[0], {
    name: 'failure',
    attributes: { type: 'flaky', message: /^1 of 2 repetitions passed; step 1: expected/ },
    text: /repetition 2, step 1/,
  });
  t.match(error!.children[0], { name: 'error', attributes: { type: 'error', message: /the model's provider failed/ } });
});

t.test('texts that XML cannot contain are replaced, and all others arrive as they are', async (t) => {
  const name = 'a <b> & "c" ]]> \u{1f600}\ttab\nline';
  const broken = 'bell \u0007, null \u0000, half \ud800, \uffff';
  const expect = `contains: ${broken}`;
  const step = testStep({ message: '<&>', failures: [{ expect, saw: ']]>\r' }] });
  const suite = suiteOf(
    testRun({ status: 'failed', results: [testResult('a', name, 'failed', [['failed', step]])] }),
    name,
  );
  const [only] = casesOf(suite);
  t.match(only!.attributes, { name, classname: name });
  t.match(only!.children[0]!.text, 'step 1: <&>');
  t.match(only!.children[0]!.text, 'got       ]]>');
  t.match(only!.children[0]!.attributes['message'], 'half \ufffd, \ufffd');
});

t.test('a run that was cancelled or interrupted is an error, also where all tests so far have passed', async (t) => {
  for (const status of ['cancelled', 'interrupted'] as const) {
    const results = [testResult('a', 'It greets', 'passed')];
    const suite = suiteOf(testRun({ status, results, progress: { done: 1, of: 3 } }));
    t.match(suite.attributes, { tests: '2', errors: '1' });
    t.equal(casesOf(suite)[1]!.children[0]!.attributes['message'], `The run was ${status} after 1 of 3 tests.`);
  }
  const waiting = suiteOf(testRun({ status: 'cancelled', started_at: null, progress: { done: 0, of: 3 } }));
  t.match(waiting.attributes, { tests: '1', errors: '1', time: '0.000' });
});

t.test('a result without a time has none, and a version has its number', async (t) => {
  const result = testResult('a', 'Old', 'passed');
  const [{ verdict, steps }] = result.repeats as [(typeof result.repeats)[number]];
  const old = { ...result, repeats: [{ verdict, seconds: null, steps }] };
  const suite = suiteOf(testRun({ version: 3, results: [old] }));
  t.equal(suite.attributes['name'], 'Support (version 3)');
  t.strictSame(casesOf(suite)[0]!.attributes, { name: 'Old', classname: 'Support' });
});

t.test('a run whose tests were all deleted before is an error', async (t) => {
  const suite = suiteOf(testRun({ status: 'failed', progress: { done: 1, of: 1 }, results: [] }));
  t.match(suite.attributes, { tests: '1', failures: '0', errors: '1' });
  const [only] = casesOf(suite);
  t.match(only!.children, [{ name: 'error', attributes: { message: /^Nothing was played: all its tests/ } }]);
});
