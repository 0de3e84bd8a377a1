/**
 * Every page of the console, empty and full, light and dark, on a phone and a desk: readable by all, and within its
 * policy.
 */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { faintTexts, overflow } from '../../browser.ts';
import type { House } from '../../api/house.ts';
import { begin, end, operate } from '../../api/talk.ts';
import { findings, settled, turnTo, type Console, type Furnished } from './console.ts';

export async function everyPage(t: Test, console: Console, full: Furnished): Promise<void> {
  const { house } = console;
  const bare: string = (await house.console('/workspaces', { body: { name: 'bare' } })).json.id;
  const w = house.workspaceId;
  const { tool, asked } = await withTool(house);
  const tested = await withTests(house, asked.assistant);
  const webhook = await newWebhook(house);
  const paths = [
    ...[`${w}/live`, `${w}/live?kind=key`, `${w}/live?kind=turn`, `${w}/live?kind=socket`, `${w}/live?state=streaming`],
    ...[
      `${w}/live/session/${full.session.id}`,
      `${w}/live/session/${full.ended.id}?at=2`,
      `${w}/live/turn/${full.turn.turnId}?session=${full.session.id}`,
      `${w}/live/turn/${full.over}?session=${full.ended.id}&at=2`,
      `${w}/live/turn/${full.over}`,
      `${w}/live/key/${full.key.id}`,
      `${w}/live/assistant/${full.assistant.id}`,
    ],
    ...[
      `${w}/assistants`,
      `${w}/assistants/new`,
      ...[
        '',
        '?section=model',
        '?section=pre-chat',
        '?section=link',
        '?section=widget',
        '?section=desk',
        '?section=try',
      ].map((query) => `${w}/assistants/${full.assistant.id}${query}`),
    ],
    ...['versions', 'versions/1', 'versions/1?from=draft'].map((name) => `${w}/assistants/${asked.assistant}/${name}`),
    ...['tests', 'tests/new', `tests/${tested.test}`, ...tested.runs.map((run) => `test-runs/${run}`)].map(
      (name) => `${w}/assistants/${asked.assistant}/${name}`,
    ),
    `${w}/assistants/${full.assistant.id}/tests`,
    ...[
      `${w}/tools`,
      `${w}/tools/${tool}`,
      `${w}/assistants/${asked.assistant}?section=tools`,
      `${w}/sessions/${asked.session}`,
      `${w}/live/turn/${asked.turn}?session=${asked.session}`,
    ],
    ...[`${w}/keys`, `${w}/keys/${full.key.id}`, `${w}/credentials`, `${w}/usage`],
    ...[`${w}/webhooks`, `${w}/webhooks/${webhook}`],
    ...[
      `${w}/sessions`,
      `${w}/sessions?status=ended&channel=api`,
      `${w}/sessions/${full.session.id}`,
      `${w}/sessions/${full.ended.id}`,
    ],
    ...['load', 'workspaces', 'people', 'audit', 'audit?by=nobody', 'sign-in'],
    ...['live', 'desk', 'assistants', 'keys', 'sessions', 'tools', 'credentials', 'usage', 'webhooks'].map(
      (name) => `${bare}/${name}`,
    ),
  ];
  const { page, complaints, context } = await console.open();
  const kinds = new Set<string>();
  const look = async (path: string, open: () => Promise<unknown>): Promise<void> => {
    const name = path.replaceAll(/(wks|ses|turn|key|asst|tool|whk|tst|run)_\w+/g, (id) =>
      id === bare ? 'bare' : id.split('_')[0]!,
    );
    const kind = name.replace(/^(?:wks|bare)\//, '').replace(/\?(?!section=).*/, '');
    await t.test(name, (t) => looked(t, page, open, complaints, !kinds.has(kind)));
    kinds.add(kind);
  };
  for (const path of ['nowhere', `${w}/nowhere`]) await look(path, () => page.goto(console.url(path)));
  for (const path of paths) await look(path, () => turnTo(page, console, console.url(path)));
  await house.console(`/workspaces/${w}/webhooks/${webhook}`, { method: 'DELETE' });
  await t.test('a text of too little contrast is found by axe and by the script', (t) => planted(t, page));
  await context.close();
  await t.test('a greeting stands once in a session and in a trial', (t) => greeting(t, console, full.ended.id));
  await t.test('a failure says what happened and under which request id', (t) => failing(t, console));
}

/** A tool with two functions, one of them off, and a session in which a call of it waits for its caller. */
async function withTool(house: House) {
  const parameters = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
  const functions = [
    { name: 'look_up_order', description: 'Looks an order up.', parameters },
    {
      name: 'cancel_order_at_once_and_send_the_money_back_to_who_has_paid_it',
      description: 'Cancels an order.',
      parameters,
      enabled: false,
      approval: 'always',
    },
  ];
  const tool = (
    await house.console(`/workspaces/${house.workspaceId}/tools`, {
      body: {
        kind: 'http',
        name: 'Orders',
        url: 'https://orders.example.com/a/very/long/path/that/has/to/be/broken/somewhere',
        functions,
      },
    })
  ).json.id;
  const held = (
    await house.console(`/workspaces/${house.workspaceId}/tools`, {
      body: { kind: 'client', name: 'Camera', functions: [{ name: 'take_picture', description: null, parameters }] },
    })
  ).json.id;
  const assistant = (
    await house.assistant({
      name: 'photographer',
      model: { provider: 'synthetic', name: 'call=take_picture,calls=2' },
      tool_ids: [tool, held],
    })
  ).id;
  const session = (await house.session(assistant)).id;
  const stream = await house.stream(`/sessions/${session}/chat`, { body: { message: 'Show me' } });
  await stream.rest();
  return { tool, asked: { assistant, session, turn: stream.turnId } };
}

/** A test with every kind of expectation, a run of it, and a replay. */
async function withTests(house: House, assistant: string) {
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant}`;
  const expect = {
    contains: ['the order', 'a-text-without-any-space-that-is-longer-than-a-phone-is-wide-and-has-to-be-broken'],
    not_contains: ['sorry'],
    calls: [{ name: 'take_picture', arguments: { order: 'front', size: 7 } }],
    no_calls: true,
    stop_reason: 'length',
    characters_max: 3,
    judge: 'It is polite.',
  };
  const body = {
    name: 'A picture of the front of the house, taken by day and by night',
    visitor: { plan: 'gold' },
    metadata: { ref: '1' },
    steps: [{ message: 'Show me the front.', expect }, { message: 'Thanks' }],
    tool_results: { take_picture: [{ output: { url: 'https://pictures.example.com/front' } }, { status: 'failed' }] },
    repeat: 2,
  };
  const test: string = (await house.console(`${path}/tests`, { body })).json.id;
  // A replay needs a conversation that has ended.
  const { id, stream } = await begin(house, assistant);
  await stream.rest();
  await end(house, id);
  const runs: string[] = [];
  for (const plan of [{}, { replay: { sessions: 3 } }])
    runs.push((await operate(house, 'POST', `${path}/test-runs`, { version: 'draft', ...plan })).id);
  return { test, runs };
}

/** A disabled webhook with a long URL. */
async function newWebhook(house: House): Promise<string> {
  const body = {
    url: `https://a-long-name-of-a-receiver.customers.example.com/${'a-very-long-path/'.repeat(20)}`,
    events: ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'],
    enabled: false,
  };
  return (await house.console(`/workspaces/${house.workspaceId}/webhooks`, { body })).json.id;
}

