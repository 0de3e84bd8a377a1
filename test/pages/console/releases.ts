/** Releases in the console: an assistant's draft and its versions, published, compared, restored and rolled back to. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { findings, settled, turnTo, until, within, type Console } from './console.ts';

export async function theReleases(t: Test, console: Console): Promise<void> {
  await within(t, console, 'the bar says how the draft differs, and publishes it with a note', publishChanges);
  await within(t, console, 'a change of another person is shown, and nothing that was typed is lost', bothEdit);
  await within(t, console, 'a draft that changed before it is published is compared again', publishConflict);
  await within(t, console, 'versions are listed and compared word by word, tools side by side', compareVersions);
  await within(t, console, 'a version is restored as the draft, with the tools that differ', restoreVersion);
  await within(t, console, 'an earlier version is rolled back to', rollBack);
  await within(t, console, 'a session and its transcript name their version', sessionsNamed);
  await within(t, console, 'an edited tool names the assistants whose draft it changed', editTool);
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const bar = (page: Page) => page.getByRole('region', { name: 'Release' });
const greetingField = (page: Page) => page.getByRole('textbox', { name: 'Greeting' });
const dialog = (page: Page) => page.getByRole('dialog');

const withoutConflict = (complaints: string[]): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes('status of 409')));

async function publishChanges(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const path = `/workspaces/${house.workspaceId}/assistants`;
  const body = { name: 'released', greeting: 'One' };
  const { id } = (await house.console(path, { body })).json;
  const greeting = async () => (await house.ask(`/assistants/${id}`)).json.greeting;
  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  await bar(page).getByText('Not published yet').waitFor();
  t.same(await bar(page).getByRole('link').allTextContents(), ['Tests'], 'nothing to compare with');
  await button(page, 'Publish').click();
  await dialog(page).getByText('It is the first version.').waitFor();
  await dialog(page).getByLabel('Note (optional)').press('Enter');
  await bar(page).getByText('Version 1 is live.').waitFor();
  t.equal(await button(page, 'Publish').count(), 0, 'nothing to publish');

  await greetingField(page).fill('Two');
  await bar(page).getByText('The form has unsaved changes.').waitFor();
  await button(page, 'Save and publish').waitFor();
  await button(page, 'Save').click();
  await bar(page).getByText('Draft differs from version 1.').waitFor();
  t.equal(await greeting(), 'One', 'people have version 1');
  t.same(await findings(page), []);
  await button(page, 'Publish').click();
  await dialog(page).getByText('Differs from version 1: Greeting.').waitFor();
  t.same(await findings(page, 'not contrast'), []);
  await dialog(page).getByLabel('Note (optional)').fill('A shorter greeting');
  await dialog(page).getByRole('button', { name: 'Publish', exact: true }).click();
  await bar(page).getByText('Version 2 is live.').waitFor();
  t.equal(await greeting(), 'Two');
  t.equal((await house.console(`${path}/${id}/versions/2`)).json.note, 'A shorter greeting');

  await greetingField(page).fill('Three');
  await button(page, 'Save and publish').click();
  await dialog(page).getByText('The unsaved changes are published').waitFor();
  await dialog(page).getByRole('button', { name: 'Save and publish' }).click();
  await bar(page).getByText('Version 3 is live.').waitFor();
  t.match((await house.ask(`/assistants/${id}`)).json, { greeting: 'Three', version: 3 });

  await greetingField(page).fill('One');
  await button(page, 'Save').click();
  await bar(page).getByRole('link', { name: 'Compare' }).click();
  await page.getByRole('heading', { name: 'Version 3 → Draft' }).waitFor();
  t.equal(
    (await page.getByRole('region', { name: 'Greeting' }).locator('.swap').textContent())!.replaceAll(/\s+/g, ' '),
    'Before: Three → After: One',
  );
}

async function bothEdit(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await house.assistant({ name: 'edited twice', greeting: 'One' });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const stored = async () => (await house.console(path)).json;
  const notice = page.getByRole('alert', { name: 'Changed by another person' });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  await settled(page);
  await greetingField(page).fill('Mine');
  await page.getByLabel('Description').fill('My description');
  await house.console(path, { method: 'PATCH', body: { greeting: 'Theirs', max_call_seconds: 120 } });
  await button(page, 'Save').click();
  await notice.getByText('The form now also has their Max session length.').waitFor();
  await notice.getByText('Both of you changed 1 setting.').waitFor();
  t.equal((await stored()).greeting, 'Theirs', 'nothing is overwritten');
  t.same(
    [await greetingField(page).inputValue(), await page.getByLabel('Max session length').inputValue()],
    ['Mine', '2 min'],
  );
  t.same(await findings(page), []);
  await notice.getByRole('button', { name: 'Use theirs: Greeting' }).click();
  t.equal(await greetingField(page).inputValue(), 'Theirs');
  await greetingField(page).fill('Mine after all');
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  await notice.waitFor({ state: 'detached' });
  t.match(await stored(), { greeting: 'Mine after all', description: 'My description', max_call_seconds: 120 });

  await greetingField(page).fill('Typed before a reload');
  await house.console(path, { method: 'PATCH', body: { max_call_seconds: 180 } });
  page.once('dialog', (leaving) => void leaving.accept());
  await page.reload();
  await notice.getByText('The form now also has their Max session length.').waitFor();
  t.equal(await greetingField(page).inputValue(), 'Typed before a reload');
  await notice.getByRole('button', { name: 'Close' }).click();
  await notice.waitFor({ state: 'detached' });
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { greeting: 'Typed before a reload', max_call_seconds: 180 });

  await greetingField(page).fill('While a name is changed');
  await house.console(path, { method: 'PATCH', body: { name: 'renamed', link: { slug: 'renamed' } } });
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(
    await stored(),
    { name: 'renamed', greeting: 'While a name is changed', link: { slug: 'renamed' } },
    'a setting that is not in the draft stays too',
  );
  withoutConflict(complaints);
}

async function publishConflict(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await house.assistant({ name: 'published twice', greeting: 'One' });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  await house.console(path, { method: 'PATCH', body: { greeting: 'Two' } });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  await button(page, 'Publish').click();
  await dialog(page).getByText('Differs from version 1: Greeting.').waitFor();
  await dialog(page).getByLabel('Note (optional)').fill('Kept');
  await house.console(path, { method: 'PATCH', body: { max_call_seconds: 120 } });
  const publish = dialog(page).getByRole('button', { name: 'Publish', exact: true });
  await publish.click();
  await dialog(page).getByText('publish again to release it').waitFor();
  await dialog(page).getByText('Differs from version 1: Greeting and Max session length.').waitFor();
  t.equal((await house.console(path)).json.version, 1);
  t.equal(await dialog(page).getByLabel('Note (optional)').inputValue(), 'Kept');
  await publish.click();
  await bar(page).getByText('Version 2 is live.').waitFor();
  t.match((await house.console(`${path}/versions/2`)).json, { note: 'Kept', config: { max_call_seconds: 120 } });
  withoutConflict(complaints);
}

const parameters = { type: 'object', properties: { order: { type: 'string' } } };

/** An assistant with two versions, whose tool was edited after the second. */
async function withVersions({ house }: Console, name: string) {
  const body = {
    kind: 'http',
    name: `Orders of ${name}`,
    url: 'https://orders.example.com/call',
    functions: [{ name: `look_up_${name}`, description: 'Looks an order up.', parameters }],
  };
  const tool = (await house.console(`/workspaces/${house.workspaceId}/tools`, { body })).json.id;
  const model = (days: number) => ({
    provider: 'scripted',
    name: 'scripted',
    system_prompt: `Be brief.\nRefunds within ${days} days.\n`,
  });
  const { id } = await house.assistant({ name, greeting: 'Hello', model: model(14), tool_ids: [tool] });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  await house.console(path, { method: 'PATCH', body: { model: model(30), greeting: 'Good day' } });
  await house.console(`${path}/publish`, { body: { note: 'Refunds within 30 days' } });
  const edited = { timeout_seconds: 60, functions: [{ ...body.functions[0], description: 'Finds an order.' }] };
  await house.console(`/workspaces/${house.workspaceId}/tools/${tool}`, { method: 'PATCH', body: edited });
  return { id, path, tool };
}

