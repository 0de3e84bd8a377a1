/** Runs of tests and replays (contract 21): verdicts, tools that are never called, the queue, and what a run leaves. */
import t, { type Test } from 'tap';
import { countingTool, type CountingTool } from './counting-tool.ts';
import { edge, openHouse, type House } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { answered, assistantPath, onProvider, operate, say, synthetic, until } from './talk.ts';

/** Turns of the test that counts calls of a tool; `PARLEY_TEST_TURNS=1000` is the full size. */
const turns = Number(process.env['PARLEY_TEST_TURNS'] ?? 60);

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_STORE: 'lmdb:./data' } });
  await t.test('a run plays tests and says which expectation is not met', (t) => verdicts(t, house));
  await t.test('a repeated test is flaky where some repetitions pass', (t) => flaky(t, house));
  await t.test("the assistant's own model judges a reply by a criterion", (t) => judged(t, house));
  await t.test('a failed provider is an error', (t) => failing(t, house));
  await t.test(`${turns} turns of tests call no tool, and count nothing`, (t) => uncalled(t, house));
  await t.test('sessions of a run are in no list that does not ask for them', (t) => listed(t, house));
  await t.test('ten runs wait, the next is refused, and a cancelled one ends', (t) => queued(t, house));
  await t.test('a run plays the settings as they were when it was made', (t) => frozen(t, house));
  await t.test('a draft is published only once its tests have passed, where they are required', (t) =>
    required(t, house),
  );
  await t.test('a run has not passed if nothing was played', (t) => unplayed(t, house));
  await t.test('a replay compares stored conversations with a version', (t) => replayed(t, house));
});

export const runsPath = (house: House, assistantId: string): string => assistantPath(house, assistantId, '/test-runs');

const make = (house: House, assistantId: string, test: object): Promise<any> =>
  operate(house, 'POST', assistantPath(house, assistantId, '/tests'), { name: 'T', ...test });

/** Runs tests to their end. */
async function played(house: House, assistantId: string, body: object = {}): Promise<any> {
  const path = runsPath(house, assistantId);
  const answer = await house.console(path, { body: { version: 'draft', ...body } });
  if (answer.status !== 202) throw new Error(answer.text);
  return ended(house, `${path}/${answer.json.id}`);
}

const ended = (house: House, path: string): Promise<any> =>
  until(async () => {
    const run = (await house.console(path)).json;
    return ['queued', 'running'].includes(run.status) ? null : run;
  });

const step = (message: string, expect: object = {}) => ({ message, expect });

async function verdicts(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2');
  await make(house, id, {
    name: 'Passes',
    steps: [step('Hi', { contains: ['WORD'], no_calls: true, stop_reason: 'end' })],
  });
  await make(house, id, {
    name: 'Fails',
    steps: [step('Hi', { contains: ['hello'], not_contains: ['word'], calls: [{ name: 'a' }], characters_max: 3 })],
  });
  const run = await played(house, id);
  t.match(run, { object: 'test_run', version: 'draft', status: 'failed', progress: { done: 2, of: 2 }, counts: null });
  t.match(run.digest, /^[\w-]{27}$/);
  t.ok(run.usage.output_tokens > 0 && run.started_at <= run.ended_at);
  const [passes, fails] = run.results;
  t.match(passes, { name: 'Passes', verdict: 'passed', repeats: [{ verdict: 'passed' }] });
  t.ok(passes.repeats[0].seconds >= 0 && passes.repeats[0].seconds < 60, 'the time of a repetition');
  t.match(passes.repeats[0].steps, [
    { message: 'Hi', reply: 'word word', stop_reason: 'end', calls: [], failures: [] },
  ]);
  t.match(fails, { name: 'Fails', verdict: 'failed' });
  t.same(
    fails.repeats[0].steps[0].failures.map(({ expect }: any) => expect),
    ['contains: hello', 'not_contains: word', 'calls: {"name":"a"}', 'characters_max: 3'],
  );
  const one = await played(house, id, { test_ids: [passes.test_id] });
  t.match(one, { status: 'passed', results: [{ name: 'Passes' }] });
  isRefused(
    t,
    await house.console(runsPath(house, id), { body: { version: 'draft', test_ids: ['tst_none'] } }),
    unrated(refusals.noRoute),
    'an unknown test',
  );
  isRefused(
    t,
    await house.console(runsPath(house, id), { body: { version: 9 } }),
    unrated(refusals.noVersion),
    'an unknown version',
  );
  const bare = await synthetic(house, 'tokens=2');
  isRefused(
    t,
    await house.console(runsPath(house, bare.id), { body: { version: 'draft' } }),
    unrated(wrongField('tests')),
    'an assistant without tests',
  );
  t.same(
    (await operate(house, 'GET', runsPath(house, id))).data.map(({ status }: any) => status),
    ['passed', 'failed'],
  );
}

