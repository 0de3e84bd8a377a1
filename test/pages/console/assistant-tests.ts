/** Tests of assistants in the console: written, made of a conversation, run and replayed; a draft that needs them. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { countingTool } from '../../api/counting-tool.ts';
import { answered, assistantPath, end, onProvider, operate, say, synthetic } from '../../api/talk.ts';
import { overflow } from '../../browser.ts';
import { signedIn } from './people.ts';
import { withConversations } from './replays.ts';
import { findings, settled, turnTo, within, type Console } from './console.ts';

export async function theTests(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a test is written in fields, and a refusal is said at its field', written);
  await within(t, console, 'a run shows what failed first, with what was expected and said', failuresShown);
  await within(t, console, 'a conversation becomes a test with one click', madeOfConversation);
  await within(t, console, 'a run shows its progress and is cancelled', cancelled);
  await within(t, console, 'a replay shows both replies side by side, the differences first', replayed);
  await within(t, console, 'fifty conversations are replayed with a worse prompt', fiftyReplayed);
  await within(t, console, 'a test that passes in some repetitions only is flaky', flaky);
  await within(
    t,
    console,
    'the bar tests the draft, and a draft that needs tests is published once they pass',
    released,
  );
  await t.test('a viewer reads tests and runs, and changes nothing', (t) => viewed(t, console));
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const row = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });
const bar = (page: Page) => page.getByRole('region', { name: 'Release' });

const without = (complaints: string[], status: number): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes(`status of ${status}`)));

async function written(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2', {
    visitor_fields: [{ name: 'plan', type: 'text', required: false, label: 'Your plan' }],
  });
  await page.goto(url(house.workspaceId, 'assistants', id));
  await bar(page).getByRole('link', { name: 'Tests' }).click();
  await page.getByRole('heading', { name: 'No tests yet' }).waitFor();
  t.same(await findings(page), []);
  await link(page, 'New test').click();
  await page.getByLabel('Name', { exact: true }).first().fill('Order status');
  await page.getByLabel('The visitor writes', { exact: true }).fill('Where is order 7?');
  const first = page.getByRole('group', { name: 'Expectations of message 1' });
  await first.getByText('Expected: the turn completes.').waitFor();
  const add = button(page, 'Add an expectation');
  await add.click();
  await first.getByLabel('Text').fill('word');
  await add.click();
  await first.getByLabel('Expected').nth(1).selectOption('calls');
  await first.getByLabel('Function').fill('look_up');
  await first.getByRole('button', { name: 'Add an argument' }).click();
  await first.getByLabel('Argument', { exact: true }).fill('order');
  await first.getByLabel('Value').fill('7');
  await add.click();
  await first.getByLabel('Expected').nth(2).selectOption('characters_max');
  await first.getByLabel('Characters').fill('40');
  await button(page, 'Add a message').click();
  await page.getByLabel('Then the visitor writes').fill('Thanks');
  await button(page, 'Add a result').click();
  const results = page.getByRole('group', { name: 'Results of functions' });
  await results.getByLabel('Function').fill('look_up');
  await results.getByLabel('Output, as the tool returns it').fill('{"state":"sent"}');
  await page.getByLabel('Your plan').fill('7');
  t.same(await findings(page), []);
  await first.getByLabel('Text').fill('w'.repeat(1001));
  await button(page, 'Create test').click();
  await first.locator('textarea[aria-invalid="true"]').waitFor();
  t.match(await page.locator('small.fault').textContent(), /`steps\.0\.expect\.contains\.0`/);
  without(complaints, 422);
  await first.getByLabel('Text').fill('word');
  await button(page, 'Create test').click();
  await page.getByRole('heading', { name: 'Order status' }).waitFor();
  const path = assistantPath(house, id, '/tests');
  const stored = async () => (await operate(house, 'GET', path)).data[0];
  t.match(await stored(), {
    name: 'Order status',
    visitor: { plan: '7' },
    steps: [
      {
        message: 'Where is order 7?',
        expect: { contains: ['word'], calls: [{ name: 'look_up', arguments: { order: 7 } }], characters_max: 40 },
      },
      { message: 'Thanks', expect: {} },
    ],
    tool_results: { look_up: [{ status: 'completed', output: '{"state":"sent"}' }] },
    repeat: 1,
  });
  await page.getByRole('button', { name: 'Move up message 2' }).click();
  await page.getByLabel('Repetitions').fill('2');
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { repeat: 2, steps: [{ message: 'Thanks', expect: {} }, { message: 'Where is order 7?' }] });
  await button(page, 'Delete').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete test' }).click();
  await page.getByRole('heading', { name: 'No tests yet' }).waitFor();
}

const step = (message: string, expect: object = {}) => ({ message, expect });

async function failuresShown(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,text=hello');
  const path = assistantPath(house, id, '/tests');
  await operate(house, 'POST', path, { name: 'Greets', steps: [step('Hi', { contains: ['HELLO'] })] });
  await operate(house, 'POST', path, {
    name: 'Refunds',
    repeat: 2,
    steps: [step('I want my money back', { contains: ['refund'], calls: [{ name: 'refund' }], characters_max: 3 })],
  });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'tests'));
  await row(page, 'Tests', 'Greets').getByText('not run').waitFor();
  await button(page, 'Run all tests').click();
  t.same(await findings(page, 'not contrast'), []);
  await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('.head .pill', { hasText: 'failed' }).waitFor();
  await page.getByRole('status').getByText('1 failed, 1 passed.').waitFor();
  const results = page.locator('.result');
  t.same(await results.locator('> summary > strong').allTextContents(), ['Refunds', 'Greets'], 'failures first');
  const failed = results.first();
  await failed.getByText('0 of 2 repetitions passed').waitFor();
  const unmet = failed.getByRole('list', { name: 'Expectations that are not met' }).first();
  t.same(
    (await unmet.getByRole('listitem').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ')),
    [
      'Expected: The reply contains “refund”',
      'Expected: A call of refundNo function was called.',
      'Expected: The reply has at most 3 charactersIt has 12.',
    ],
  );
  await failed.getByText('hello hello').first().waitFor();
  t.notOk(await results.nth(1).evaluate((one) => one.hasAttribute('open')), 'what passed is folded');
  t.same(await findings(page), []);
  await page.locator('.head .above').click();
  await row(page, 'Tests', 'Greets').getByText('passed').waitFor();
  await row(page, 'Tests', 'Refunds').getByText('failed').waitFor();
  await row(page, 'Tests', 'Refunds').getByRole('link', { name: 'this draft' }).waitFor();
  await row(page, 'Runs', '2 tests').getByText('failed').waitFor();
  t.same(await findings(page), []);
}

async function madeOfConversation(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const tool = await countingTool(t, house, {
    functions: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }],
  });
  const { id } = await synthetic(house, 'tokens=2,call=look_up', { tool_ids: [tool.id] });
  const session = await house.session(id);
  await turnTo(page, { url }, url(house.workspaceId, 'sessions', session.id));
  await button(page, 'Make a test of this conversation').click();
  await page.getByText('A test needs a message of a visitor').waitFor();
  without(complaints, 422);
  await (await say(house, session.id, 'Where is it?')).rest();
  await page.getByRole('region', { name: 'Transcript' }).getByText('Where is it?').waitFor();
  await button(page, 'Make a test of this conversation').click();
  await page.getByRole('heading', { name: 'Where is it?' }).waitFor();
  t.equal(await page.getByLabel('The visitor writes', { exact: true }).inputValue(), 'Where is it?');
  t.equal(
    await page.getByRole('group', { name: 'Expectations of message 1' }).getByLabel('Function').inputValue(),
    'look_up',
  );
  await link(page, 'a conversation').waitFor();
  const reached = tool.reached.length;
  await button(page, 'Run on the draft').click();
  await page.locator('.head .pill', { hasText: 'passed' }).waitFor();
  await page.getByText('All 1 test passed.').waitFor();
  t.equal(tool.reached.length, reached, 'no tool was called');
}

async function cancelled(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,hang_at=1');
  const path = assistantPath(house, id, '/tests');
  for (const name of ['One', 'Two', 'Three']) await operate(house, 'POST', path, { name, steps: [step('Hi')] });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'tests'));
  await button(page, 'Run all tests').click();
  await page.getByRole('dialog').getByLabel('Repetitions of each test').fill('2');
  await page.keyboard.press('Enter');
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
  await page.getByText('0 of 3 done.').waitFor();
  t.same(await findings(page), []);
  await button(page, 'Cancel').click();
  await page.getByText('Cancelled after 0 of 3.').waitFor();
  await page.locator('.head .pill', { hasText: 'cancelled' }).waitFor();
  t.equal(await button(page, 'Cancel').count(), 0);
}

async function replayed(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,text=fine');
  for (const message of ['First question', 'Second question']) {
    const session = await house.session(id);
    await (await say(house, session.id, message)).rest();
    await end(house, session.id);
  }
  await operate(house, 'PATCH', assistantPath(house, id), {
    model: { provider: 'synthetic', name: 'tokens=1,text=fine' },
  });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'tests'));
  await button(page, 'Replay conversations').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Since yesterday: 2' }).click();
  t.equal(await dialog.getByLabel('Conversations', { exact: true }).inputValue(), '2');
  t.same(await findings(page, 'not contrast'), []);
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('All conversations were played.').waitFor();
  await page.getByText('2 conversations: 2 with other replies, 0 with other calls, 0 whose turns end').waitFor();
  const first = page.locator('.result').first();
  await first.getByText('10 → 5 characters (−50 %)').waitFor();
  t.same(await first.locator('.prose').allTextContents(), ['As it was: fine fine ', 'Draft: fine ']);
  t.same(await first.locator('del').allTextContents(), ['fine ']);
  t.same(await findings(page), []);
  await first.locator('summary').click();
  await first.locator('.prose').first().waitFor({ state: 'detached' });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'tests'));
  await row(page, 'Runs', 'Replay of 2 conversations').getByText('done').waitFor();
  await button(page, 'Replay conversations').click();
  await dialog.getByLabel('On', { exact: true }).selectOption('1');
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('2 conversations: 0 with other replies').waitFor();
  t.equal(await page.locator('.result[open]').count(), 0, 'nothing differs, so nothing is open');
}

async function fiftyReplayed(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const id = await withConversations(t, house, 50);
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'tests'));
  await button(page, 'Replay conversations').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('All conversations were played.').waitFor();
  await page.getByText('50 conversations: 40 with other replies').waitFor();
  const results = page.locator('.result');
  const questions = await results.locator('> summary > strong').allTextContents();
  t.equal(questions.length, 50);
  t.same(
    questions.filter((question, index) => question !== questions[index - 1]),
    [
      'Where is my order?',
      'Can I return the blue jacket? It does not fit.',
      'How long do I have to pay?',
      'What does shipping to Norway cost?',
      'When are you open?',
    ],
    'what changed most comes first',
  );
  t.equal(await page.locator('.result[open]').count(), 3, 'the first that differ are open');
  await results.nth(10).locator('summary').click();
  await results.nth(10).getByText('No refunds').waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  t.ok(Number(await page.evaluate(overflow)) <= 0, 'it fits a phone');
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function flaky(t: Test, page: Page, { url, house }: Console): Promise<void> {
  let replies = 0;
  const { assistant } = await onProvider(t, house, (response) => answered(response, [replies++ === 0 ? 'yes' : 'no']));
  const path = assistantPath(house, assistant.id);
  await operate(house, 'POST', `${path}/tests`, {
    name: 'Agrees',
    repeat: 3,
    steps: [step('Hi', { contains: ['yes'] })],
  });
  const run = await operate(house, 'POST', `${path}/test-runs`, { version: 'draft' });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', assistant.id, 'test-runs', run.id));
  const result = page.locator('.result');
  await result.getByText('1 of 3 repetitions passed').waitFor();
  await result.locator('> summary').first().getByText('flaky').waitFor();
  const repeats = await result.locator('.repeat > summary').allTextContents();
  t.same(
    repeats.map((text) => /^Repetition \d (\w+) \d+\.\d s$/.exec(text.replaceAll(/\s+/g, ' '))?.[1]),
    ['failed', 'failed', 'passed'],
  );
  await page.getByText('1 flaky.').waitFor();
}

async function released(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await synthetic(house, 'tokens=1,text=one', { name: 'released with tests' });
  const path = assistantPath(house, id);
  const version = async () => (await operate(house, 'GET', path)).version;
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  await settled(page);
  await page.getByLabel('Require tests').check();
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await operate(house, 'GET', path), { require_tests: true, draft: { changed: false } });
  await page.getByLabel('Greeting').fill('Hello');
  await button(page, 'Save').click();
  await bar(page).getByText('It needs tests: they are required, and there are none.').waitFor();
  const dialog = page.getByRole('dialog');
  const publish = dialog.getByRole('button', { name: 'Publish', exact: true });
  await button(page, 'Publish').click();
  await publish.click();
  await dialog.getByRole('alert').getByText('Run all tests on this draft').waitFor();
  without(complaints, 409);
  t.same(await findings(page, 'not contrast'), []);
  await dialog.getByRole('link', { name: 'to the tests' }).click();
  await page.getByRole('heading', { name: 'No tests yet' }).waitFor();
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'versions'));
  await button(page, 'Start rollout').click();
  await dialog.getByRole('button', { name: 'Start rollout' }).click();
  await dialog.getByRole('alert').getByText('Run all tests on this draft').waitFor();
  without(complaints, 409);

  await operate(house, 'POST', `${path}/tests`, { name: 'Says two', steps: [step('Hi', { contains: ['two'] })] });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  await bar(page).getByText('Its tests have not run.').waitFor();
  await button(page, 'Test').click();
  await bar(page).getByRole('link', { name: 'Tests failed' }).waitFor();
  t.same(await findings(page), []);
  await operate(house, 'PATCH', path, { model: { provider: 'synthetic', name: 'tokens=1,text=two' } });
  await page.reload();
  await bar(page).getByText('Its tests have not run.').waitFor();
  await page.getByLabel('Greeting').fill('Good day');
  await button(page, 'Save and test').click();
  await bar(page).getByRole('link', { name: 'Tests passed' }).waitFor();
  t.equal(await button(page, 'Test').count(), 0, 'what has passed is not tested again');
  await button(page, 'Publish').click();
  await publish.click();
  await bar(page).getByText('Version 2 is live.').waitFor();
  t.equal(await version(), 2);
}

async function viewed(t: Test, console: Console): Promise<void> {
  const { house } = console;
  const { id } = await synthetic(house, 'tokens=1');
  const path = assistantPath(house, id);
  const test = await operate(house, 'POST', `${path}/tests`, { name: 'Read', steps: [step('Hi')] });
  const run = await operate(house, 'POST', `${path}/test-runs`, { version: 'draft' });
  const { url } = await operate(house, 'POST', '/sign-in-links', { name: 'Vera', role: 'viewer' });
  const { page, context, complaints } = await signedIn(console, url);
  const open = (...rest: readonly string[]) =>
    page.goto([house.url, 'console', house.workspaceId, 'assistants', id, ...rest].join('/'));
  await open('tests');
  await row(page, 'Tests', 'Read').getByText('passed').waitFor();
  await open('tests', test.id);
  await page.getByText('Your role may read this test, and not change it.').waitFor();
  t.equal(await page.getByLabel('The visitor writes').isDisabled(), true);
  t.equal(await page.locator('main form button:visible').count(), 0, 'no button of the form is shown');
  await open('test-runs', run.id);
  await page.getByText('All 1 test passed.').waitFor();
  await open('tests', 'new');
  await page.getByRole('heading', { name: 'Your role does not permit this' }).waitFor();
  await open();
  await settled(page);
  for (const name of ['Test', 'Run all tests', 'Make a test of this conversation'])
    t.equal(await button(page, name).count(), 0, name);
  t.same(complaints, []);
  await context.close();
}
