/** Webhooks in the console: one is created, delivered to, changed, retried, disabled and deleted. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { openReceiver } from '../../webhook-receiver.ts';
import { findings, within, type Console } from './console.ts';

export async function theWebhooks(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a webhook is created, its secret shown once, and its deliveries listed', delivered);
  await within(t, console, 'a sixth webhook cannot be created', full);
}

const rows = (page: Page) => page.getByRole('table', { name: 'Deliveries' }).getByRole('row');

async function delivered(t: Test, page: Page, console: Console, complaints: string[]): Promise<void> {
  const { house } = console;
  const receiver = await openReceiver(t);
  await page.goto(console.url(house.workspaceId, 'webhooks'));
  t.match(
    await page.locator('.command').textContent(),
    /^npx parley webhooks create .* --url http:\/\/127/,
    'a command names the server',
  );
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const form = page.getByRole('dialog', { name: 'Create webhook' });
  const create = form.getByRole('button', { name: 'Create webhook' });
  await form.getByLabel('URL').fill('https://user@crm.example.com/');
  await create.click();
  await page.locator('[name="url"][aria-invalid="true"]:focus').waitFor();
  t.same(await findings(page), []);
  await form.getByLabel('URL').fill(receiver.url);
  for (const type of ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'])
    await form.getByLabel(type).uncheck();
  t.ok(await create.isDisabled(), 'without an event there is nothing to create');
  await form.getByLabel('turn.completed').check();
  await create.click();
  const once = page.getByRole('dialog', { name: /^The signing secret of/ });
  receiver.secret = (await once.locator('.once').textContent())!;
  t.match(receiver.secret, /^whsec_/);
  t.same(await findings(page), []);
  await once.getByLabel('I have saved it').check();
  await once.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
  t.notOk((await page.content()).includes(receiver.secret), 'the secret is nowhere any more');

  const session = await house.session((await house.assistant()).id);
  const turn = await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
  await turn.rest();
  await receiver.until((received) => received.length === 1);
  const [first] = receiver.received;
  t.match(first, { isSigned: true, event: { type: 'turn.completed', data: { turn_id: turn.turnId } } });
  const row = rows(page).filter({ hasText: 'turn.completed' });
  await row.getByText('delivered').waitFor();
  t.same(await findings(page), []);
  await row.getByRole('button', { name: 'Retry' }).click();
  await receiver.until((received) => received.length === 2);
  t.same(receiver.received[1]!.id, first!.id, 'the retry has the same webhook-id');
  await row.locator('.n').filter({ hasText: /^2$/ }).waitFor();

  await page.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit webhook' });
  await edit.getByLabel('session.ended').check();
  await edit.getByRole('button', { name: 'Save' }).click();
  await page.locator('.facts').getByText('turn.completed, session.ended').waitFor();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByText('No events are made while it is disabled').waitFor();
  t.same(await findings(page), []);
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.getByRole('link', { name: 'Webhooks' }).first().click();
  await page.getByRole('table', { name: 'Webhooks' }).getByRole('link', { name: receiver.url }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByText('No webhooks yet').waitFor();
  withoutRefusal(complaints);
}

/** Removes the complaint about the URL that is refused on purpose. */
const withoutRefusal = (complaints: string[]): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 422/.test(one)));

async function full(t: Test, page: Page, { house, url }: Console): Promise<void> {
  const path = `/workspaces/${house.workspaceId}/webhooks`;
  const body = { url: 'https://crm.example.com/', events: ['turn.failed'] };
  const ids: string[] = [];
  while (ids.length < 4) ids.push((await house.console(path, { body })).json.id);
  await page.goto(url(house.workspaceId, 'webhooks'));
  await page.getByRole('button', { name: 'Create webhook' }).waitFor();
  ids.push((await house.console(path, { body })).json.id);
  await page.reload();
  await page.getByText('5 at most').waitFor();
  t.equal(await page.getByRole('button', { name: 'Create webhook' }).count(), 0);
  for (const id of ids) await house.console(`${path}/${id}`, { method: 'DELETE' });
}
