/** The settings of part 19 in forms: fallback models of an assistant, and the token budget of a key. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { must } from '../../api/house.ts';
import { credentialOf } from '../../api/talk.ts';
import { findings, settled, within, type Console } from './console.ts';

export async function modelSettings(t: Test, console: Console): Promise<void> {
  await within(t, console, 'fallback models are added, ordered and removed', fallbacks);
  await within(t, console, 'a refused fallback is explained at its field', refusedFallback);
  await within(t, console, 'a key gets a token budget, shows what is left of it and loses it', tokenBudget);
}

/** The group of a fallback, by its place. */
const group = (page: Page, place: number) => page.getByRole('group', { name: `Fallback ${place}`, exact: true });

const saved = (page: Page): Promise<void> => page.getByText('Not saved yet.').waitFor({ state: 'detached' });

async function openModel(page: Page, { url, house }: Console, fields: object): Promise<() => Promise<any>> {
  const { id } = await house.assistant(fields);
  await page.goto(`${url(house.workspaceId, 'assistants', id)}?section=model`);
  await settled(page);
  return async () => (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json.model;
}

async function fallbacks(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  const credential = await credentialOf(house, 'openai', 'http://127.0.0.1:9/fallbacks/v1');
  const model = await openModel(page, console, { name: 'with fallbacks' });
  t.equal(await page.getByText('None. A fallback answers').count(), 1, 'the empty state');
  const add = page.getByRole('button', { name: 'Add a fallback' });
  await add.click();
  await group(page, 1).getByLabel('Model').fill('gpt-first');
  await group(page, 1).getByLabel('Credential').selectOption(credential.id);
  await add.click();
  t.equal(await add.count(), 0, 'two at most');
  await group(page, 2).getByLabel('Provider').selectOption('scripted');
  t.equal(await group(page, 2).getByLabel('Model').count(), 0, 'the embedded model has no name to fill in');
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    t.same(await findings(page, 'not contrast'), [], `at ${width} px`);
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `nothing is cut at ${width} px`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved(page);
  const first = { provider: 'openai', name: 'gpt-first', credential_id: credential.id };
  const second = { provider: 'scripted', name: 'scripted', credential_id: null };
  t.same((await model()).fallbacks, [first, second]);

  await page.getByRole('button', { name: 'Move up fallback 2' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved(page);
  t.same((await model()).fallbacks, [second, first], 'in the order of the form');
  await page.reload();
  await settled(page);
  t.equal(await group(page, 2).getByLabel('Model').inputValue(), 'gpt-first', 'as it is stored');
  await page.getByRole('button', { name: 'Remove fallback 1' }).click();
  await page.getByRole('group', { name: 'Fallback models' }).and(page.locator(':focus')).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved(page);
  t.same((await model()).fallbacks, [first]);
  await page.getByRole('button', { name: 'Remove fallback 1' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved(page);
  t.same((await model()).fallbacks, []);
}

async function refusedFallback(t: Test, page: Page, console: Console, complaints: string[]): Promise<void> {
  const { house } = console;
  const credential = await credentialOf(house, 'openai', 'http://127.0.0.1:9/gone/v1');
  const model = await openModel(page, console, { name: 'with a refused fallback' });
  const add = page.getByRole('button', { name: 'Add a fallback' });
  await add.click();
  await group(page, 1).getByLabel('Model').fill('gpt-first');
  await add.click();
  await group(page, 2).getByLabel('Model').fill('gpt-second');
  await group(page, 2).getByLabel('Credential').selectOption(credential.id);
  await must(
    () => house.console(`/workspaces/${house.workspaceId}/credentials/${credential.id}`, { method: 'DELETE' }),
    204,
  );
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const fault = group(page, 2).locator('.fault');
  await fault.waitFor();
  t.match(await fault.textContent(), /model\.fallbacks\.1\.credential_id/);
  t.equal(await page.locator('.fields .fault').count(), 1, 'at no other field');
  t.same((await model()).fallbacks, []);
  // A model without a name is refused by the form.
  await group(page, 1).getByLabel('Model').fill('');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('[name="model.fallbacks.0.name"]:focus').waitFor();
  await page.getByRole('button', { name: 'Discard changes' }).click();
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 422/.test(one)));
}

async function tokenBudget(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.newKey({ name: 'with a budget' });
  const read = async () => (await house.console(`/workspaces/${house.workspaceId}/keys/${id}`)).json;
  await page.goto(url(house.workspaceId, 'keys', id));
  await settled(page);
  const field = page.getByLabel('Tokens per day');
  t.equal(await field.inputValue(), '', 'unlimited');
  t.equal(await page.getByRole('meter', { name: 'Tokens today left' }).count(), 0);
  await field.fill('5000');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const meter = page.getByRole('meter', { name: 'Tokens today left' });
  await meter.waitFor();
  t.equal(await meter.getAttribute('aria-valuenow'), '5000');
  t.equal((await read()).limits.tokens_per_day, 5000);
  for (const width of [1440, 360]) {
    await page.setViewportSize({ width, height: 900 });
    t.same(await findings(page, 'not contrast'), [], `at ${width} px`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await field.fill('');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await meter.waitFor({ state: 'detached' });
  t.equal((await read()).limits.tokens_per_day, null);
}