async function compareVersions(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id } = await withVersions(console, 'compared');
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  await bar(page).getByRole('link', { name: 'Versions' }).click();
  const rows = page.getByRole('table', { name: 'Versions' }).getByRole('row');
  await rows.nth(2).waitFor();
  t.match(await rows.nth(1).textContent(), /^Version 2Refunds within 30 days.*current.*operator/);
  t.match(await rows.nth(2).textContent(), /^Version 1.*retired/);
  await rows.nth(1).getByRole('link').click();
  await page.getByRole('heading', { name: 'Version 1 → Version 2' }).waitFor();
  const prompt = page.getByRole('region', { name: 'System prompt' });
  await prompt.locator('ins').waitFor();
  t.same(
    [await prompt.locator('del').allTextContents(), await prompt.locator('ins').allTextContents()],
    [['14 '], ['30 ']],
  );
  t.equal(await page.getByRole('region', { name: 'Settings' }).getByText('Refunds within 30 days.').count(), 1);
  await page.getByLabel('Compare with').selectOption('draft');
  await page.getByRole('heading', { name: 'Version 2 → Draft' }).waitFor();
  t.equal(new URL(page.url()).search, '?from=draft');
  const tool = page.getByRole('region', { name: 'Tool Orders of compared' });
  await tool.getByRole('group', { name: 'Timeout' }).waitFor();
  const sides = async (name: string) =>
    (await tool.getByRole('group', { name }).locator('.prose').allTextContents()).map((text) => text.split('\n')[0]);
  t.same(await sides('Timeout'), ['Version 2: 20 s', 'Draft: 1 min']);
  t.same(await sides('look_up_compared'), ['Version 2: Looks an order up.', 'Draft: Finds an order.']);
  t.same(await findings(page), []);
  await page.goBack();
  await page.getByRole('heading', { name: 'Version 1 → Version 2' }).waitFor();
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'versions', '1'));
  await page.getByRole('heading', { name: 'It is the first version' }).waitFor();
  for (const nothing of ['versions/0', 'versions/x', 'versions/1/2', 'drafts', 'versions/1?from=0']) {
    await page.goto(url(house.workspaceId, 'assistants', id, nothing));
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  }
}

