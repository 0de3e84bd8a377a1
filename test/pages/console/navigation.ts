/**
 * Addresses of the console: each leads to its page or to one that says why not, with a title, the focus and a word for
 * screen readers.
 */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { follow, settled, turnTo, until, within, type Console, type Furnished } from './console.ts';

export async function navigation(t: Test, console: Console, full: Furnished): Promise<void> {
  await within(t, console, 'an address that is malformed or leads nowhere has an error page', lostAddresses);
  await within(
    t,
    console,
    'a page that is arrived at has the focus on its heading, and its title is announced',
    (t, page) => arriving(t, page, console, full),
  );
  await within(t, console, 'a title names the thing that is shown', (t, page, _, complaints) =>
    titles(t, page, console, full, complaints),
  );
  await within(
    t,
    console,
    'a date is typed into the filters, and they are cleared with what was searched for',
    filtersTyped,
  );
}

const none = '0'.repeat(26);

async function lostAddresses(t: Test, page: Page, console: Console, complaints: string[]): Promise<void> {
  const { house, url } = console;
  const w = house.workspaceId;
  const lost: readonly (readonly [path: string, heading: RegExp, field?: string])[] = [
    ...[
      '%',
      '%E0%A4',
      'a%',
      `${w}/%`,
      `${w}/keys/%zz`,
      `${w}/sessions/ses_%C3%28`,
      'nowhere',
      `${w}/nowhere`,
      `${w}/constructor`,
      `${w}/keys/key_1/more`,
      `${w}/live/session/ses_1/more`,
      `${w}/keys/..%2F..`,
      `${w}/sessions/a%20b`,
      'wks_%2F..',
      'people/more',
    ].map((path) => [path, /^There is no such page$/] as const),
    ...[
      'from=abc',
      'from=-1',
      'to=1e9',
      'to=99999999999999999999',
      'status=lost',
      'channel=fax',
      'assistant_id=a%20b',
    ].map((query) => [`${w}/sessions?${query}`, /^There is no such page$/, query.split('=')[0]!] as const),
    ...['days=abc', 'days=0', 'bucket=week'].map(
      (query) => [`${w}/usage?${query}`, /^There is no such page$/, query.split('=')[0]!] as const,
    ),
    ...['kind=robot', 'state=asleep', 'kind=turn&state=open'].map(
      (query) => [`${w}/live?${query}`, /^There is no such page$/] as const,
    ),
    ...([
      [`${w}/assistants/asst_${none}`, /^There is no such assistant$/],
      [`${w}/keys/key_${none}`, /^There is no such key$/],
      [`${w}/tools/tool_${none}`, /^There is no such tool$/],
      [`${w}/sessions/ses_${none}`, /^There is no such session$/],
    ] as const),
    ...([
      [`${w}/live/session/ses_${none}`, /^There is no such session$/],
      [`${w}/live/robot/x_1`, /^There is no such actor$/],
      [`${w}/live/session`, /^There is no such actor$/],
    ] as const),
    ...([
      [`wks_${none}/keys`, /^There is no such workspace$/],
      [`wks_${none}/live`, /^There is no such workspace$/],
      [`wks_${none}`, /^There is no such workspace$/],
    ] as const),
  ];
  for (const [path, heading, field] of lost) {
    if (['%', `${w}/%`, `${w}/sessions?from=abc`].includes(path)) await page.goto(url(path));
    else await follow(page, url(path));
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    t.equal(await page.locator('.empty a.button').count(), 1, `${path} has a way on`);
    if (field !== undefined)
      t.match(
        await page.locator('.empty').textContent(),
        `The field ${field} of the address`,
        'and says which field cannot be read',
      );
  }
  for (const path of [`${w}/sessions?from=&status=&q=%`, `${w}/live/session/ses_1?at=%`]) {
    await page.goto(url(path));
    await settled(page);
    t.ok(await page.locator('h1').textContent(), `${path} is no white page`);
  }
  await page.goto(`${url()}#sign-in=abc%`);
  await page.getByText('The link is not whole.').waitFor();
  t.ok(
    await page.getByLabel('Operator token').isVisible(),
    'a link that is not whole says so, beside the other way in',
  );
  withoutMissing(complaints);
}

/** Removes the browser's complaints about answers 404. */
const withoutMissing = (complaints: string[]): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 404/.test(one)));

const focusedTag = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.tagName + " " + document.activeElement.textContent');

