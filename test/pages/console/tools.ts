/** Tools in the console: made, tested, refreshed, given to an assistant, called in a trial, and seen in a session. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import type { Owner } from '../../folders.ts';
import type { House } from '../../api/house.ts';
import { listed, openServer, type Answers } from '../../api/mcp-server.ts';
import { credentialOf, say, until } from '../../api/talk.ts';
import { strictProvider } from '../../providers/strict/provider.ts';
import { findings, settled, within, type Console } from './console.ts';

export async function theTools(t: Test, console: Console): Promise<void> {
  const url = await openTool(t);
  await within(t, console, 'a tool is created, given functions and tested', (t, page, console, complaints) =>
    created(t, page, console, complaints, url),
  );
  await within(
    t,
    console,
    'the list of an MCP server is refreshed, and its functions are turned on one by one',
    refreshed,
  );
  await within(
    t,
    console,
    'a function that a provider refuses is named on the page of its tool and counted in the list',
    refused,
  );
  await within(t, console, 'the key of a tool is tested with a call of the tool', keyTested);
  await within(t, console, 'an assistant has tools, and a refusal is said at the field', given);
  await within(t, console, 'calls that wait in a trial are approved, also after a reload', (t, page, console) =>
    approved(t, page, console, url),
  );
  await within(t, console, 'a session shows its calls, and a turn its steps with their times', (t, page, console) =>
    seen(t, page, console, url),
  );
}

/** A program that answers every call, or none. */
export async function openTool(t: Owner, how: 'answers' | 'silent' = 'answers'): Promise<string> {
  const server = createServer((request, response) => {
    request
      .resume()
      .on(
        'end',
        () =>
          how === 'answers' &&
          response.writeHead(200, { 'content-type': 'application/json' }).end('{"state":"shipped","parcels":2}'),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`;
}

const lookUp = {
  name: 'look_up_order',
  description: 'Looks an order up by its number. Call it before you say anything about an order.',
  parameters: {
    type: 'object',
    properties: { order: { type: 'string', description: 'Its number.' } },
    required: ['order'],
  },
};

/** An http tool with a function, and the fields given. */
export const newTool = async (house: House, fields: object): Promise<{ readonly id: string }> =>
  (
    await house.console(`/workspaces/${house.workspaceId}/tools`, {
      body: { kind: 'http', name: 'Orders', functions: [lookUp], ...fields },
    })
  ).json;

/** A schema that OpenAI does not accept. */
const either = {
  name: 'book',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, anyOf: [{ required: ['order'] }] },
};

async function refused(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const provider = await strictProvider(t, 'OpenAI');
  const { id: credential_id } = await credentialOf(house, provider.kind, provider.baseUrl);
  const { id } = await newTool(house, {
    name: 'Bookings',
    url: 'https://orders.example/call',
    functions: [lookUp, either],
  });
  const assistant = await house.assistant({
    model: { provider: provider.kind, name: 'any', credential_id },
    tool_ids: [id],
  });
  await (await say(house, (await house.session(assistant.id)).id)).rest();
  const { workspaceId } = house;
  await until(
    async () => (await house.console(`/workspaces/${workspaceId}/tools/${id}`)).json.functions[1].quarantined !== null,
  );
  await page.goto(url(workspaceId, 'tools', id));
  await page
    .getByRole('article', { name: 'book' })
    .getByRole('note')
    .filter({ hasText: /openai refuses this definition since/ })
    .waitFor();
  t.equal(await page.getByRole('article', { name: lookUp.name }).getByRole('note').count(), 0, 'the other is offered');
  t.same(await findings(page), []);
  await page.goto(url(workspaceId, 'tools'));
  await page
    .getByRole('row', { name: /Bookings/ })
    .filter({ hasText: '2 on, 1 refused' })
    .waitFor();
}

async function keyTested(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id: bare } = (await house.console('/workspaces', { body: { name: 'for keys of tools' } })).json;
  const { id } = (
    await house.console(`/workspaces/${bare}/credentials`, {
      body: { kind: 'tool', base_url: 'https://orders.example', api_key: 'a-key' },
    })
  ).json;
  await house.console(`/workspaces/${bare}/tools`, {
    body: { kind: 'http', name: 'Orders', url: 'https://orders.example/call', credential_id: id, functions: [lookUp] },
  });
  await page.goto(url(bare, 'credentials'));
  const card = page.getByRole('article', { name: 'Tools, tool' });
  await card.getByRole('link', { name: 'Test with a call' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  await page.goBack();
  await card.waitFor();
  t.equal(
    await card.getByRole('button', { name: 'Test', exact: true }).count(),
    0,
    'nothing is offered that cannot tell',
  );
}

const withoutRefusal = (complaints: string[]): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 422/.test(one)));

async function created(
  t: Test,
  page: Page,
  { url, house }: Console,
  complaints: string[],
  address: string,
): Promise<void> {
  const bare: string = (await house.console('/workspaces', { body: { name: 'for tools' } })).json.id;
  await page.goto(url(bare, 'tools'));
  await page.getByText('No tools yet').waitFor();
  t.match(
    await page.locator('.command code').textContent(),
    /^npx parley tools create .* --url http:\/\/127\.0\.0\.1:\d+$/,
    'a command names the server',
  );
  await page.getByRole('button', { name: 'Create tool' }).click();
  const form = page.getByRole('dialog', { name: 'Create tool' });
  await form.getByLabel('Name', { exact: true }).fill('Orders');
  await form.getByLabel('URL').fill('https://user@orders.example.com/call');
  await form.getByRole('button', { name: 'Create tool' }).click();
  await page.locator('[name="url"][aria-invalid="true"]:focus').waitFor();
  t.same(await findings(page), []);
  await form.getByLabel('URL').fill(address);
  await form.getByRole('button', { name: 'Create tool' }).click();
  const once = page.getByRole('dialog', { name: 'The signing secret of “Orders”' });
  const secret = (await once.locator('.once').textContent())!;
  t.match(secret, /^whsec_/);
  t.same(await findings(page), []);
  await page.keyboard.press('Escape');
  t.ok(await once.isVisible(), 'what is shown once does not go by mistake');
  await once.getByLabel('I have saved it').check();
  await once.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Orders', level: 1 }).waitFor();
  t.notOk((await page.content()).includes(secret), 'it is nowhere any more');

  await functionWritten(t, page);
  await tested(t, page);
  await changed(t, page, house, bare);

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  await once.waitFor();
  t.not(await once.locator('.once').textContent(), secret);
  await once.getByLabel('I have saved it').check();
  await once.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete tool' }).click();
  await page.getByText('No tools yet').waitFor();
  withoutRefusal(complaints);
}

async function functionWritten(t: Test, page: Page): Promise<void> {
  const functions = page.getByRole('region', { name: 'Functions' });
  await functions.getByRole('button', { name: 'Add a function' }).click();
  await functions.getByLabel('Function’s name').fill(lookUp.name);
  await functions.getByLabel('When to call it').fill(lookUp.description);
  const schema = functions.getByLabel('Argument schema');
  for (const [text, words] of [
    ['{\n"type": "object",\n}', /It is no JSON.*double quotes/],
    ['[]', /must be an object/],
    ['{"type":"string"}', /"type": "object"/],
  ] as const) {
    await schema.fill(text);
    t.match(await functions.locator('small.fault').textContent(), words);
    t.ok(await functions.getByRole('button', { name: 'Save functions' }).isDisabled());
  }
  await schema.fill('{"type":"object","properties":{"a":{"$ref":"https://elsewhere.example/schema"}}}');
  await functions.getByRole('button', { name: 'Save functions' }).click();
  await page.locator('textarea[name="functions[0].parameters"][aria-invalid="true"]').waitFor();
  t.same(await findings(page), []);
  await schema.fill(JSON.stringify(lookUp.parameters));
  await functions.getByRole('button', { name: 'Save functions' }).click();
  await functions.getByRole('button', { name: 'Save functions' }).waitFor({ state: 'detached' });
}

async function tested(t: Test, page: Page): Promise<void> {
  const test = page.getByRole('region', { name: 'Test call' });
  t.match(await test.getByLabel('Arguments').inputValue(), /"order": ""/, 'what is required is there to be filled in');
  await test.getByLabel('Arguments').fill('{"order":7}');
  await test.getByRole('button', { name: 'Send the call' }).click();
  await test.getByText('failed').waitFor();
  t.match(
    await test.getByRole('status').textContent(),
    /arguments: the arguments do not fit its schema; not sent\..* ms/,
  );
  await test.getByLabel('Arguments').fill('{"order":"7"}');
  await test.getByRole('button', { name: 'Send the call' }).click();
  await test.getByText('{"state":"shipped","parcels":2}').waitFor();
  t.same(await findings(page), []);
}

/** A function is turned off, and the settings are others. */
async function changed(t: Test, page: Page, house: House, bare: string): Promise<void> {
  const functions = page.getByRole('region', { name: 'Functions' });
  await functions.getByRole('checkbox', { name: 'look_up_order' }).uncheck();
  await functions.getByRole('button', { name: 'Save functions' }).click();
  await functions.getByRole('button', { name: 'Save functions' }).waitFor({ state: 'detached' });
  const { id, functions: stored } = (await house.console(`/workspaces/${bare}/tools`)).json.data[0];
  t.match(stored, [{ ...lookUp, enabled: false, approval: null, show: null }]);
  const settings = page.getByRole('region', { name: 'Settings' });
  await settings.getByLabel('Approval of each call').selectOption('always');
  await settings.getByLabel('Max calls per minute').fill('30');
  await settings.getByRole('button', { name: 'Save', exact: true }).click();
  await settings.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
  t.match((await house.console(`/workspaces/${bare}/tools/${id}`)).json, {
    approval: 'always',
    calls_per_minute: 30,
    timeout_seconds: 20,
  });
}

async function refreshed(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const tools: unknown[] = [listed('search'), listed('fetch')];
  const answers: Answers = { tools };
  const server = await openServer(t, 'modern', answers);
  const { id } = await newTool(house, { kind: 'mcp', name: 'Documents', url: server.url, functions: undefined });
  const stored = async (): Promise<{ name: string; enabled: boolean }[]> =>
    (await house.console(`/workspaces/${house.workspaceId}/tools/${id}`)).json.functions;
  await page.goto(url(house.workspaceId, 'tools', id));
  await page.getByRole('button', { name: 'Refresh' }).click();
  const differences = page.getByRole('region', { name: 'Differences' });
  await differences.getByText('The list has changed: 2 differences').waitFor();
  t.same(
    (await stored()).map(({ enabled }) => enabled),
    [false, false],
    'what is new is off',
  );
  const functions = page.getByRole('region', { name: 'Functions' });
  await functions.getByRole('checkbox', { name: 'search' }).check();
  await functions.getByRole('button', { name: 'Save functions' }).click();
  await functions.getByRole('button', { name: 'Save functions' }).waitFor({ state: 'detached' });
  t.match(await stored(), [
    { name: 'search', enabled: true },
    { name: 'fetch', enabled: false },
  ]);
  tools.splice(
    0,
    2,
    listed('search', { type: 'object', properties: { query: { type: 'string' } } }),
    listed('list', { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/schema' } } }),
  );
  await page.getByRole('button', { name: 'Refresh' }).click();
  await differences.getByText('3 differences').waitFor();
  t.same(
    (await differences.getByRole('listitem').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ')).sort(),
    [
      'changed search has changed, and is off until you turn it on again',
      'refused list was left out: its name is taken, or its schema is none',
      'removed fetch is gone',
    ],
  );
  await functions.getByText('Off: no model is offered it.').waitFor();
  t.same(await findings(page), []);
  answers.oddly = (_, response) => (response.writeHead(401).end(), true);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page
    .getByRole('note')
    .filter({
      hasText:
        /The list was not read .*, while the list was read \(tools\/list\): the tool answered with an error, or the credential is gone \(refused\)/,
    })
    .waitFor();
  t.same(await findings(page), []);
  answers.oddly = () => undefined;
  await page.getByRole('button', { name: 'Refresh' }).click();
  await differences.getByText('The list has changed: 1 difference').waitFor();
  t.equal(
    await page
      .getByRole('note')
      .filter({ hasText: /was not read/ })
      .count(),
    0,
  );
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 503/.test(one)));
}

async function given(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const address = 'https://orders.example.com/call';
  const one = await newTool(house, { name: 'Orders of today', url: address });
  await newTool(house, { name: 'Orders of old', url: address });
  const { id } = await house.assistant({ name: 'clerk' });
  const stored = async () => (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json;
  await page.goto(url(house.workspaceId, 'assistants', `${id}?section=tools`));
  await page.getByRole('checkbox', { name: 'Orders of today' }).check();
  await page.getByRole('checkbox', { name: 'Orders of old' }).check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('[type="checkbox"][aria-invalid="true"]:focus').waitFor();
  t.match(await page.locator('small.fault').textContent(), /`tool_ids`.*Two tools have a function look_up_order/);
  t.same(await findings(page), []);
  await page.getByRole('checkbox', { name: 'Orders of old' }).uncheck();
  await page.getByLabel('Max tool rounds per turn').fill('3');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { tool_ids: [one.id], tool_rounds_max: 3 });
  withoutRefusal(complaints);
}

/** An assistant whose model calls the function of a tool in each turn. */
async function caller(
  house: House,
  url: string,
  fields: object,
  model = 'call=look_up_order,tokens=3',
): Promise<{ readonly id: string }> {
  const tool = await newTool(house, { url, ...fields });
  return house.assistant({ name: 'orders', model: { provider: 'synthetic', name: model }, tool_ids: [tool.id] });
}

/** Ends the trials that earlier tests have left open: a workspace has a few at most. */
async function endTrials(house: House): Promise<void> {
  const path = `/workspaces/${house.workspaceId}/sessions`;
  const { data } = (await house.console(`${path}?status=open&channel=console&limit=100`)).json;
  for (const { id } of data) await house.console(`${path}/${id}/end`, { method: 'POST' });
}

async function approved(t: Test, page: Page, { url, house }: Console, address: string): Promise<void> {
  const { id } = await caller(house, address, { approval: 'always' }, 'call=look_up_order,calls=2,tokens=3');
  await endTrials(house);
  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  await page.getByLabel('Message', { exact: true }).fill('Where are my orders?');
  await page.keyboard.press('Enter');
  const waiting = page.getByRole('group', { name: 'Waits for an answer' });
  await waiting.waitFor();
  await page.reload();
  await waiting.waitFor();
  t.match(
    await waiting.getByRole('article').first().textContent(),
    /look_up_order waits for your approval.*"order": "word"/s,
  );
  t.same(await findings(page), []);
  await waiting.getByRole('button', { name: 'Approve' }).first().click();
  await waiting.getByText('Approved.').waitFor();
  await waiting.getByRole('button', { name: 'Decline' }).last().click();
  await waiting.waitFor({ state: 'detached' });
  await page.getByRole('region', { name: 'Talk' }).getByText('word word word').waitFor();
  const talk = page.getByRole('region', { name: 'Talk' });
  const calls = talk.locator('.call');
  await calls.nth(1).waitFor();
  t.same(await calls.locator('.pill').allTextContents(), ['completed', 'declined']);
  await calls.first().locator('summary').click();
  t.match(await calls.first().textContent(), /"order": "word".*"state": "shipped"/s);
  t.same(await findings(page), []);
}

async function seen(t: Test, page: Page, { url, house }: Console, address: string): Promise<void> {
  const { id } = await caller(house, address, { calls_per_minute: 1 }, 'call=look_up_order,calls=2,tokens=3');
  const session = await house.session(id);
  const turn = await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Where are my orders?' } });
  await turn.rest();
  await page.goto(url(house.workspaceId, 'sessions', session.id));
  const calls = page.getByRole('article', { name: 'Assistant' }).locator('.call');
  await calls.nth(1).waitFor();
  t.same((await calls.locator('.pill').allTextContents()).sort(), ['completed', 'failed: limit']);
  t.same(await findings(page), []);
  await page.goto(url(house.workspaceId, 'live', 'turn', `${turn.turnId}?session=${session.id}`));
  const steps = page.getByRole('region', { name: 'Text and calls' }).locator('tbody tr');
  await steps.nth(4).waitFor();
  const rows = (await steps.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
  t.same(
    rows.map((row) => row.split(' ')[0]!).toSorted((one, other) => one.localeCompare(other)),
    ['calls', 'calls', 'result', 'result', 'writes'],
  );
  t.match(
    rows.find((row) => row.includes('completed')),
    /^result look_up_order completed \d+ ms/,
  );
  t.match(
    rows.find((row) => row.includes('limit')),
    /failed: limit over a limit/,
  );
  await page.locator('.state[data-state="calling"]').waitFor();
  t.same(await findings(page), []);
}