async function flaky(t: Test, house: House): Promise<void> {
  let asked = 0;
  const { assistant } = await onProvider(t, house, (response) => answered(response, [`Reply ${asked++ % 3}`]));
  await make(house, assistant.id, { steps: [step('Hi', { contains: ['reply 0'] })] });
  const run = await played(house, assistant.id, { repeat: 3 });
  t.match(run, { status: 'failed', progress: { done: 1, of: 1 }, results: [{ verdict: 'flaky' }] });
  t.same(run.results[0].repeats.map(({ verdict }: any) => verdict).sort(), ['failed', 'failed', 'passed']);
  const steady = await synthetic(house, 'tokens=2');
  await make(house, steady.id, { repeat: 2, steps: [step('Hi', { contains: ['word'] })] });
  t.match(await played(house, steady.id), { status: 'passed', results: [{ verdict: 'passed', repeats: [{}, {}] }] });
  await make(house, steady.id, { name: 'Never', repeat: 2, steps: [step('Hi', { contains: ['none'] })] });
  t.match(await played(house, steady.id), { status: 'failed', results: [{}, { name: 'Never', verdict: 'failed' }] });
}

async function judged(t: Test, house: House): Promise<void> {
  const judgements: string[] = [];
  const counts = { prompt_tokens: 10, completion_tokens: 2 };
  const { assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      const [first, last] = [body.messages[0], body.messages.at(-1)];
      if (!first.content.startsWith('You judge')) return answered(response, ['Good morning.'], counts);
      judgements.push(last.content);
      answered(response, [last.content.includes('polite') ? 'Yes, it is.' : 'No.'], counts);
    },
    { model: { system_prompt: 'You are a shop.' } },
  );
  const polite = await make(house, assistant.id, { name: 'Polite', steps: [step('Hi', { judge: 'It is polite.' })] });
  await make(house, assistant.id, { name: 'Rude', steps: [step('Hi', { judge: 'It is rude.' }), step('Bye')] });
  const run = await played(house, assistant.id);
  t.match(run.results, [
    { verdict: 'passed', repeats: [{ steps: [{ judged: true, failures: [] }] }] },
    {
      verdict: 'failed',
      repeats: [
        { steps: [{ judged: true, failures: [{ expect: 'judge: It is rude.', saw: 'No.' }] }, { judged: false }] },
      ],
    },
  ]);
  t.match(
    judgements.sort()[0],
    /It is polite\.[^]*Hi[^]*Good morning\./,
    'the judge reads criterion, message and reply',
  );
  t.equal(judgements.length, 2);
  const { usage } = await played(house, assistant.id, { test_ids: [polite.id] });
  t.match(usage, { input_tokens: 20, output_tokens: 4 }, 'a judgement counts in the usage of the run');
}

async function failing(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,fail_at=0');
  await make(house, id, { steps: [step('Hi'), step('Again')] });
  const run = await played(house, id);
  t.match(run, { status: 'failed', results: [{ verdict: 'error', repeats: [{ verdict: 'error' }] }] });
  t.equal(run.results[0].repeats[0].steps.length, 1, 'the conversation ends');
}

const withTool = async (t: Test, house: House, fields: object = {}): Promise<{ id: string; tool: CountingTool }> => {
  const tool = await countingTool(t, house, {
    functions: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }],
    ...fields,
  });
  const { id } = await house.assistant({
    model: { provider: 'synthetic', name: 'tokens=2,call=look_up' },
    tool_ids: [tool.id],
  });
  return { id, tool };
};

async function uncalled(t: Test, house: House): Promise<void> {
  const { id, tool } = await withTool(t, house, { approval: 'always' });
  const usage = () => operate(house, 'GET', `/workspaces/${house.workspaceId}/usage`).then(({ totals }) => totals);
  const before = await usage();
  const steps = Array.from({ length: 20 }, () => step('Hi', { calls: [{ name: 'look_up' }] }));
  await make(house, id, { steps, tool_results: { look_up: [{ output: 'one' }, { output: 'two' }] } });
  await make(house, id, { name: 'Refused', steps: [step('Hi')] });
  let seen = 0;
  for (let left = Math.ceil(turns / 20); left > 0; left -= 10) {
    const run = await played(house, id, { repeat: Math.min(10, left) });
    t.equal(run.status, 'passed');
    const [scripted, refused] = run.results;
    seen += scripted.repeats.length * 20;
    t.match(scripted.repeats[0].steps[0].calls, [{ name: 'look_up', arguments: {}, status: 'completed', error: null }]);
    t.match(refused.repeats[0].steps[0].calls, [{ name: 'look_up', status: 'failed', error: 'refused' }]);
  }
  t.ok(seen >= turns, `${seen} turns`);
  t.equal(tool.reached.length, 0, 'no request has reached the tool');
  t.same(await usage(), before, 'no usage is counted');
}