async function restoreVersion(t: Test, page: Page, console: Console, complaints: string[]): Promise<void> {
  const { url, house } = console;
  const { id, path } = await withVersions(console, 'restored');
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'versions', '1'));
  await button(page, 'Restore as draft').click();
  await dialog(page).getByText('The changes of the present draft are lost.').waitFor();
  t.same(await findings(page, 'not contrast'), []);
  // Another person changes the draft meanwhile.
  await house.console(path, { method: 'PATCH', body: { max_call_seconds: 120 } });
  const restore = dialog(page).getByRole('button', { name: 'Restore', exact: true });
  await restore.click();
  await dialog(page).getByText('restore again to replace it').waitFor();
  t.equal((await house.console(path)).json.max_call_seconds, 120);
  await restore.click();
  const differ = page.getByRole('dialog', { name: 'Restored, except for a tool' });
  await differ.getByRole('region', { name: 'Tool Orders of restored' }).waitFor();
  t.same(await findings(page, 'not contrast'), []);
  await differ.getByRole('button', { name: 'To the draft' }).click();
  await bar(page).getByText('Draft differs from version 2.').waitFor();
  t.equal(await greetingField(page).inputValue(), 'Hello');
  t.match((await house.console(path)).json, { version: 2, greeting: 'Hello', max_call_seconds: 3600 });
  withoutConflict(complaints);
}

async function rollBack(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id, path } = await withVersions(console, 'rolled');
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'versions'));
  await button(page, 'Roll back').click();
  await dialog(page).getByText('New conversations get the version that was current before at once').waitFor();
  await dialog(page).getByText('stay on it until they end').waitFor();
  t.same(await findings(page, 'not contrast'), []);
  await dialog(page).getByRole('button', { name: 'Roll back' }).click();
  const row = page.getByRole('table', { name: 'Versions' }).getByRole('row').filter({ hasText: 'Version 1' });
  await row.getByText('current').waitFor();
  t.match((await house.console(path)).json, { version: 1, greeting: 'Good day' }, 'the draft stays');
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id, 'versions', '2'));
  await button(page, 'Make current').click();
  await dialog(page).getByRole('button', { name: 'Make current' }).click();
  await page.locator('.head .pill', { hasText: 'current' }).waitFor();
  t.equal((await house.console(path)).json.version, 2);
  await button(page, 'Make current').waitFor({ state: 'detached' });
}

async function sessionsNamed(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id } = await withVersions(console, 'talked');
  const session = await house.session(id);
  await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Count to 7' } })).rest();
  const trial = (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}/trials`, { method: 'POST' }))
    .json;
  await turnTo(page, { url }, url(house.workspaceId, `sessions?assistant_id=${id}`));
  const row = (words: string) => page.getByRole('row').filter({ hasText: words });
  await row('Count to 7').filter({ hasText: 'talked version 2' }).waitFor();
  await row('Nothing was said yet').filter({ hasText: 'talked draft' }).waitFor();
  const fact = () => page.locator('.facts div').filter({ has: page.getByText('Version', { exact: true }) });
  for (const place of ['sessions', 'live/session']) {
    await turnTo(page, { url }, url(house.workspaceId, place, trial.id));
    await fact().getByText('draft, as a trial').waitFor();
    await turnTo(page, { url }, url(house.workspaceId, place, session.id));
    await fact().getByRole('link', { name: '2', exact: true }).waitFor();
  }
  await turnTo(page, { url }, url(house.workspaceId, 'sessions', session.id));
  const reply = page.getByRole('article', { name: 'Assistant' }).filter({ hasText: '5, 6, 7.' });
  t.match(await reply.locator('small').textContent(), /, version 2/);
  await fact().getByRole('link').click();
  await page.getByRole('heading', { name: 'Version 2', exact: true }).waitFor();
}

async function editTool(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id, path, tool } = await withVersions(console, 'tooled');
  await house.console(`${path}/publish`, { method: 'POST' });
  await turnTo(page, { url }, url(house.workspaceId, 'tools', tool));
  await page.getByRole('link', { name: 'tooled' }).waitFor();
  const notice = page.getByText('An edit changes drafts. Publish to make it effective:');
  t.equal(await notice.count(), 0);
  await page.getByText('At once and in every version, without publishing').waitFor();
  await page.getByLabel('Timeout').fill('5 s');
  await button(page, 'Save').click();
  await notice.waitFor();
  t.match(await notice.textContent(), /tooled \(the draft differs from version 3\)/);
  t.same(await findings(page), []);
  await notice.getByRole('link', { name: 'tooled' }).click();
  await bar(page).getByText('Draft differs from version 3.').waitFor();
  await until(page, `location.pathname.endsWith('${id}')`);
}