/** A text of a contrast of 2.8 : 1. */
async function planted(t: Test, page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const text = document.createElement('p');
    text.textContent = 'faint';
    text.style.cssText = 'color: rgb(153, 153, 153); background: rgb(255, 255, 255)';
    document.querySelector('main').append(text);
  })()`);
  t.same(await page.evaluate(faintTexts), ['P.']);
  t.match(await findings(page), [/^color-contrast: /]);
}

/**
 * Checks a page on a phone, and then in a window that grows: the pages' scripts read the width only where they follow
 * it. The first page of a kind is shown to axe in both. The contrast of texts, which takes axe as long as all the rest,
 * is left to `faintTexts`.
 */
async function looked(
  t: Test,
  page: Page,
  open: () => Promise<unknown>,
  complaints: string[],
  isFirst: boolean,
): Promise<void> {
  complaints.length = 0;
  await page.setViewportSize({ width: 360, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await open();
  await settled(page);
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    t.match(await page.title(), / · parley$/, 'it has a name');
    t.ok(Number(await page.evaluate(overflow)) <= 0, `it fits ${width} px`);
    t.same(await page.evaluate(ragged), [], `the rows of a state's card are in columns, ${width} px`);
    if (width === 360 || isFirst) t.same(await findings(page, 'not contrast'), [], `${width} px`);
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      t.same(await page.evaluate(faintTexts), [], `${colorScheme}, ${width} px`);
    }
  }
  t.same(complaints, [], 'nothing is refused, nothing fails, and nothing else is asked for');
}

/** The states in whose cards what rows lead to does not begin at one place: a script for the page. */
const ragged = `[...document.querySelectorAll('.state')].filter((card) => {
  const shown = [...card.querySelectorAll('.row > .to')].filter((words) => words.checkVisibility());
  return new Set(shown.map((words) => Math.round(words.getBoundingClientRect().left))).size > 1;
}).map(({ dataset }) => dataset.state)`;

/** Resolves when what follows the width of the window has done so. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))');

async function greeting(t: Test, { open, url, house }: Console, session: string): Promise<void> {
  const { page, complaints, context } = await open();
  const said = page.getByText('Hello! Ask me when we are open.', { exact: true });
  await page.goto(url(house.workspaceId, 'sessions', session));
  await page.getByText('1, 2, 3, 4, 5, 6, 7.').waitFor();
  t.equal(await said.count(), 1, 'of a session');
  t.match(
    await page.getByRole('article').first().innerText(),
    /^Hello! Ask me when we are open\.\s+greeting/,
    'and is called one',
  );
  const { id } = (await house.console(`/workspaces/${house.workspaceId}/assistants`)).json.data.find(
    ({ name }: { name: string }) => name === 'opening hours',
  );
  await page.goto(url(house.workspaceId, 'assistants', id));
  const talk = page.getByRole('region', { name: 'Talk' });
  await talk.getByText('Hello! Ask me when we are open.').waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Count to 7');
  await page.keyboard.press('Enter');
  await talk.getByText('1, 2, 3, 4, 5, 6, 7.').waitFor();
  t.equal(await talk.getByText('Hello! Ask me when we are open.', { exact: true }).count(), 1, 'of a trial');
  t.same(complaints, []);
  await context.close();
}

async function failing(t: Test, { open, url, house, standIn }: Console): Promise<void> {
  const { page, complaints, context } = await open();
  const stop = standIn.answer(/\/keys\?/, 500, {
    error: { type: 'api_error', code: 'api_error', message: 'Something went wrong.' },
    request_id: `req_${'0'.repeat(26)}`,
  });
  await page.goto(url(house.workspaceId, 'keys'));
  await page.getByRole('alert').waitFor();
  t.match(await page.getByRole('alert').textContent(), /Something went wrong\..*req_0{26}/);
  t.same(await findings(page), []);
  stop();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  t.equal(await page.getByRole('alert').count(), 0, 'and is mended by trying again');
  t.same(
    complaints.filter((one) => !one.includes('500')),
    [],
  );
  await context.close();
}
