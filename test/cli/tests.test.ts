/** `parley tests`, against a server that answers as the contract says (contract 21). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Run } from '../../src/cli/test-report.ts';
import { missed, runId, testResult, testRun, testStep } from './played.ts';
import {
  assistantRoutes,
  begin,
  consoleAssistant,
  empty,
  fail,
  fakeServer,
  id,
  list,
  run,
  sendJson,
  workspace,
  type Route,
} from './support.ts';
import { junitProblems, parseXml } from './xml.ts';

const own = `/console/api/workspaces/${workspace.id}/assistants/${consoleAssistant.id}`;
const routes: Record<string, Route> = {
  'GET /console/api/workspaces': () => list(workspace),
  ...assistantRoutes,
  [`GET ${own}`]: () => consoleAssistant,
};
const greets = {
  id: id('tst', 'a'),
  object: 'assistant_test',
  name: 'It greets',
  visitor: {},
  metadata: { plan: 'gold' },
  steps: [{ message: 'Hello', expect: { contains: ['Hi'], no_calls: true } }],
  tool_results: { look_up: [{ status: 'completed', output: 'sent' }] },
  repeat: 1,
  from_session: null,
  created_at: 1767225600,
  updated_at: 1767225600,
};
const order = { ...greets, id: id('tst', 'b'), name: 'Order status', repeat: 3 };

const queued = testRun({ status: 'queued', started_at: null, ended_at: null, progress: { done: 0, of: 2 } });
const passed = testResult('a', 'It greets', 'passed');
const failed = testResult('b', 'Order status', 'failed');

/** A server whose run is in these states, one after the other; the last one stays. */
async function serverOf(t: Test, states: readonly Run[], more: Record<string, Route> = {}) {
  let asked = 0;
  return fakeServer(t, {
    ...routes,
    [`GET ${own}/tests`]: () => list(order, greets),
    [`POST ${own}/test-runs`]: (_, response) => sendJson(response, 202, queued),
    [`GET ${own}/test-runs/${runId}`]: () => states[Math.min(asked++, states.length - 1)],
    ...more,
  });
}

t.test('a run that has passed prints a line for each test and exits 0', async (t) => {
  const running = testRun({ status: 'running', ended_at: null, results: [passed], progress: { done: 1, of: 2 } });
  const second = testResult('b', 'Order status', 'passed', [
    ['passed', testStep()],
    ['passed', testStep()],
  ]);
  const server = await serverOf(t, [running, running, testRun({ results: [passed, second] })]);
  t.strictSame(await run(['tests', 'run', 'demo'], { env: server.env }), {
    code: 0,
    stdout: `passed  It greets (0.3 s)
passed  Order status (2 of 2 repetitions passed, 0.5 s)
The run ${runId} has passed: 2 tests; 2 passed; 12 tokens in, 5 out.
`,
    stderr: '',
  });
  t.strictSame(server.received.find(({ method }) => method === 'POST')!.body, { version: 'draft' });
});

t.test('a run that has failed prints expectations with what was got, and exits 1', async (t) => {
  const refused = testStep({
    ...missed,
    calls: [{ name: 'look_up', arguments: {}, status: 'failed', error: 'refused' }],
  });
  const results = [
    passed,
    testResult('b', 'Order status', 'flaky', [
      ['passed', testStep()],
      ['failed', refused],
    ]),
    testResult('c', 'No provider', 'error'),
  ];
  const { env } = await serverOf(t, [testRun({ status: 'failed', results })]);
  const { code, stdout } = await run(['tests', 'run', 'demo'], { env });
  t.equal(code, 1);
  t.equal(
    stdout,
    `passed  It greets (0.3 s)
flaky   Order status (1 of 2 repetitions passed, 0.5 s)
error   No provider (0.3 s)

flaky: Order status (${id('tst', 'b')})
  repetition 2, step 1: Where is order 7?
    expected  contains: on its way
    got       No idea.
    note      look_up was refused, as every call without a result in tool_results

error: No provider (${id('tst', 'c')})
  step 1: Hello
    expected  completed
    got       the model's provider failed

The run ${runId} has failed: 3 tests; 1 passed, 1 flaky, 1 error; 12 tokens in, 5 out.
`,
  );
});