async function arriving(t: Test, page: Page, { url, house }: Console, { key }: Furnished): Promise<void> {
  await page.goto(url(house.workspaceId, 'keys'));
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  t.equal(
    await page.evaluate('document.activeElement.tagName'),
    'BODY',
    'the first page leaves the focus to the browser',
  );
  const said = page.locator('.shell > [role="status"]');
  t.equal(await said.textContent(), '');
  const steps: readonly (readonly [go: () => Promise<unknown>, heading: string, title: string])[] = [
    [() => page.getByRole('link', { name: 'web shop' }).click(), 'web shop', 'web shop · Keys · parley'],
    [
      () => page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Usage' }).click(),
      'Usage',
      'Usage · parley',
    ],
    [() => page.goBack(), 'web shop', 'web shop · Keys · parley'],
    [() => page.goBack(), 'Keys', 'Keys · parley'],
    [() => page.goForward(), 'web shop', 'web shop · Keys · parley'],
  ];
  for (const [go, heading, title] of steps) {
    await go();
    await page.locator('h1:focus').filter({ hasText: heading }).waitFor();
    t.same([await focusedTag(page), await page.title()], [`H1 ${heading}`, title]);
    await said.filter({ hasText: title }).waitFor({ state: 'attached' });
  }
  // An address that differs in its query alone is of the same page.
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Live' }).click();
  await page.locator('h1:focus').waitFor();
  await page
    .getByRole('link', { name: /^Keys\d*$/ })
    .last()
    .click();
  await page.waitForURL(/kind=key/);
  t.match(await focusedTag(page), /^A Keys/, 'the focus stays on a tab that was chosen');
  await page.goto(url(house.workspaceId, 'keys'));
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  // A dialog gives the focus back.
  await page.locator('button:focus').filter({ hasText: 'Create key' }).waitFor();
  t.ok(key.id);
}

async function titles(
  t: Test,
  page: Page,
  console: Console,
  { assistant, key, session, over, ended }: Furnished,
  complaints: string[],
): Promise<void> {
  const { url, house } = console;
  const w = house.workspaceId;
  const shown: readonly (readonly [path: string, title: RegExp])[] = [
    [`${w}/assistants/${assistant.id}`, /^opening hours · Assistants · parley$/],
    [`${w}/assistants/new`, /^New assistant · Assistants · parley$/],
    [`${w}/live/key/${key.id}`, /^web shop · Live · parley$/],
    [`${w}/live/turn/${over}?session=${ended.id}`, /^Turn turn_\w+… · Live · parley$/],
    [`${w}/sessions/ses_${none}`, /^There is no such session · parley$/],
    [`${w}/sessions/${session.id}`, /support.* · Sessions · parley$/],
  ];
  for (const [path, title] of shown) {
    await turnTo(page, console, url(path));
    await until(page, `${title}.test(document.title)`);
    t.pass(path.replace(/wks_\w+/, ''));
  }
  withoutMissing(complaints);
}

async function filtersTyped(t: Test, page: Page, { url, house }: Console): Promise<void> {
  await page.goto(url(house.workspaceId, 'sessions'));
  await page.getByRole('table', { name: 'Sessions' }).waitFor();
  await page.getByText('More filters').click();
  const from = page.getByLabel('Opened after');
  await from.focus();
  // Key by key, as the browser's field takes them: the year is 0002 at first.
  await page.keyboard.type('11282025');
  await page.keyboard.press('Tab');
  await page.keyboard.type('0930AM', { delay: 20 });
  t.equal(await from.inputValue(), '2025-11-28T09:30');
  await page.waitForURL(/[?&]from=\d{10}/);
  t.equal(Number(new URL(page.url()).searchParams.get('from')) * 1000, new Date(2025, 10, 28, 9, 30).getTime());
  t.equal(await from.inputValue(), '2025-11-28T09:30', 'what was typed stays');
  const search = page.getByLabel('ID or visitor prefix');
  await search.fill('nobody at all');
  await page.getByText('No session matches').waitFor();
  await search.pressSequentially(' else');
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await page.getByRole('table', { name: 'Sessions' }).waitFor();
  t.same(
    [await search.inputValue(), await page.getByLabel('Opened after').inputValue(), new URL(page.url()).search],
    ['', '', ''],
    'all of them are cleared',
  );
  // A text that was still typed would come back after a pause of 300 ms.
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
  t.equal(new URL(page.url()).search, '');
  await search.fill('ada@');
  await page.waitForURL(/q=ada/);
  await page.getByLabel('State').selectOption('ended');
  await page.waitForURL(/status=ended/);
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Sessions' }).click();
  await page.waitForURL(/sessions$/);
  t.equal(await search.inputValue(), '', 'a field follows the address');
}
