/** Signing in with a browser: the one-time link, the operator token, and the end of both. */
import type { Test } from 'tap';
import type { Browser, Page } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { patience } from '../../browser.ts';
import type { Console } from './console.ts';

export async function signingIn(t: Test, { house, browser }: Console): Promise<void> {
  await t.test('a link signs a person in once', (t) => byLink(t, house, browser));
  await t.test('a sign-in that ends in another tab leaves what was typed', (t) => inAnotherTab(t, house, browser));
  await t.test('the operator token signs a person in', (t) => byToken(t, house, browser));
}

async function byLink(t: Test, house: House, browser: Browser): Promise<void> {
  const { json } = await house.console('/sign-in-links', { body: { name: 'Ada' } });
  const link = new URL(json.url);
  const address = `${house.url}${link.pathname}${link.hash}`;
  const token = decodeURIComponent(link.hash.replace('#sign-in=', ''));
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(`${request.method()} ${request.url()}`));
  await page.goto(address);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  t.same(
    asked.filter((one) => one.includes(token) || one.startsWith('POST')),
    [],
    'nothing is sent before the click, and the token is in no address',
  );
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByText('Ada').waitFor();
  t.notOk(page.url().includes('#'), 'the fragment is gone');
  t.same(
    asked.filter((one) => one.includes(token)),
    [],
  );
  await page.reload();
  await page.getByRole('navigation', { name: 'Console' }).getByText('Ada').waitFor();
  const stored = await page.evaluate('JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])');
  t.equal(stored, '["",{},{}]', 'no script sees what keeps the sign-in');

  await page.goto('about:blank');
  await page.goto(address);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByText('Ada').waitFor();
  t.notOk(page.url().includes('#'), 'a used link leads a browser that is signed in to the console');

  await page.goto(`${house.url}/console/people`);
  await page.getByText('this browser').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Operator token').waitFor();
  t.equal((await context.request.get(`${house.url}/console/api/me`)).status(), 401);
  await page.goto('about:blank');
  await page.goto(address);
  await page.getByRole('button', { name: 'Sign in' }).click();
  t.match(await page.getByRole('alert').textContent(), /works once/, 'the link is used up');
  await context.close();
}

async function byToken(t: Test, house: House, browser: Browser): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  await page.goto(`${house.url}/console/${house.workspaceId}/keys`);
  await page.getByLabel('Operator token').fill('not-the-operators-token-at-all');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Operator token').fill(house.operatorToken);
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  t.match(page.url(), /\/keys$/, 'back where one was');
  // The sockets of a browser have no header of ours.
  await page.goto(`${house.url}/console/${house.workspaceId}/live`);
  await page.getByText(/sessions? awake/).waitFor();
  t.equal(await page.getByText('The connection is lost').count(), 0);
  await context.close();
}

async function signIn(page: Page, house: House, name: string): Promise<void> {
  const { json } = await house.console('/sign-in-links', { body: { name } });
  const link = new URL(json.url);
  await page.goto('about:blank');
  await page.goto(`${house.url}${link.pathname}${link.hash}`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByText(name).waitFor();
}

async function inAnotherTab(t: Test, house: House, browser: Browser): Promise<void> {
  const context = await browser.newContext();
  context.setDefaultTimeout(patience);
  const [first, second] = [await context.newPage(), await context.newPage()];
  const signOut = async () => {
    await second.goto(`${house.url}/console/people`);
    await second.getByRole('button', { name: 'Sign out', exact: true }).click();
    await second.getByLabel('Operator token').waitFor();
  };
  await signIn(first, house, 'Grace');
  await first.goto(`${house.url}/console/${house.workspaceId}/keys`);
  await first.getByRole('button', { name: 'Create key' }).click();
  const name = first.getByLabel('Name', { exact: true });
  await name.fill('half of a name');
  await signOut();
  await first.getByRole('button', { name: 'Create key' }).last().click();
  const locked = first.getByRole('dialog', { name: 'Sign in again' });
  await locked.getByText('What was typed on this page is kept').waitFor();
  await first.keyboard.press('Escape');
  await first.keyboard.press('Escape');
  // The page closes only when the person signs in.
  await locked.waitFor();
  await signIn(second, house, 'Grace');
  await locked.getByLabel('Operator token').fill(house.operatorToken);
  await first.keyboard.press('Enter');
  await locked.waitFor({ state: 'detached' });
  t.equal(await name.inputValue(), 'half of a name');
  t.equal(await first.title(), 'Keys · parley');
  await first.getByRole('button', { name: 'Create key' }).last().click();
  await first.getByRole('dialog', { name: 'The key “half of a name”' }).waitFor();
  await first.getByRole('button', { name: 'I have saved it' }).click();

  // Somebody else sees nothing of it.
  await signIn(second, house, 'Grace');
  await first.goto(`${house.url}/console/${house.workspaceId}/assistants/new`);
  await first.getByLabel('Greeting').fill("Grace's own words");
  await signOut();
  await first.getByRole('link', { name: 'Keys' }).click();
  await first.goBack();
  await locked.waitFor();
  t.equal(await first.getByLabel('Greeting').inputValue(), "Grace's own words");
  await context.close();
}