t.test('tests are chosen by name or id, with a version and repetitions', async (t) => {
  const server = await serverOf(t, [testRun({ version: 3, results: [passed] })]);
  const args = ['tests', 'run', 'demo', '--version', '3', '--tests', 'It greets', order.id, '--repeat', '5', '--json'];
  const { code, stdout, stderr } = await run(args, { env: server.env });
  t.strictSame([code, JSON.parse(stdout), stderr], [0, testRun({ version: 3, results: [passed] }), '']);
  const { body } = server.received.find(({ method }) => method === 'POST')!;
  t.strictSame(body, { version: 3, test_ids: [greets.id, order.id], repeat: 5 });
  t.match(await run(['tests', 'run', 'demo', '--tests', 'Nobody'], { env: server.env }), {
    code: 1,
    stderr: /No test is called "Nobody"/,
  });
  for (const wrong of [
    ['--version', 'x'],
    ['--version', '0'],
    ['--repeat', '11'],
    ['--repeat', '0'],
  ])
    t.match(await run(['tests', 'run', 'demo', ...wrong], { env: server.env }), { code: 2 }, wrong.join(' '));
});

t.test('--junit writes the file, also in a new folder and for a run that has failed', async (t) => {
  const file = join(t.testdir(), 'reports', 'support.xml');
  const { env } = await serverOf(t, [testRun({ status: 'failed', results: [passed, failed] })]);
  t.match(await run(['tests', 'run', 'demo', '--junit', file], { env }), { code: 1 });
  const root = parseXml(await readFile(file, 'utf8'));
  t.strictSame(junitProblems(root), []);
  t.match(root.children[0]!.attributes, { name: 'demo (draft)', tests: '2', failures: '1' });
  const taken = join(t.testdir({ file: '' }), 'file', 'a.xml');
  const server = await serverOf(t, [queued]);
  t.match(await run(['tests', 'run', 'demo', '--junit', taken], { env: server.env }), {
    code: 1,
    stderr: /a\.xml cannot be written \((ENOTDIR|EEXIST)\)/,
  });
  t.notOk(
    server.received.some(({ method }) => method === 'POST'),
    'no run is started for it',
  );
});

t.test('Ctrl-C cancels the run, and the exit code is 1', async (t) => {
  const cancelled = testRun({ status: 'cancelled', results: [passed], progress: { done: 1, of: 2 } });
  const running = testRun({ status: 'running', ended_at: null, results: [passed], progress: { done: 1, of: 2 } });
  const server = await serverOf(t, [running], { [`DELETE ${own}/test-runs/${runId}`]: () => cancelled });
  const command = begin(t, ['tests', 'run', 'demo'], { env: server.env });
  await command.printed('passed  It greets');
  command.kill('SIGINT');
  const { code, stdout } = await command.finished;
  t.equal(code, 1);
  t.match(stdout, `The run ${runId} was cancelled: 1 of 2 tests; 1 passed;`);
  t.equal(server.lines().filter((line) => line.startsWith('DELETE')).length, 1);
});

t.test('a run that is interrupted exits 1 and says what to do', async (t) => {
  const { env } = await serverOf(t, [testRun({ status: 'interrupted', progress: { done: 0, of: 2 } })]);
  const { code, stdout } = await run(['tests', 'run', 'demo'], { env });
  t.equal(code, 1);
  t.match(stdout, 'was interrupted (run it again): 0 of 2 tests;');
});

t.test('a server that restarts is asked again, and a failure that stays ends the command', async (t) => {
  let asked = 0;
  const server = await serverOf(t, [], {
    [`GET ${own}/test-runs/${runId}`]: (_, response) => {
      if (++asked === 1) return fail(response, 503, 'service_unavailable', 'service_unavailable', 'Later.');
      if (asked === 2) return void response.destroy();
      return testRun({ results: [passed] });
    },
  });
  t.match(await run(['tests', 'run', 'demo'], { env: server.env }), { code: 0 });
  const gone = await serverOf(t, [], {
    [`GET ${own}/test-runs/${runId}`]: (_, response) => fail(response, 404, 'not_found', 'route_not_found', 'No.'),
  });
  t.match(await run(['tests', 'run', 'demo'], { env: gone.env }), {
    code: 1,
    stderr: new RegExp(`parley tests show demo ${runId}\n.*There is no run ${runId}`),
  });
});

t.test('a run without tests, or one too many, says what to do', async (t) => {
  const invalid: Route = (_, response) =>
    fail(response, 422, 'invalid_request', 'invalid_field', 'The field `tests` is invalid.');
  const none = await serverOf(t, [], { [`POST ${own}/test-runs`]: invalid });
  t.match(await run(['tests', 'run', 'demo'], { env: none.env }), {
    code: 1,
    stderr: /has no tests\. Make one of a session: parley tests create/,
  });
  const full = await serverOf(t, [], {
    [`POST ${own}/test-runs`]: (_, response) =>
      fail(response, 429, 'rate_limit_error', 'rate_limited', 'Slow down.', { 'retry-after': '10' }),
  });
  t.match(await run(['tests', 'run', 'demo'], { env: full.env }), {
    code: 1,
    stderr: /Cancel one, or try again later/,
  });
});

