/** Replies as people read, select, copy and print them, on the link's page. */
import t from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { openBrowser, overflow, whyNoBrowser } from '../../browser.ts';
import { languages } from '../../../src/pages/words.ts';
import { findings, openLink, quiet, replies, say } from './browser.ts';
import { linked } from './visits.ts';

const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });
const browser = whyNoBrowser ? null! : await openBrowser(t);
const skip = { skip: whyNoBrowser };
const voice = { provider: 'synthetic', name: 'audio_ms=50' };
const markdown = [
  'Text before.',
  '- bullet',
  '1. number',
  '| Product | Description | Price | Delivery | Availability |\n|---|---|--:|---|---|\n| Refrigerator | Extraordinarily<br>quiet | 1,299.00 € | Thursday | immediately |',
  '[+49 30 12345](tel:+493012345)',
].join('\n\n');

async function open(
  slug: string,
  greeting: string | null,
  options: Parameters<typeof openLink>[2] = {},
  fields: object = {},
) {
  await linked(house, slug, { greeting, channels: { voice: true, link: true, widget: true }, voice, ...fields });
  const opened = await openLink(browser, `${house.url}/p/${slug}`, options);
  if (greeting !== null) await replies(opened.page).first().waitFor();
  return opened;
}

t.test('a wide table scrolls within itself, by keys too, and breaks no word', skip, async (t) => {
  const { page, complaints, context } = await open('table', markdown, { width: 360, height: 700 });
  const table = page.locator('.said table');
  await table.waitFor();
  t.equal(await page.evaluate(overflow), 0, 'the page does not scroll sideways');
  const [scrolls, lines] = (await page.evaluate(`(() => {
    const table = document.querySelector('.said table');
    const lines = (cell) => { const range = document.createRange(); range.selectNodeContents(cell); return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom))).size; };
    return [table.scrollWidth > table.clientWidth, [...table.querySelectorAll('th, td')].filter((cell) => !cell.querySelector('br') && !cell.textContent.includes(' ')).map(lines)];
  })()`)) as [boolean, number[]];
  t.ok(scrolls);
  t.ok(lines.length > 5 && lines.every((count) => count === 1), 'each word on one line');
  t.equal(await page.locator('.said td br').count(), 1);
  t.equal(await page.locator('.said td').nth(1).innerText(), 'Extraordinarily\nquiet');
  await table.focus();
  await page.keyboard.press('ArrowRight');
  await until(() => page.evaluate("document.querySelector('.said table').scrollLeft > 0") as Promise<boolean>);
  t.same(await findings(page), []);
  t.same(complaints, []);
  await context.close();
});

t.test('a selection outlasts the text that streams behind it, and the end of the reply', skip, async (t) => {
  const { page, complaints, context } = await open('select', null, {}, { name: 'tokens=400,delay_ms=5' });
  await say(page, 'Please tell me');
  const said = replies(page).last().locator('.said');
  await said.filter({ hasText: 'word word word word' }).waitFor();
  await page.evaluate(`(() => {
    const text = document.createTreeWalker(document.querySelector('#messages li.assistant .said'), NodeFilter.SHOW_TEXT).nextNode();
    getSelection().setBaseAndExtent(text, 5, text, 14);
    globalThis.before = text.length;
  })()`);
  t.equal(await page.evaluate('getSelection().toString()'), 'word word');
  await quiet(page);
  t.ok((await said.innerText()).length > ((await page.evaluate('before')) as number), 'it has grown since');
  t.equal(await page.evaluate('getSelection().toString()'), 'word word');
  await say(page, 'And again');
  await page.locator('#messages li').nth(3).waitFor();
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('#messages li.user .said'))");
  await quiet(page);
  t.equal(await page.evaluate('getSelection().toString().trim()'), 'Please tell me', 'that of a message too');
  t.same(complaints, []);
  await context.close();
});

/** The pages of a document. */
const sheets = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)!.length;

t.test('printing prints the whole conversation, and nothing to press', skip, async (t) => {
  const { page, context } = await open('print', `${'A line of the greeting.\n\n'.repeat(150)}${markdown}`, {
    width: 1000,
    height: 500,
    colorScheme: 'dark',
  });
  t.ok(sheets(await page.pdf({ format: 'A4' })) >= 4);
  await page.emulateMedia({ media: 'print' });
  const printed = (await page.evaluate(`(() => {
    const last = document.querySelector('#messages li:last-child').getBoundingClientRect();
    return {
      whole: document.documentElement.scrollHeight >= last.bottom && last.bottom > 2000,
      shown: [...document.querySelectorAll('button, textarea')].filter((one) => one.checkVisibility()).length,
      light: getComputedStyle(document.body).color,
      wide: [...document.querySelectorAll('.said table')].some((table) => table.scrollWidth > table.clientWidth && getComputedStyle(table).overflowX !== 'visible'),
    };
  })()`)) as object;
  t.same(printed, { whole: true, shown: 0, light: 'rgb(27, 27, 31)', wide: false });
  await context.close();
});