async function listed(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2');
  await make(house, id, { visitor: { plan: 'gold' }, metadata: { ref: '7' }, steps: [step('Hi')] });
  await played(house, id);
  const path = `/workspaces/${house.workspaceId}/sessions`;
  const own = (list: any): any[] => list.data.filter(({ assistant_id }: any) => assistant_id === id);
  t.same(own(await operate(house, 'GET', path)), []);
  t.same(own((await house.ask('/sessions')).json), []);
  const [session] = own(await operate(house, 'GET', `${path}?channel=test`));
  t.match(session, { channel: 'test', status: 'ended', visitor: { plan: 'gold' }, metadata: { ref: '7' } });
  isRefused(t, await house.ask(`/sessions/${session.id}`), refusals.noSession, 'by a key');
  const transcript = await operate(house, 'GET', `${path}/${session.id}/transcript`);
  t.same(
    transcript.data.map(({ content }: any) => content),
    ['Hi', 'word word '],
  );
}

async function queued(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,hang_at=1');
  await make(house, id, { steps: [step('Hi')] });
  const path = runsPath(house, id);
  const create = () => house.console(path, { body: { version: 'draft' } });
  const first = await create();
  t.match([first.status, first.json.status], [202, 'queued']);
  await until(async () => (await house.console(`${path}/${first.json.id}`)).json.status === 'running');
  const others = [];
  for (let index = 0; index < 10; index++) others.push(await create());
  t.ok(others.every(({ status }) => status === 202));
  const refused = await create();
  t.match([refused.status, refused.json.error.code], [429, 'rate_limited']);
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  for (const { json } of [...others, first]) {
    const cancelled = await house.console(`${path}/${json.id}`, { method: 'DELETE' });
    t.match([cancelled.status, cancelled.json.status], [200, 'cancelled']);
  }
  t.match((await house.console(`${path}/${first.json.id}`, { method: 'DELETE' })).json, { status: 'cancelled' });
  await operate(house, 'PATCH', assistantPath(house, id), { model: { provider: 'synthetic', name: 'tokens=1' } });
  t.equal((await played(house, id)).status, 'passed', 'the queue continues');
  const several = [];
  for (let index = 0; index < 5; index++) several.push((await create()).json.id);
  const runs = await Promise.all(several.map((one) => ended(house, `${path}/${one}`)));
  t.ok(
    runs[4].started_at - runs[0].started_at < 9,
    'a run begins when the one before it has ended, not at the next look',
  );
}

async function frozen(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=1,text=old,first_ms=300');
  await make(house, id, { steps: [step('Hi', { contains: ['old'] }), step('Hi', { contains: ['old'] })] });
  const path = runsPath(house, id);
  const { json } = await house.console(path, { body: { version: 'draft' } });
  await operate(house, 'PATCH', assistantPath(house, id), {
    model: { provider: 'synthetic', name: 'tokens=1,text=new' },
  });
  t.equal((await ended(house, `${path}/${json.id}`)).status, 'passed');
  t.match(await played(house, id, { version: 1 }), { version: 1, status: 'passed' });
  t.match(await played(house, id), { version: 'draft', status: 'failed' });
}

async function unplayed(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,hang_at=1');
  const path = runsPath(house, id);
  const none = await house.console(path, { body: { version: 'draft', replay: { sessions: 5 } } });
  isRefused(t, none, unrated(wrongField('replay.sessions')), 'a replay without a conversation');
  const test = await make(house, id, { steps: [step('Hi')] });
  const create = async () => (await house.console(path, { body: { version: 'draft' } })).json;
  const [first, second] = [await create(), await create()];
  await until(async () => (await house.console(`${path}/${first.id}`)).json.status === 'running');
  await house.console(assistantPath(house, id, `/tests/${test.id}`), { method: 'DELETE' });
  await house.console(`${path}/${first.id}`, { method: 'DELETE' });
  t.match(await ended(house, `${path}/${second.id}`), { status: 'failed', results: [], progress: { of: 1 } });
}

