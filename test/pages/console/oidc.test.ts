/** Signing in to the console by OpenID Connect in a browser, at an issuer on another site. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Browser, Page } from 'playwright-core';
import { openHouse, type House } from '../../api/house.ts';
import { OidcIssuer } from '../../api/oidc-issuer.ts';
import { faintTexts, openBrowser, openPage, overflow, patience, whyNoBrowser } from '../../browser.ts';
import { findings } from './console.ts';

/** A folder for pictures of the pages, for the eye alone. */
const pictures = process.env['PARLEY_TEST_PICTURES'];

interface Scene {
  readonly house: House;
  readonly issuer: OidcIssuer;
  readonly browser: Browser;
}

t.test('people sign in by OpenID Connect in a browser', { skip: whyNoBrowser }, async (t) => {
  const issuer = await OidcIssuer.start(t, { ada: { name: 'Ada', groups: ['admins'] }, eve: { name: 'Eve' } });
  const house = await openHouse(t, { env: issuer.settings('groups=admins:owner') });
  issuer.serve(house);
  const scene = { house, issuer, browser: await openBrowser(t) };
  await t.test('a person signs in, and is back on the page that they came from', (t) => course(t, scene));
  await t.test('two tabs sign in at once', (t) => tabs(t, scene));
  await t.test('a page whose sign-in has ended keeps what was typed', (t) => again(t, scene));
  await t.test('a person without a role reads why, and the way back', (t) => withoutRole(t, scene));
  await t.test('an issuer that is away is reported, and the sign-in can be tried again', (t) => away(t, scene));
});

const buttonOf = (page: Page, { issuer }: Scene) =>
  page.getByRole('link', { name: `Sign in with ${new URL(issuer.url).host}` });

const signedIn = (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation', { name: 'Console' }).getByText(name).waitFor();

async function atIssuer(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** Checks the page narrow and wide, light and dark, for what keeps somebody from using it. */
async function isUsable(t: Test, page: Page, name: string): Promise<void> {
  for (const width of [360, 1440])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      if (pictures !== undefined)
        await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
      t.ok(((await page.evaluate(overflow)) as number) <= 0, `${name} fits into ${width} px`);
      t.same(await page.evaluate(faintTexts), [], `${name} is readable, ${colorScheme}`);
    }
}

async function course(t: Test, scene: Scene): Promise<void> {
  const { house, browser } = scene;
  const { page, context, complaints } = await openPage(browser, {
    origin: house.url,
    networkFailures: 'expected',
  });
  await page.goto(`${house.url}/console/${house.workspaceId}/keys`);
  await buttonOf(page, scene).waitFor();
  t.same(await findings(page), []);
  await isUsable(t, page, 'sign-in');
  t.same(complaints, []);
  await buttonOf(page, scene).click();
  await atIssuer(page, 'ada');
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  await signedIn(page, 'Ada');
  t.equal(page.url(), `${house.url}/console/${house.workspaceId}/keys`);
  t.equal(await page.evaluate('document.cookie'), '', 'no script sees a cookie');
  await page.reload();
  await signedIn(page, 'Ada');
  await context.close();
}

async function tabs(t: Test, scene: Scene): Promise<void> {
  const context = await scene.browser.newContext();
  context.setDefaultTimeout(patience);
  const pages = [await context.newPage(), await context.newPage()];
  for (const page of pages) {
    await page.goto(`${scene.house.url}/console`);
    await buttonOf(page, scene).click();
    await page.getByLabel('Name').waitFor();
  }
  for (const page of pages) {
    await atIssuer(page, 'ada');
    await signedIn(page, 'Ada');
    t.match(page.url(), `${scene.house.url}/console`);
  }
  await context.close();
}

async function again(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  const context = await scene.browser.newContext();
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await page.goto(`${house.url}/console/${house.workspaceId}/assistants/new`);
  await buttonOf(page, scene).click();
  await atIssuer(page, 'ada');
  await page.getByLabel('Greeting').fill('half of a greeting');
  for (const { id } of (await house.console('/sign-ins')).json.data)
    await house.console(`/sign-ins/${id}`, { method: 'DELETE' });
  await page.getByRole('link', { name: 'Keys' }).click();
  const locked = page.getByRole('dialog', { name: 'Sign in again' });
  await locked.waitFor();
  await page.goBack();
  const [tab] = await Promise.all([context.waitForEvent('page'), buttonOf(page, scene).click()]);
  await signedIn(tab, 'Ada');
  await tab.close();
  await page.bringToFront();
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await locked.waitFor({ state: 'detached' });
  t.equal(await page.getByLabel('Greeting').inputValue(), 'half of a greeting');
  await context.close();
}

async function withoutRole(t: Test, scene: Scene): Promise<void> {
  const context = await scene.browser.newContext();
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await page.goto(`${scene.house.url}/console/people`);
  await buttonOf(page, scene).click();
  await atIssuer(page, 'eve');
  await page.getByRole('heading', { name: 'You have no access' }).waitFor();
  t.same(await findings(page), []);
  await isUsable(t, page, 'no-role');
  await page.getByRole('link', { name: 'Other ways to sign in' }).click();
  await page.getByLabel('Operator token').fill(scene.house.operatorToken);
  await page.keyboard.press('Enter');
  await page.getByText('this browser').waitFor();
  t.equal(new URL(page.url()).pathname, '/console/people');
  await context.close();
}

async function away(t: Test, scene: Scene): Promise<void> {
  const context = await scene.browser.newContext();
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await page.goto(`${scene.house.url}/console`);
  await buttonOf(page, scene).click();
  await page.getByLabel('Name').waitFor();
  await page.goBack();
  await buttonOf(page, scene).waitFor();
  await page.goForward();
  scene.issuer.leave({ pages: true });
  await atIssuer(page, 'ada');
  await page.getByRole('heading', { name: 'The sign-in service does not answer' }).waitFor();
  await isUsable(t, page, 'away');
  scene.issuer.rotate();
  await page.getByRole('link', { name: 'Try again' }).click();
  await atIssuer(page, 'ada');
  await signedIn(page, 'Ada');
  await context.close();
}