t.test('a replay prints the conversations that differ most first, and exits 0 whatever they differ in', async (t) => {
  const replayed = (letter: string, reply: string, fields: object = {}) => ({
    session_id: id('ses', letter),
    messages: [
      { message: 'Hello', stored: 'Hi', reply: 'Hi' },
      { message: 'Where is it?', stored: 'On its way.', reply },
    ],
    calls: 'same' as const,
    ended: 'same' as const,
    failed: false,
    characters: { stored: 13, reply: 2 + reply.length },
    ...fields,
  });
  const results = [
    replayed('a', 'On its way.'),
    replayed('b', 'It comes.'),
    replayed('c', 'Who knows?', { calls: 'different' }),
    replayed('d', '', { ended: 'different', failed: true }),
  ];
  const counts = { calls_different: 1, ended_different: 0 };
  const server = await serverOf(t, [testRun({ replay: true, version: 2, counts, results: results })]);
  const { code, stdout } = await run(['tests', 'replay', 'demo', '--sessions', '3', '--version', '2'], {
    env: server.env,
  });
  t.equal(code, 0);
  t.equal(
    stdout,
    `${id('ses', 'd')}: calls same, ended different, 13 -> 2 characters, the model's provider failed
  2. Where is it?
    then  On its way.
    now   (nothing)

${id('ses', 'c')}: calls different, ended same, 13 -> 12 characters
  2. Where is it?
    then  On its way.
    now   Who knows?

${id('ses', 'b')}: calls same, ended same, 13 -> 11 characters
  2. Where is it?
    then  On its way.
    now   It comes.

1 conversation without a difference.

The replay ${runId} has passed: 4 conversations; 1 with other calls, 0 with another end; 12 tokens in, 5 out.
`,
  );
  const posts = () => server.received.filter(({ method }) => method === 'POST');
  t.strictSame(posts()[0]!.body, { version: 2, replay: { sessions: 3 } });
  await run(['tests', 'replay', 'demo'], { env: server.env });
  t.strictSame(posts()[1]!.body, { version: 'draft', replay: { sessions: 50 } });
  const none = await serverOf(t, [testRun({ replay: true, counts: { calls_different: 0, ended_different: 0 } })]);
  t.match(
    (await run(['tests', 'replay', 'demo'], { env: none.env })).stdout,
    /^No conversations: a replay takes those/,
  );
  const gone = await serverOf(t, [testRun({ status: 'failed', progress: { done: 2, of: 2 }, results: [] })]);
  t.match(await run(['tests', 'run', 'demo'], { env: gone.env }), {
    code: 1,
    stdout: /Nothing was played: all its tests were deleted before\./,
  });
  t.match(await run(['tests', 'replay', 'demo', '--sessions', '201'], { env: server.env }), { code: 2 });
});

const cells = (line: string): string => line.replace(/ {2,}/g, '|');

t.test('tests and runs are listed and shown', async (t) => {
  const results = [passed, failed];
  const { results: _, ...bare } = testRun({ status: 'failed', results });
  const server = await serverOf(t, [testRun({ status: 'failed', results })], {
    [`GET ${own}/test-runs`]: () => list(bare),
    [`GET ${own}/tests/${greets.id}`]: () => greets,
  });
  const said = async (...args: string[]) => (await run(['tests', ...args], { env: server.env })).stdout;
  t.strictSame((await said('list', 'demo')).split('\n').map(cells), [
    'ID|NAME|STEPS|REPEAT|UPDATED',
    `${order.id}|Order status|1|3|2026-01-01 00:00:00Z`,
    `${greets.id}|It greets|1|1|2026-01-01 00:00:00Z`,
    '',
  ]);
  t.strictSame((await said('runs', 'demo')).split('\n').map(cells), [
    'ID|KIND|ON|STATUS|DONE|CREATED',
    `${runId}|tests|the draft|failed|2 of 2|2026-01-01 00:00:00Z`,
    '',
  ]);
  const shown = await said('show', 'demo', 'It greets');
  t.match(shown, /^metadata +plan: gold$/m);
  t.match(shown, '1. Hello\n   contains: ["Hi"]\n   no_calls: true\n\nlook_up returns: completed sent\n');
  t.match(await said('show', 'demo', runId), /^passed  It greets[^]*failed: Order status[^]*has failed: 2 tests/);
  const none = await serverOf(t, [], { [`GET ${own}/tests`]: () => list(), [`GET ${own}/test-runs`]: () => list() });
  t.equal((await run(['tests', 'list', 'demo'], { env: none.env })).stdout, 'No tests.\n');
  t.equal((await run(['tests', 'runs', 'demo'], { env: none.env })).stdout, 'No runs.\n');
});