t.test('a reply is copied as it was written', skip, async (t) => {
  const { page, complaints, context } = await open('copy', markdown, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const button = replies(page).first().getByRole('button', { name: 'Copy' });
  await button.focus();
  await page.keyboard.press('Enter');
  await replies(page).first().getByRole('button', { name: 'Copied' }).waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), markdown);
  await page.locator('[role="log"]').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' });
  await button.waitFor();
  t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Copy', 'the focus stays');
  // The clipboard is absent, as over plain HTTP.
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await button.click();
  await replies(page).first().getByRole('button', { name: 'Copied' }).waitFor();
  const shown = await replies(page).first().locator('.said').innerText();
  const { page: other } = await openLink(browser, `${house.url}/p/copy`, { permissions: ['clipboard-read'] });
  await other.locator('#message').press('Control+V');
  t.match(await other.locator('#message').inputValue(), 'Text before.', shown);
  t.same(await findings(page), []);
  t.same(complaints, []);
  await other.context().close();
  await context.close();
});

t.test(
  'a reply that streams, fails or is empty, and a message of the visitor, have no button to copy',
  skip,
  async (t) => {
    const { page, context } = await open('streams', null, {}, { name: 'tokens=100000,delay_ms=10' });
    await say(page, 'Hello');
    await replies(page).first().locator('.said').filter({ hasText: 'word word' }).waitFor();
    t.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0);
    await page.getByRole('button', { name: 'Stop the reply' }).click();
    await quiet(page);
    await page.getByRole('button', { name: 'Copy' }).waitFor();
    t.equal(await page.getByRole('button', { name: 'Copy' }).count(), 1);
    await context.close();
  },
);

/**
 * The left edges of a line of text, of the texts of both lists, of the loudspeaker as it is drawn, and whether the
 * markers lie within the text's edge.
 */
const edges = `(() => {
  const left = (node) => { const range = document.createRange(); range.selectNodeContents(node); return Math.round(range.getClientRects()[0].left); };
  const said = document.querySelector('.said');
  const path = said.parentElement.querySelector('.action path').getBBox();
  const svg = said.parentElement.querySelector('.action svg').getBoundingClientRect();
  return { text: left(said.querySelector('p')), bullet: left(said.querySelector('ul > li')), number: left(said.querySelector('ol > li')), picture: Math.round(svg.left + (path.x * svg.width) / 16 - 0.5) };
})()`;

t.test('bullets, numbers and the buttons stand in line', skip, async (t) => {
  for (const width of [360, 1440]) {
    const { page, context } = await open(`edges-${width}`, markdown, { width, height: 700 });
    const { text, bullet, number, picture } = (await page.evaluate(edges)) as Record<string, number>;
    t.equal(bullet, number, 'the texts of both lists');
    t.equal(picture, text, 'the loudspeaker and the text above it');
    t.same(
      await page.evaluate(
        "[...document.querySelectorAll('.said ul, .said ol')].map((list) => getComputedStyle(list).listStyleType)",
      ),
      ['"\u2022 "', 'decimal'],
      'a marker of a bullet ends as that of a number, by a space',
    );
    await context.close();
  }
});

t.test('New conversation is said in words in every language, also at 360 px', skip, async (t) => {
  await linked(house, 'words', { greeting: 'Good day.', name: 'tokens=2,delay_ms=0' });
  for (const language of languages) {
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/words?lang=${language}`, {
      width: 360,
      height: 640,
    });
    await say(page, 'Hello');
    await quiet(page);
    const button = page.locator('header button').first();
    t.ok((await button.innerText()).trim().length > 2, await button.innerText());
    t.same([await page.evaluate(overflow), await within(page)], [0, true], language);
    t.same(complaints, []);
    await context.close();
  }
});

/** Whether each button of the header lies within the page, and none over the name. */
const within = (page: Page): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll('header button:not([hidden])')].every((one) => { const box = one.getBoundingClientRect(), name = document.querySelector('#name bdi').getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth && (box.left >= name.right || box.right <= name.left) && box.height >= 44; })`,
  );
