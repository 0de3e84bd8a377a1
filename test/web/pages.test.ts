/** Every page of the console, empty and full, light and dark, on a phone and a desk: readable by all, and within its policy. */
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { overflow, whyNoBrowser } from '../browser.ts';
import { findings, furnish, openConsole, settled, type Console } from './console.ts';

t.test('pages', { skip: whyNoBrowser }, async (t) => {
  const console = await openConsole(t);
  const { house } = console;
  const full = await furnish(house);
  const bare: string = (await house.console('/workspaces', { body: { name: 'bare' } })).json.id;
  const w = house.workspaceId;
  const paths = [
    ...[`${w}/live`, `${w}/live?kind=key`, `${w}/live?kind=socket`, `${w}/live?state=streaming`],
    ...[`${w}/live/session/${full.session.id}`, `${w}/live/session/${full.ended.id}?at=2`, `${w}/live/key/${full.key.id}`, `${w}/live/assistant/${full.assistant.id}`],
    ...[`${w}/assistants`, `${w}/assistants/new`, `${w}/assistants/${full.assistant.id}`],
    ...[`${w}/keys`, `${w}/keys/${full.key.id}`, `${w}/credentials`, `${w}/usage`],
    ...[`${w}/sessions`, `${w}/sessions?status=ended&channel=api`, `${w}/sessions/${full.session.id}`, `${w}/sessions/${full.ended.id}`],
    ...['load', 'workspaces', 'people', 'sign-in', 'nowhere', `${w}/nowhere`],
    ...['live', 'assistants', 'keys', 'sessions', 'credentials', 'usage'].map((name) => `${bare}/${name}`),
  ];
  const { page, complaints, context } = await console.open();
  for (const path of paths) {
    const name = path.replaceAll(/(wks|ses|key|asst)_\w+/g, (id) => (id === bare ? 'bare' : id.split('_')[0]!));
    await t.test(name, (t) => looked(t, page, console.url(path), complaints));
  }
  await context.close();
  await t.test('a failure says what happened and under which request id', (t) => failing(t, console));
});

/** Loaded on a phone, and then on a window that grows: no script of the pages asks for the width, but for those that follow it. */
async function looked(t: Test, page: Page, url: string, complaints: string[]): Promise<void> {
  complaints.length = 0;
  await page.setViewportSize({ width: 360, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(url);
  await settled(page);
  t.not(await page.title(), 'parley', 'it has a name');
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    t.ok(Number(await page.evaluate(overflow)) <= 0, `it fits ${width} px`);
    await page.emulateMedia({ colorScheme: 'light' });
    t.same(await findings(page), [], `light, ${width} px`);
    await page.emulateMedia({ colorScheme: 'dark' });
    t.same(await findings(page, 'colours'), [], `dark, ${width} px`);
  }
  t.same(complaints, [], 'nothing is refused, nothing fails, and nothing else is asked for');
}

/** Resolves when what follows the width of the window has done so. */
const drawn = (page: Page): Promise<void> => page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))');

async function failing(t: Test, { open, url, house, standIn }: Console): Promise<void> {
  const { page, complaints, context } = await open();
  const stop = standIn.answer(/\/keys\?/, 500, { error: { type: 'api_error', code: 'api_error', message: 'Something went wrong.' }, request_id: `req_${'0'.repeat(26)}` });
  await page.goto(url(house.workspaceId, 'keys'));
  await page.getByRole('alert').waitFor();
  t.match(await page.getByRole('alert').textContent(), /Something went wrong\..*req_0{26}/);
  t.same(await findings(page), []);
  stop();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'Keys' }).waitFor();
  t.equal(await page.getByRole('alert').count(), 0, 'and is mended by trying again');
  t.same(complaints.filter((one) => !one.includes('500')), []);
  await context.close();
}
