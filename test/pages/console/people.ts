/** People in the console: invited with a role, their role changed, blocked; and what each role is shown. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { openPage, patience, type Opened } from '../../browser.ts';
import { roles, type Role } from '../../../src/base/roles.ts';
import { findings, settled, turnTo, within, type Console, type Furnished } from './console.ts';

export async function people(t: Test, console: Console, full: Furnished): Promise<void> {
  await within(t, console, 'an owner invites a colleague with a role, changes it, and blocks the colleague', invited);
  await within(t, console, 'a long name fits every dialog, and a phone shows what tells people apart', longNames);
  for (const role of roles)
    await t.test(`the console shows only what the role ${role} permits`, (t) => shownTo(t, console, full, role));
}

/** A page of a person who has signed in by a link. */
export async function signedIn({ house, browser }: Console, url: string): Promise<Opened> {
  const opened = await openPage(browser, { origin: house.url, width: 1440, height: 900, colorScheme: 'light' });
  const link = new URL(url);
  opened.page.setDefaultTimeout(patience);
  await opened.page.goto(`${house.url}${link.pathname}${link.hash}`);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  // The links of a workspace stand there once the list of workspaces has come.
  await opened.page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Sessions' }).waitFor();
  return opened;
}

async function invited(t: Test, page: Page, console: Console): Promise<void> {
  await page.goto(console.url('people'));
  await page.getByRole('button', { name: 'Invite a colleague' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Edith');
  await dialog.getByLabel('Role', { exact: true }).selectOption('attendant');
  await dialog.getByLabel('In', { exact: true }).selectOption(console.house.workspaceId);
  t.same(await findings(page), []);
  await page.keyboard.press('Enter');
  await dialog.getByText('signs in as attendant in').waitFor();
  const url = (await dialog.locator('.once').textContent())!;
  await dialog.getByRole('button', { name: 'Done' }).click();

  const edith = await signedIn(console, url);
  t.same(await navigationOf(edith.page), ['Live', 'Desk', 'Assistants', 'Sessions', 'Workspaces']);

  await page.reload();
  const row = page.getByRole('table', { name: 'People' }).getByRole('row', { name: /Edith/ });
  await row.getByText('attendant', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Change the role of Edith' }).click();
  await dialog.getByLabel('Role', { exact: true }).selectOption('viewer');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('viewer', { exact: true }).waitFor();
  await edith.page.reload();
  await edith.page.getByRole('link', { name: 'Usage' }).waitFor();

  await row.getByRole('button', { name: 'Block Edith' }).click();
  await dialog.getByText('All sign-ins of Edith end at once').waitFor();
  await dialog.getByRole('button', { name: 'Block' }).click();
  await row.getByText('blocked', { exact: true }).waitFor();
  await edith.page.reload();
  await edith.page.getByLabel('Operator token').waitFor();
  await edith.context.close();
  await row.getByRole('button', { name: 'Unblock Edith' }).click();
  await dialog.getByRole('button', { name: 'Unblock' }).click();
  await row.getByRole('button', { name: 'Block Edith' }).waitFor();
}

async function longNames(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  const name = 'W'.repeat(60);
  const link = (await house.console('/sign-in-links', { body: { name, role: 'viewer' } })).json;
  const { page: theirs, context } = await signedIn(console, link.url);
  const { id } = (await theirs.evaluate(`fetch('/console/api/me').then((answer) => answer.json())`)) as { id: string };
  await page.setViewportSize({ width: 360, height: 900 });
  await page.goto(console.url('people'));
  for (const button of ['Change the role of', 'Block', 'End the sign-in of']) {
    await page.getByRole('button', { name: `${button} ${name}` }).click();
    const dialog = page.getByRole('dialog');
    t.equal(await dialog.evaluate((it) => it.scrollWidth - it.clientWidth), 0, `${button}: the dialog fits`);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  }
  const signIn = page.getByRole('table', { name: 'Sign-ins' }).getByRole('row').filter({ hasText: name });
  await signIn.getByText(/Chrome.* · 127\.0\.0\.1 · /).waitFor();
  await house.console(`/people/${id}`, { method: 'PATCH', body: { blocked: true } });
  await page.reload();
  const person = page.getByRole('table', { name: 'People' }).getByRole('row').filter({ hasText: name });
  await person.getByText(/^blocked · viewer · /).waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  await context.close();
}

const navigationOf = (page: Page): Promise<string[]> =>
  page.locator('nav[aria-label="Console"] > a:not(.brand)').allTextContents();

const ofTests = ['Make a test of this conversation', 'New test', 'Replay conversations'];
const buildersOnly = [
  'Create assistant',
  'Create tool',
  'Save',
  'Publish',
  'Unpublish',
  'Disable',
  'Restore as draft',
  ...ofTests,
];
const ownersOnly = ['Create key', 'Create webhook', 'Enter credential', 'Create workspace', 'Edit', 'Erase'];

/** Buttons that each role is not shown, on the pages that it may read. */
const withheld: Readonly<Record<Role, readonly string[]>> = {
  owner: [],
  editor: ownersOnly,
  attendant: [...ownersOnly, ...buildersOnly],
  viewer: [...ownersOnly, ...buildersOnly, 'End'],
};

async function shownTo(t: Test, console: Console, full: Furnished, role: Role): Promise<void> {
  const { house } = console;
  const { json } = await house.console('/sign-in-links', { body: { name: `An ${role}`, role } });
  const { page, context, complaints } = await signedIn(console, json.url);
  const url: Console['url'] = (...path) => [`${house.url}/console`, ...path].join('/');
  // The first page is loaded; the others are reached from it.
  await page.reload();
  await settled(page);
  const w = house.workspaceId;
  const permitted: string[] = [];
  const buttons = new Set<string>();
  for (const path of [
    ...['live', 'assistants', 'tools', 'keys', 'webhooks', 'sessions', 'usage', 'credentials'].map(
      (name) => `${w}/${name}`,
    ),
    ...['load', 'workspaces', 'people', 'audit'],
    ...[`${w}/assistants/${full.assistant.id}`, `${w}/sessions/${full.session.id}`],
    ...['versions/1', 'tests'].map((page) => `${w}/assistants/${full.assistant.id}/${page}`),
  ]) {
    complaints.length = 0;
    await turnTo(page, { url }, url(path));
    const isRefused = (await page.getByRole('heading', { name: 'Your role does not permit this' }).count()) > 0;
    if (!isRefused) permitted.push(path.replace(/^wks_\w+\//, '').replace(/\/.*/, ' '));
    for (const name of await page.locator('main button:visible, main a.button:visible').allTextContents())
      buttons.add(name);
    t.same(complaints, [], `${path} asks for nothing that is refused`);
  }
  t.same(permitted, expected[role]);
  t.same(
    withheld[role].filter((name) => buttons.has(name)),
    [],
    'no button that would be refused',
  );
  const others = new Set(Object.values(withheld).flat());
  t.same(
    [...others].filter((name) => !withheld[role].includes(name) && !buttons.has(name) && !never.includes(name)),
    [],
    'each button that the role permits',
  );
  await context.close();
}

/** Buttons that the pages of the test show in another state only. */
const never = ['Publish', 'Disable', 'Create tool'];

const all = [
  'live',
  'assistants',
  'tools',
  'keys',
  'webhooks',
  'sessions',
  'usage',
  'credentials',
  'load',
  'workspaces',
  'people',
  'audit',
  'assistants ',
  'sessions ',
  'assistants ',
  'assistants ',
];
const without = (...names: readonly string[]): readonly string[] => all.filter((name) => !names.includes(name));
const expected: Readonly<Record<Role, readonly string[]>> = {
  owner: all,
  editor: without('keys', 'people', 'audit'),
  attendant: without('tools', 'keys', 'webhooks', 'usage', 'credentials', 'load', 'people', 'audit'),
  viewer: without('tools', 'keys', 'credentials', 'people', 'audit'),
};
