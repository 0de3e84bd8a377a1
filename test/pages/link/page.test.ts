/**
 * The link's page in a browser: a conversation as a visitor has it, with every network and server that visitors have
 * (contract 9).
 */
import type { Page, Route } from 'playwright-core';
import t, { type Test } from 'tap';
import { openHouse, type House } from '../../api/house.ts';
import { transcriptOf, until } from '../../api/talk.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { Faulty } from '../../client/faulty.ts';
import { temporaryFolder } from '../../folders.ts';
import { openLink, quiet, replies, say } from './browser.ts';
import { linked } from './visits.ts';

/** The session that the page keeps. */
const sessionOf = async (page: Page): Promise<string> =>
  JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string).session;
const textOf = async (page: Page): Promise<string> =>
  ((await replies(page).last().locator('.said').textContent()) ?? '').trim();
const grows = (page: Page, index: number): Promise<void> =>
  replies(page).nth(index).locator('.said').filter({ hasText: 'word word' }).waitFor();

/** Checks that the page has the service's messages, each character once. */
async function same(t: Test, house: House, page: Page, status = 'completed'): Promise<void> {
  const stored = (await transcriptOf(house, await sessionOf(page))).at(-1);
  t.match(stored, { role: 'assistant', status });
  t.equal(await textOf(page), stored.content.trim());
}

/**
 * Lets more than the minute pass in which the client itself tries again, and more than the 45 s of silence before,
 * wherever they begin.
 */
async function minutesUntilOffline(page: Page): Promise<void> {
  await until(async () => {
    for (let passed = 0; passed < 120; passed += 10) await page.clock.fastForward(10_000);
    return page.locator('#notice').filter({ hasText: 'No connection' }).isVisible();
  }, 120);
}

const house = await openHouse(t);
const browser = whyNoBrowser ? null! : await openBrowser(t);
const open = (slug: string, options = {}) => openLink(browser, `${house.url}/p/${slug}`, options);

/** Opens two pages of one visitor, whose first reply is stopped. */
async function openTwice(slug: string) {
  const { page, complaints, context } = await open(slug);
  await say(page, 'Hello');
  await grows(page, 0);
  const other = await context.newPage();
  await other.goto(page.url());
  await grows(other, 0);
  await page.getByRole('button', { name: 'Stop the reply' }).click();
  await Promise.all([quiet(page), quiet(other)]);
  return { page, other, complaints, context };
}

t.test(
  'a session begins with the first message, replies stream, and a new conversation is a new session',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'first', { name: 'tokens=60,delay_ms=10', greeting: 'Good day.' });
    const { page, complaints, context } = await open('first');
    await replies(page).filter({ hasText: 'Good day.' }).waitFor();
    const kept = 'Object.keys(localStorage).length + Object.keys(sessionStorage).length';
    t.same(
      [
        await page.evaluate(kept),
        await context.cookies(),
        ((await page.evaluate('indexedDB.databases()')) as unknown[]).length,
      ],
      [0, [], 0],
    );
    await page.evaluate(
      `globalThis.lengths = new Set(); new MutationObserver(() => lengths.add(document.querySelector('#messages li:last-child .said').textContent.length)).observe(document.querySelector('#messages'), { subtree: true, childList: true, characterData: true });`,
    );
    await say(page, 'Hello <b>there</b>');
    await page.locator('#messages li.user').filter({ hasText: 'Hello <b>there</b>' }).waitFor();
    await quiet(page);
    t.ok(((await page.evaluate('lengths.size')) as number) > 3, 'it grows');
    await same(t, house, page);
    t.same([await page.evaluate(kept), await context.cookies()], [1, []]);
    t.equal(await page.title(), await page.locator('h1').innerText());
    const before = await sessionOf(page);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.locator('#notice').getByRole('button', { name: 'Cancel' }).click();
    t.equal(await replies(page).count(), 2);
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.locator('#notice').getByRole('button', { name: 'New conversation' }).click();
    await until(async () => (await replies(page).count()) === 1);
    t.equal(await page.evaluate(kept), 0);
    await until(async () => (await house.ask(`/sessions/${before}`)).json.status === 'ended');
    await say(page, 'Again');
    await quiet(page);
    t.not(await sessionOf(page), before);
    t.same(complaints, []);
    await context.close();
  },
);

t.test('a reload in mid-reply goes on with it, and stop stops it', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'reload', { name: 'tokens=100000,delay_ms=10' });
  const { page, complaints, context } = await open('reload');
  await say(page, 'Hello');
  await grows(page, 0);
  for (let round = 0; round < 2; round++) {
    await page.reload();
    await grows(page, 0);
  }
  const length = (await textOf(page)).length;
  await until(async () => (await textOf(page)).length > length);
  await page.getByRole('button', { name: 'Stop the reply' }).click();
  await quiet(page);
  await same(t, house, page, 'partial');
  t.equal(await page.locator('#messages li').count(), 2);
  t.match(await replies(page).innerText(), 'You stopped this reply.');
  t.same(complaints, []);
  await context.close();
});

