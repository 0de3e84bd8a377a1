/** The page of a published assistant: its draft is saved, and reaches people once it is published. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { findings, settled, within, type Console } from './console.ts';

export async function theReleases(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a saved change of a published assistant is published by a button', publishChanges);
  await within(t, console, 'a change that is based on an older draft is refused, and kept for a reload', refuseOlder);
}

async function publishChanges(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({ name: 'released', greeting: 'One' });
  const greeting = async () => (await house.ask(`/assistants/${id}`)).json.greeting;
  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  t.equal(await button('Publish changes').count(), 0, 'nothing to publish');
  await page.getByLabel('Greeting').fill('Two');
  await button('Save and publish').waitFor();
  await button('Save').click();
  await page.getByText('The draft differs from version 1.').waitFor();
  t.equal(await greeting(), 'One', 'people have version 1');
  t.same(await findings(page), []);
  await button('Publish changes').click();
  await button('Publish changes').waitFor({ state: 'detached' });
  t.equal(await greeting(), 'Two');
  await page.getByLabel('Greeting').fill('Three');
  await button('Save and publish').click();
  await button('Save and publish').waitFor({ state: 'detached' });
  t.match((await house.ask(`/assistants/${id}`)).json, { greeting: 'Three', version: 3 });
}

async function refuseOlder(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await house.assistant({ name: 'edited twice', greeting: 'One' });
  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  await page.getByLabel('Greeting').fill('Mine');
  await house.revise(id, { greeting: 'Theirs' });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Reload to see the present one.').waitFor();
  const stored = async () => (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json.greeting;
  t.equal(await stored(), 'Theirs', 'nothing is overwritten');
  page.once('dialog', (dialog) => void dialog.accept());
  await page.reload();
  await settled(page);
  t.equal(await page.getByLabel('Greeting').inputValue(), 'Mine', 'what was typed is still there');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.equal(await stored(), 'Mine');
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes('status of 409')));
}
