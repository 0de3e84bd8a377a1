/** The audit in the console: each change with its values, filters in the address, and further pages. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { findings, until, within, type Console } from './console.ts';

export async function theAudit(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a change is listed with its values before and after', valuesShown);
  await within(t, console, 'filters are in the address and are cleared', filtered);
  await within(t, console, 'the end of the list loads the next page', paged);
  await within(t, console, 'a failure says what happened and is tried again', failing);
}

const entries = (page: Page) => page.getByRole('list', { name: 'Changes' }).getByRole('listitem');

const assistantsOf = ({ house }: Console): string => `/workspaces/${house.workspaceId}/assistants`;

async function valuesShown(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  const prompt = `Answer politely. ${'Say what you know. '.repeat(40)}`;
  const { id } = (await house.console(assistantsOf(console), { body: { name: 'Audited' } })).json;
  const body = { description: '<img src=x onerror=complain(1)>', model: { system_prompt: prompt } };
  await house.console(`${assistantsOf(console)}/${id}`, { method: 'PATCH', body });
  await page.goto(console.url('audit'));
  const [updated, created] = [entries(page).nth(0), entries(page).nth(1)];
  await updated.getByText('operator updated assistant').waitFor();
  t.match(await created.locator('.what').textContent(), /^operator created assistant asst_\w+$/);
  t.equal(await created.locator('details[open]').count(), 0, 'a long list of fields is folded');
  t.match(await updated.locator('.changes').textContent(), /description.*Before: none.*After: <img src=x/s);
  await updated.getByText('characters').click();
  t.ok(await updated.getByText(prompt.trim()).isVisible(), 'a long text is shown whole once it is opened');
  t.same(await findings(page), []);
}

async function filtered(t: Test, page: Page, console: Console): Promise<void> {
  await page.goto(console.url('audit'));
  const before = await entries(page).first().locator('.object').textContent();
  await entries(page).first().locator('.object').click();
  await until(page, `location.search === '?object_id=${before}'`);
  await page.getByLabel('Object ID').waitFor();
  t.equal(await page.getByLabel('Object ID').inputValue(), before);
  await until(page, `document.querySelectorAll('.audit > li').length === 2`);
  await page.getByLabel('Person: name or ID').fill('nobody ');
  await page.getByRole('heading', { name: 'No change matches' }).waitFor();
  await until(page, `new URLSearchParams(location.search).get('by') === 'nobody'`);
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await entries(page).nth(2).waitFor();
  t.equal(new URL(page.url()).search, '');
  await page.getByLabel('Order').selectOption('asc');
  await until(page, `location.search === '?order=asc'`);
  await page.getByLabel('Workspace', { exact: true }).selectOption(console.house.workspaceId);
  await until(page, `new URLSearchParams(location.search).get('workspace') === '${console.house.workspaceId}'`);
  await entries(page).first().waitFor();
}

async function paged(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  const { id } = (await house.console(assistantsOf(console), { body: { name: 'Often changed' } })).json;
  for (let times = 1; times <= 120; times++)
    await house.console(`${assistantsOf(console)}/${id}`, { method: 'PATCH', body: { name: `Changed ${times}` } });
  await page.goto(console.url(`audit?object_id=${id}`));
  await entries(page).nth(99).scrollIntoViewIfNeeded();
  await entries(page).nth(120).waitFor();
  t.equal(await entries(page).count(), 121, 'each change once');
  t.match(await entries(page).nth(120).locator('.what').textContent(), /created/);
}

async function failing(t: Test, page: Page, { url, standIn }: Console, complaints: string[]): Promise<void> {
  const stop = standIn.answer(/\/api\/audit\?/, 500, {
    error: { type: 'api_error', code: 'api_error', message: 'Something went wrong.' },
    request_id: `req_${'0'.repeat(26)}`,
  });
  await page.goto(url('audit?by=operator'));
  await page.getByRole('alert').waitFor();
  stop();
  await page.getByRole('button', { name: 'Try again' }).click();
  await entries(page).first().waitFor();
  t.equal(await page.getByRole('alert').count(), 0);
  const others = complaints.filter((one) => !one.includes('500'));
  complaints.length = 0;
  complaints.push(...others);
}