t.test('a page that was put to sleep goes on where its connection had died', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'sleep', { name: 'tokens=300,delay_ms=5' });
  const way = await Faulty.open(t, house.url);
  way.fault = (line) => (line.endsWith('/chat') ? { kind: 'silence', bytes: 700 } : null);
  const { page, complaints, context } = await openLink(browser, `${way.url}/p/sleep`);
  // The check for silence would find it as well, after 45 s: here only the waking can.
  await context.addInitScript(
    'const later = setTimeout; globalThis.setTimeout = (run, ms, ...given) => (ms > 40_000 ? 0 : later(run, ms, ...given));',
  );
  await page.reload();
  await say(page, 'Hello');
  await grows(page, 0);
  const session = await sessionOf(page);
  const turn = (state: string) =>
    page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'));`,
    );
  await turn('hidden');
  await until(async () => (await transcriptOf(house, session)).at(-1).status === 'completed');
  t.notOk(way.asked.some(({ line }) => line.endsWith('/events')));
  const asleep = performance.now();
  // A connection that was quiet for a second is taken for dead.
  await until(() => performance.now() - asleep > 1100);
  await turn('visible');
  await quiet(page);
  await same(t, house, page);
  t.ok(
    way.asked.some(({ line }) => line.endsWith('/events')),
    'it was resumed',
  );
  t.same(complaints, []);
  await context.close();
});

t.test(
  'more than a minute without network: the reply goes on, and what was written meanwhile is sent',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'offline', { name: 'tokens=200,delay_ms=10' });
    const way = await Faulty.open(t, house.url);
    way.fault = (line) => (line.endsWith('/chat') ? { kind: 'silence', bytes: 700 } : null);
    const { page, complaints, context } = await openLink(browser, `${way.url}/p/offline`);
    await page.clock.install();
    await page.reload();
    await page.locator('#message').waitFor();
    await page.evaluate(
      "globalThis.heard = []; new MutationObserver((records) => heard.push(...records.flatMap(({ addedNodes }) => [...addedNodes].map(({ textContent }) => textContent)))).observe(document.querySelector('[aria-live]'), { childList: true })",
    );
    await say(page, 'Hello');
    await grows(page, 0);
    way.fault = () => null;
    await context.setOffline(true);
    const session = await sessionOf(page);
    await minutesUntilOffline(page);
    // The notice comes with the first attempt that fails: now the client's last attempt fails as well.
    await minutesUntilOffline(page);
    await until(async () => (await transcriptOf(house, session)).at(-1).status === 'completed');
    await context.setOffline(false);
    await quiet(page);
    await same(t, house, page);
    t.equal(await page.locator('#notice').innerText(), '');
    t.same(
      await page.evaluate('heard'),
      [`${await page.locator('h1').innerText()}: ${'word '.repeat(200).trim()}`],
      'what came before the cut is no reply that has ended',
    );
    await context.setOffline(true);
    await say(page, 'And?');
    await minutesUntilOffline(page);
    t.match(await page.locator('#messages li.user').last().innerText(), 'Sending');
    // The message is sent after a reload as well.
    await context.setOffline(false);
    await page.reload();
    await until(async () => (await replies(page).count()) === 2);
    await quiet(page);
    await same(t, house, page);
    t.same(
      (await transcriptOf(house, session)).map(({ role, content }) => (role === 'user' ? content : role)),
      ['Hello', 'assistant', 'And?', 'assistant'],
    );
    t.same(complaints, []);
    await context.close();
  },
);

t.test('storage that is denied costs a reload alone', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'denied');
  const { page, complaints, context } = await open('denied');
  await context.addInitScript(
    `Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('Denied', 'SecurityError'); } });`,
  );
  await page.reload();
  for (const text of ['One', 'Two']) {
    await say(page, text);
    await quiet(page);
  }
  t.equal(await page.locator('#messages li').count(), 4);
  t.same(complaints, []);
  await context.close();
});

t.test(
  "two pages of one visitor: the other's reply is followed, and no message is lost",
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'two', { name: 'tokens=100000,delay_ms=10' });
    const { page, other, complaints, context } = await openTwice('two');
    await say(other, 'Mine');
    await until(async () => (await replies(other).count()) === 2);
    await say(page, 'Yours');
    await until(async () => (await page.locator('#message').inputValue()) === 'Yours');
    await until(async () => (await replies(page).count()) === 2);
    t.same(complaints, []);
    await context.close();
  },
);

t.test(
  'a message that is sent while the page reads the reply to another page’s message comes back',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'reading', { name: 'tokens=100000,delay_ms=10' });
    const { page, other, complaints, context } = await openTwice('reading');
    const reading = new Promise<Route>((resolve) => void page.route(/\/sessions\/[^/]+$/, resolve, { times: 1 }));
    await say(other, 'Mine');
    const read = await reading;
    await say(page, 'Yours');
    await until(async () => (await page.locator('#message').inputValue()) === '');
    await read.continue();
    await until(async () => (await page.locator('#message').inputValue()) === 'Yours');
    await until(async () => (await replies(page).count()) === 2);
    t.same(complaints, []);
    await context.close();
  },
);

t.test('a server that is killed and starts again in mid-reply', { skip: whyNoBrowser }, async (t) => {
  const folder = await temporaryFolder(t);
  const env = { PARLEY_STORE: 'lmdb:./data', PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const first = await openHouse(t, { folder, env });
  await linked(first, 'killed', { name: 'tokens=100000,delay_ms=10' });
  const way = await Faulty.open(t, first.url);
  const { page, complaints } = await openLink(await openBrowser(t), `${way.url}/p/killed`);
  await say(page, 'Hello');
  await grows(page, 0);
  await first.kill('SIGKILL');
  await page.locator('#notice').filter({ hasText: 'No connection' }).waitFor();
  const second = await openHouse(t, { folder, env });
  way.lead(second.url);
  await quiet(page);
  await same(t, second, page, 'partial');
  t.match(await replies(page).innerText(), 'This reply was cut off.');
  await say(page, 'Once more');
  await grows(page, 1);
  await page.getByRole('button', { name: 'Stop the reply' }).click();
  await quiet(page);
  await same(t, second, page, 'partial');
  t.same(complaints, []);
});