t.test('a test is made of a session or of messages, and deleted; a run is cancelled', async (t) => {
  const server = await serverOf(t, [], {
    [`POST ${own}/tests`]: () => greets,
    [`DELETE ${own}/tests/${greets.id}`]: (_, response) => empty(response),
    [`DELETE ${own}/test-runs/${runId}`]: () => testRun({ status: 'cancelled', progress: { done: 0, of: 2 } }),
  });
  const said = (...args: string[]) => run(['tests', ...args], { env: server.env });
  const created = `Created the test "It greets" (${greets.id}) with 1 step.\n`;
  t.match(await said('create', 'demo', '--from-session', 'ses_1'), { code: 0, stdout: created });
  t.strictSame(server.received.at(-1)!.body, { from_session: 'ses_1' });
  await said('create', 'demo', '--name', 'N', '--message', 'A', '--message', 'B', '--contains', 'x');
  t.strictSame(server.received.at(-1)!.body, {
    name: 'N',
    steps: [{ message: 'A' }, { message: 'B', expect: { contains: ['x'] } }],
  });
  for (const wrong of [
    [],
    ['--from-session', 'ses_1', '--message', 'A'],
    ['--from-session', 'ses_1', '--contains', 'x'],
    ['--message', 'A'],
  ])
    t.match(await said('create', 'demo', ...wrong), { code: 2 }, wrong.join(' '));
  t.match(await said('delete', 'demo', 'It greets'), { code: 0, stdout: 'Deleted the test It greets.\n' });
  t.match(await said('cancel', 'demo', runId), { code: 0, stdout: /was cancelled: 0 of 2 tests/ });
});

t.test('a publish or a rollout that needs tests names those that have not passed, and the command', async (t) => {
  const refusal: Route = (_, response) =>
    fail(response, 409, 'conflict', 'tests_not_passed', 'The draft has not passed.');
  const assistant = { ...consoleAssistant, draft: { digest: 'a'.repeat(27), changed: true } };
  const refusing = (tests: object[], runs: Run[]) =>
    fakeServer(t, {
      ...routes,
      [`GET ${own}`]: () => assistant,
      [`POST ${own}/publish`]: refusal,
      [`POST ${own}/rollout`]: refusal,
      [`GET ${own}/tests`]: () => list(...tests),
      [`GET ${own}/test-runs`]: () => list(...runs),
      [`GET ${own}/test-runs/${runId}`]: () => runs.find((one) => one.id === runId),
    });
  const publish = ['assistants', 'publish', 'demo'];
  const rollout = ['assistants', 'rollout', 'demo', '--version', 'draft', '--percent', '10'];
  const half = await refusing(
    [greets, order],
    [
      testRun({ id: id('run', 'b'), replay: true, progress: { done: 2, of: 2 } }),
      testRun({ status: 'failed', results: [passed, failed] }),
    ],
  );
  for (const args of [publish, rollout])
    t.match(await run(args, { env: half.env }), {
      code: 1,
      stderr: `parley: The draft of "demo" has not passed its tests: "Order status" (failed). Run them: parley tests run demo (tests_not_passed, request req_test)\n`,
    });
  const other = testRun({ digest: 'b'.repeat(27), results: [passed, failed] });
  const unplayed = await refusing([greets, order], [other]);
  t.match((await run(publish, { env: unplayed.env })).stderr, '"It greets" (not run), "Order status" (not run). Run');
  const changed = await refusing([greets], [testRun({ results: [passed] })]);
  t.match((await run(publish, { env: changed.env })).stderr, '"It greets" (changed since). Run');
  const none = await refusing([], []);
  t.match((await run(publish, { env: none.env })).stderr, /"demo" requires tests and has none\. Make one/);
  const json = await run([...publish, '--json'], { env: none.env });
  t.match(JSON.parse(json.stderr), { error: { code: 'tests_not_passed', message: 'The draft has not passed.' } });
});

t.test('an assistant requires tests, or does not', async (t) => {
  const server = await fakeServer(t, {
    ...routes,
    [`PATCH ${own}`]: ({ body }) => ({ ...consoleAssistant, ...(body as object) }),
    [`GET ${own}`]: () => ({ ...consoleAssistant, require_tests: true }),
  });
  for (const [flag, require_tests] of [
    ['--require-tests', true],
    ['--no-require-tests', false],
  ] as const) {
    t.match(await run(['assistants', 'update', 'demo', flag], { env: server.env }), { code: 0 });
    t.strictSame(server.received.at(-1)!.body, { require_tests });
  }
  const shown = await run(['assistants', 'show', 'demo'], { env: server.env });
  t.match(shown.stdout, /^tests +required before a draft is published$/m);
});