async function replayed(t: Test, house: House): Promise<void> {
  const { id, tool } = await withTool(t, house);
  for (let index = 0; index < 2; index++) {
    const session = await house.session(id);
    await (await say(house, session.id, 'Where is it?')).rest();
    await house.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  }
  const before = tool.reached.length;
  const same = await played(house, id, { replay: { sessions: 50 } });
  t.match(same, {
    status: 'passed',
    replay: true,
    progress: { done: 2, of: 2 },
    counts: { calls_different: 0, ended_different: 0 },
  });
  t.match(same.results[0], {
    messages: [{ message: 'Where is it?', stored: 'word word', reply: 'word word' }],
    calls: 'same',
    ended: 'same',
    failed: false,
    characters: { stored: 10, reply: 10 },
  });
  await operate(house, 'PATCH', assistantPath(house, id), {
    model: { provider: 'synthetic', name: 'tokens=1,text=worse' },
  });
  const worse = await played(house, id, { replay: { sessions: 1 } });
  t.match(worse, { status: 'passed', counts: { calls_different: 1, ended_different: 0 } });
  t.match(worse.results, [{ messages: [{ stored: 'word word', reply: 'worse' }], calls: 'different' }]);
  const attended = await house.session(id);
  const desk = `/workspaces/${house.workspaceId}/sessions/${attended.id}`;
  await operate(house, 'POST', `${desk}/take`);
  await (await say(house, attended.id, 'To a person')).rest();
  await operate(house, 'POST', `${desk}/return`);
  await house.ask(`/sessions/${attended.id}/end`, { method: 'POST' });
  t.match(
    (await played(house, id, { replay: { sessions: 1 } })).results,
    [{ session_id: attended.id, messages: [{ message: 'To a person', stored: '', reply: 'worse' }], ended: 'same' }],
    'a message that a person got has no end to compare',
  );
  await operate(house, 'PATCH', assistantPath(house, id), {
    model: { provider: 'synthetic', name: 'tokens=1,fail_at=0' },
  });
  const failed = await played(house, id, { replay: { sessions: 2 } });
  t.match(failed, { status: 'failed', results: [{}, { ended: 'different', failed: true, messages: [{ reply: '' }] }] });
  t.equal(tool.reached.length, before, 'no request has reached the tool');
  const brief = await synthetic(house, 'tokens=1', { max_call_seconds: 1 });
  const { id: expired } = await house.session(brief.id);
  await until(async () => (await house.ask(`/sessions/${expired}`)).json.status === 'expired');
  const one = await played(house, brief.id, { replay: { sessions: 5 } });
  t.match(one.results, [{ session_id: expired }], 'a session that has expired is replayed too');
}

async function required(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=1');
  const path = assistantPath(house, id);
  const test = await make(house, id, { steps: [step('Hi', { contains: ['word'] })] });
  const changed = await operate(house, 'PATCH', path, { greeting: 'Changed', require_tests: true });
  t.match(changed, { require_tests: true, draft: { changed: true } });
  const publish = () => house.console(`${path}/publish`, { body: {} });
  isRefused(t, await publish(), unrated(refusals.testsNotPassed), 'without a run');
  const rollout = await house.console(`${path}/rollout`, { body: { version: 'draft', percent: 10 } });
  isRefused(t, rollout, unrated(refusals.testsNotPassed), 'a rollout of the draft');
  await played(house, id);
  await operate(house, 'PATCH', `${path}/tests/${test.id}`, { repeat: 2 });
  isRefused(t, await publish(), unrated(refusals.testsNotPassed), 'a test has changed since');
  await played(house, id);
  await make(house, id, { steps: [step('Hi')] });
  isRefused(t, await publish(), unrated(refusals.testsNotPassed), 'a test is new');
  await played(house, id);
  t.match((await publish()).json, { version: 2 });
  t.match(await operate(house, 'POST', `${path}/rollback`, {}), { version: 1 });
  const fresh = await operate(house, 'POST', `/workspaces/${house.workspaceId}/assistants`, {
    name: 'Never published',
    require_tests: true,
  });
  const enabled = await house.console(assistantPath(house, fresh.id, '/enable'), { method: 'POST' });
  isRefused(t, enabled, unrated(refusals.testsNotPassed), 'enable, which would publish the draft');
  t.match(await operate(house, 'GET', assistantPath(house, fresh.id)), { status: 'draft', version: null });
  await operate(house, 'POST', `${path}/disable`);
  await operate(house, 'PATCH', path, { greeting: 'Not tested' });
  t.match(await operate(house, 'POST', `${path}/enable`), { status: 'published', version: 1 }, 'a version is there');
}
