/** Calls of tools that a visitor approves (contract 13), on the link's page and in the widget. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { transcriptOf, until } from '../../api/talk.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { languages } from '../../../src/pages/words.ts';
import { approvalWords } from '../../../src/pages/link/approval-words.ts';
import { findings, openLink, quiet, replies, say } from './browser.ts';
import { frameOf, launcherOf, openSites } from './sites.ts';
import { linked } from './visits.ts';

const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
let called = 0;
const orders = createServer((_, response) => {
  called++;
  response.setHeader('content-type', 'text/plain').end('done');
}).listen(0, '127.0.0.1');
await new Promise((resolve) => orders.once('listening', resolve));
t.teardown(() => {
  orders.closeAllConnections();
  orders.close();
});

const send = {
  name: 'send_order',
  description: 'Sends an order.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
};
const made = await house.console(`/workspaces/${house.workspaceId}/tools`, {
  body: {
    kind: 'http',
    name: 'Orders',
    url: `http://127.0.0.1:${(orders.address() as AddressInfo).port}/`,
    approval: 'always',
    functions: [send],
  },
});
const withTool = { tool_ids: [made.json.id], greeting: null };
const ofScript = { ...withTool, model: { provider: 'scripted', name: 'demo' } };

const browser = whyNoBrowser ? null! : await openBrowser(t);
const approvalOf = (page: Page) => page.locator('#approval');
const callsOf = async (page: Page): Promise<any[]> => {
  const { session } = JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string);
  return (await transcriptOf(house, session)).flatMap(({ tool_calls: calls }) =>
    calls.map(({ status }: { status: string }) => status),
  );
};

t.test('each language has words of its own for it', async (t) => {
  t.same(Object.keys(approvalWords), languages);
  for (const key of ['question', 'approve', 'decline', 'note'] as const)
    t.equal(new Set(languages.map((language) => approvalWords[language][key])).size, languages.length, key);
  for (const { question } of Object.values(approvalWords)) t.match(question, /\{name\}/);
});

t.test(
  'a call is sent once it is approved, with the keyboard alone, and is told to a screen reader',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'approve', ofScript);
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/approve`);
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().includes('/link/approval-') && asked.push(request.url())));
    const before = called;
    await say(page, 'Hello');
    await quiet(page);
    t.same([await approvalOf(page).count(), asked.length], [0, 0], 'nothing is loaded for it before it is needed');
    await say(page, '/call send_order {"order": "<b>7</b> \u202E12", "gift": {"paper": true}}');
    await approvalOf(page).getByRole('button', { name: 'Approve' }).waitFor();
    const text = await approvalOf(page).innerText();
    for (const part of ['asks for your approval:', 'send_order', 'order', '<b>7</b> [U+202E]12', '{"paper":true}'])
      t.match(text, part);
    await page.locator('[role="log"]').filter({ hasText: 'send_order' }).waitFor({ state: 'attached' });
    t.equal(called, before);
    t.same(await findings(page), []);

    await page.reload();
    await approvalOf(page).getByRole('button', { name: 'Approve' }).waitFor();
    t.equal(await replies(page).count(), 1, 'a reply without words is not shown');
    await page.locator('#message').focus();
    for (let steps = 0; steps < 9 && (await page.evaluate('document.activeElement.textContent')) !== 'Approve'; steps++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await approvalOf(page).waitFor({ state: 'hidden' });
    t.equal(await page.evaluate('document.activeElement.id'), 'message');
    await replies(page).nth(1).filter({ hasText: 'done' }).waitFor();
    t.same([await callsOf(page), called], [['completed'], before + 1]);
    t.same(complaints, []);
    await context.close();
  },
);

t.test('each of several calls has its answer; a message declines', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'several', { ...withTool, name: 'call=send_order,calls=2,tokens=2,delay_ms=0' });
  const { page, complaints, context } = await openLink(browser, `${house.url}/p/several`, {
    width: 390,
    height: 760,
    locale: 'ar',
  });
  const before = called;
  await say(page, 'Hello');
  await approvalOf(page).filter({ hasText: '(1/2)' }).waitFor();
  t.same(await findings(page), []);
  await approvalOf(page).getByRole('button', { name: 'رفض', exact: true }).click();
  await approvalOf(page).filter({ hasText: '(2/2)' }).waitFor();
  t.equal(await page.evaluate('document.activeElement.id'), 'approval');
  t.same([await callsOf(page), called], [['pending', 'pending'], before], 'nothing is sent before each has its answer');
  await approvalOf(page).getByRole('button', { name: 'موافقة', exact: true }).click();
  await until(async () => (await callsOf(page)).join() === 'declined,completed');
  t.equal(called, before + 1);
  t.same(complaints, []);
  await context.close();

  const other = await openLink(browser, `${house.url}/p/several`);
  await say(other.page, 'Hello');
  await approvalOf(other.page).filter({ hasText: '(1/2)' }).waitFor();
  await say(other.page, 'Never mind');
  await until(async () => (await callsOf(other.page)).slice(0, 2).join() === 'declined,declined');
  await other.context.close();
});

t.test('what another page has answered is not asked any more', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'twice', ofScript);
  const { page, context } = await openLink(browser, `${house.url}/p/twice`);
  const before = called;
  await say(page, '/call send_order {"order": "8"}');
  await approvalOf(page).getByRole('button', { name: 'Approve' }).waitFor();
  const second = await context.newPage();
  await second.goto(`${house.url}/p/twice`);
  await approvalOf(second).getByRole('button', { name: 'Decline' }).click();
  await until(async () => (await callsOf(second)).join() === 'declined');
  await quiet(second);
  await approvalOf(page).getByRole('button', { name: 'Approve' }).click();
  await approvalOf(page).waitFor({ state: 'hidden' });
  await until(async () => (await replies(page).count()) === (await replies(second).count()));
  t.equal(await page.locator('#notice').innerText(), '');
  t.equal(called, before);
  await context.close();
});

t.test('a call is approved in the widget', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house);
  await linked(house, 'widget', { ...ofScript, origins: [sites.origin] });
  sites.put('/', { body: '<p>Shop</p>' });
  const { page, complaints } = await sites.visit('/');
  const before = called;
  await launcherOf(page).click();
  const frame = await frameOf(page);
  await frame.locator('#message').fill('/call send_order {"order": "9"}');
  await frame.locator('#message').press('Enter');
  await frame.locator('#approval').getByRole('button', { name: 'Approve' }).click();
  await frame.locator('#messages li.assistant').filter({ hasText: 'done' }).waitFor();
  t.equal(called, before + 1);
  t.same(complaints, []);
});
