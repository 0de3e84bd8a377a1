/**
 * A run of tests (contract 21) as JUnit's XML, in the form that GitHub's reporters, GitLab and Jenkins read: one suite
 * for the run and one case for each test. A flaky test is a failure, as it is for the run.
 */
import {
  failedSteps,
  failureText,
  nothingPlayed,
  secondsOf,
  shown,
  testsOf,
  type Run,
  type TestResultView,
} from './test-report.ts';

/** Characters that XML 1.0 cannot contain, in any form. */
const impossible =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text between tags. Characters that XML cannot contain become U+FFFD. */
const escaped = (text: string): string =>
  text.replace(impossible, '\ufffd').replace(/[&<>"\r]/g, (one) => entities[one] ?? `&#${one.charCodeAt(0)};`);

/** The value of an attribute: a parser would turn line breaks and tabs into spaces. */
const attribute = (text: string): string => escaped(text).replace(/[\n\t]/g, (one) => `&#${one.charCodeAt(0)};`);

type Attributes = Readonly<Record<string, string | number>>;

function element(name: string, attributes: Attributes, content: string = ''): string {
  const head = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${attribute(String(value))}"`)];
  return content === '' ? `<${head.join(' ')}/>` : `<${head.join(' ')}>${content}</${name}>`;
}

const inLines = (elements: readonly string[]): string => elements.map((one) => `\n${one}`).join('') + '\n';

const seconds = (value: number): string => value.toFixed(3);

/** `assistant`: its name. */
export function junit(assistant: string, run: Run): string {
  const results = testsOf(run);
  const cases = results.map((result) => caseOf(assistant, result));
  const stopped = run.status === 'cancelled' || run.status === 'interrupted' || results.length === 0;
  if (stopped) cases.push(stoppedCase(assistant, run));
  const errors = results.filter(({ verdict }) => verdict === 'error').length;
  const failures = results.filter(({ verdict }) => verdict === 'failed' || verdict === 'flaky').length;
  const counts = {
    tests: cases.length,
    failures,
    errors: errors + (stopped ? 1 : 0),
    time: seconds((run.ended_at ?? 0) - (run.started_at ?? run.ended_at ?? 0)),
  };
  const played = run.version === 'draft' ? 'draft' : `version ${run.version}`;
  const suite = {
    name: `${assistant} (${played})`,
    ...counts,
    skipped: 0,
    timestamp: new Date((run.started_at ?? run.created_at) * 1000).toISOString().slice(0, 19),
  };
  const properties = [
    element('property', { name: 'run', value: run.id }),
    element('property', { name: 'version', value: run.version }),
    element('property', { name: 'digest', value: run.digest }),
  ];
  const inner = [element('properties', {}, inLines(properties)), ...cases];
  const suites = element(
    'testsuites',
    { name: 'parley', ...counts },
    inLines([element('testsuite', suite, inLines(inner))]),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suites}\n`;
}

function caseOf(assistant: string, result: TestResultView): string {
  const { name, verdict } = result;
  const time = secondsOf(result);
  const attributes = { name, classname: assistant, ...(time !== null && { time: seconds(time) }) };
  if (verdict === 'passed') return element('testcase', attributes);
  const kind = verdict === 'error' ? 'error' : 'failure';
  const problem = element(kind, { message: messageOf(result), type: verdict }, escaped(failureText(result)));
  return element('testcase', attributes, inLines([problem]));
}

/** The first expectation that is not met, as one line. */
function messageOf(result: TestResultView): string {
  const { repeats, verdict } = result;
  const passed = repeats.filter((one) => one.verdict === 'passed').length;
  const share = repeats.length > 1 ? `${passed} of ${repeats.length} repetitions passed; ` : '';
  const [first] = failedSteps(result);
  const [failure] = first?.failures ?? [];
  if (first === undefined || failure === undefined) return `${share}${verdict}`;
  return `${share}step ${first.step}: expected ${shown(failure[0])}, got ${shown(failure[1])}`;
}

/** A case for a run that has not played all tests: without it the file would look like a run that has passed. */
function stoppedCase(assistant: string, { status, progress }: Run): string {
  const message =
    status === 'cancelled' || status === 'interrupted'
      ? `The run was ${status} after ${progress.done} of ${progress.of} tests.`
      : `Nothing was played: ${nothingPlayed.tests}`;
  return element(
    'testcase',
    { name: 'The run ends', classname: assistant },
    inLines([element('error', { message, type: status }, escaped(message))]),
  );
}
