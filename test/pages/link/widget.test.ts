/**
 * The widget on the site of somebody who wants it there: launcher, panel, keyboard, phone, attributes and commands
 * (contract 9).
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { operate } from '../../api/talk.ts';
import { whyNoBrowser } from '../../browser.ts';
import { findings } from './browser.ts';
import { frameOf, launcherOf, openSites, phone, say, until, type Sites } from './sites.ts';
import { linked } from './visits.ts';

const stub = `window.parley = window.parley || function () { (parley.q = parley.q || []).push(arguments) };`;
/** Notes every event of the first widget in `happened`. */
const noting = `${stub} window.happened = []; for (const name of ['ready', 'open', 'close', 'unread', 'error']) parley('on', name, ({ type, detail }) => happened.push([type, detail.slug, detail.count].filter((part) => part !== undefined).join(' ')));`;

const call = (page: Page, ...given: unknown[]): Promise<unknown> =>
  page.evaluate(
    (words) => (globalThis as unknown as { parley: (...words: unknown[]) => void }).parley(...words),
    given,
  );
const happened = (page: Page): Promise<string[]> => page.evaluate('happened');
/** The element that has the focus, in the widget's root as well. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(
    `(() => { let element = document.activeElement; while (element.shadowRoot) element = element.shadowRoot.activeElement; return element.id || element.localName; })()`,
  );
/** The colour of the launcher, and which schemes it follows. */
const looksOf = (page: Page): Promise<unknown> =>
  page.evaluate(
    `(() => { const button = document.querySelector('[popover]').shadowRoot.querySelector('button'); return [getComputedStyle(button).backgroundColor, getComputedStyle(button.parentElement).colorScheme]; })()`,
  );
const panelOf = (page: Page) => page.locator('div[popover] dialog');

const house = await openHouse(t);

t.test('the script of the widget is served with its headers', async (t) => {
  const get = (headers: Record<string, string> = {}) => fetch(`${house.url}/widget.js`, { headers });
  const answer = await get();
  const header = (name: string): string | null => answer.headers.get(name);
  t.same(
    [
      answer.status,
      header('content-type'),
      header('x-content-type-options'),
      header('cross-origin-resource-policy'),
      header('set-cookie'),
    ],
    [200, 'text/javascript; charset=utf-8', 'nosniff', 'cross-origin', null],
  );
  t.match(header('cache-control'), /max-age=3600/);
  t.equal((await get({ 'if-none-match': header('etag')! })).status, 304);
  const text = await answer.text();
  t.ok(gzipSync(text).length <= 4864, `${gzipSync(text).length} bytes, compressed`);
  t.equal((await get({ 'accept-encoding': 'gzip' })).headers.get('content-encoding'), 'gzip', 'it is sent so');
  t.ok(gunzipSync(gzipSync(text)).equals(Buffer.from(text)));
  t.notMatch(text, /eval|innerHTML|indexedDB|\bcookie|fetch\(|XMLHttp|sendBeacon/, 'it asks for nothing');
  t.same(text.match(/https?:[^"'`]*/g), ['http://www.w3.org/2000/svg']);
});

t.test('the widget works in a browser', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house);
  const { origin } = sites;
  await linked(house, 'widget', {
    greeting: 'Good day.',
    name: 'tokens=3,delay_ms=0,text=confidence',
    origins: [origin],
    visitor_fields: ['email', 'name'].map((name) => ({ name, label: name, type: 'text', required: false })),
  });
  await linked(house, 'sales', { name: 'tokens=3,delay_ms=0', origins: [origin] });
  sites.put('/', {
    head: `<script>${noting}</script>`,
    body: '<p><button id="own">Help</button> <a id="link" href="#there">There</a></p><div style="height: 3000px"></div>',
  });
  await fromOpeningToClosing(t, sites);
  await onPhones(t, sites);
  await commands(t, sites);
  await attributes(t, sites);
  await settingsInTheAddress(t, sites);
  await twoOnOnePage(t, sites);
  await pagesThatChange(t, sites);
  await remembers(t, sites);
});

async function fromOpeningToClosing(t: Test, sites: Sites): Promise<void> {
  await t.test('the widget requests its frame only once it is opened, and opens by keyboard', async (t) => {
    const { page, context, complaints, asked } = await sites.visit('/', { viewport: { width: 1280, height: 800 } });
    await launcherOf(page).waitFor();
    t.same(asked, ['/widget.js']);
    t.same(await findings(page), [], 'axe finds nothing on the launcher');
    await page.keyboard.press('Tab');
    for (let presses = 0; presses < 4 && (await focused(page)) !== 'button'; presses++)
      await page.keyboard.press('Tab');
    t.equal(await focused(page), 'button', 'the launcher is reached by Tab');
    t.match(await launcherOf(page).evaluate((button) => [button.ariaExpanded, button.ariaHasPopup]), [
      'false',
      'dialog',
    ]);
    await page.keyboard.press('Enter');
    const frame = await frameOf(page);
    await until(frame, `document.hasFocus() && document.activeElement.matches('input, textarea')`);
    t.equal(await focused(page), 'iframe', 'the page in the frame has the focus');
    t.equal(await launcherOf(page).getAttribute('aria-expanded'), 'true');
    t.equal(await panelOf(page).getAttribute('aria-label'), 'Test', 'the panel has the name of the assistant');
    t.same(await findings(page), [], 'axe finds nothing on the panel');
    const { x, y, width, height } = (await panelOf(page).boundingBox())!;
    t.same([x, y, width, height], [1280 - 20 - 400, 800 - 20 - 52 - 12 - 640, 400, 640]);
    await say(frame, 'Hello');
    await page.keyboard.press('Escape');
    await panelOf(page).waitFor({ state: 'hidden' });
    t.equal(await focused(page), 'button', 'the focus is back where it was');
    await page.keyboard.press('Enter');
    await panelOf(page).waitFor();
    t.match(await frame.evaluate('document.body.innerText'), /confidence/, 'the conversation is as it was');
    await page.mouse.click(1280 - 46, 800 - 46);
    await panelOf(page).waitFor({ state: 'hidden' });
    t.same(await happened(page), ['ready widget', 'open widget', 'close widget', 'open widget', 'close widget']);
    t.same(
      asked.filter((path) => path === '/p/widget/frame'),
      ['/p/widget/frame'],
      'one frame',
    );
    t.same(
      [await context.cookies(), await page.evaluate('[localStorage.length, sessionStorage.length]')],
      [[], [0, 0]],
      'nothing is stored on the site',
    );
    t.same(complaints, []);
    await context.close();
  });
}

async function onPhones(t: Test, sites: Sites): Promise<void> {
  await t.test('on a phone it covers the screen, and the back button closes it', async (t) => {
    const { page, context, complaints } = await sites.visit('/', phone);
    await page.evaluate(`scrollTo(0, 500), history.replaceState({ of: 'the site' }, '')`);
    await launcherOf(page).tap();
    const frame = await frameOf(page);
    await page.locator('div[popover] dialog:modal').waitFor();
    const box = async (): Promise<number[]> => {
      const { x, y, width, height } = (await panelOf(page).boundingBox())!;
      return [x, y, width, height];
    };
    t.same(await box(), [0, 0, 390, 760]);
    t.same(await page.evaluate('history.state'), { of: 'the site', parley: 'widget' }, "the site's state is kept");
    t.equal(await frame.evaluate(`new URLSearchParams(location.search).get('mode')`), 'full');
    await page.setViewportSize({ width: 390, height: 420 });
    await until(page, `document.querySelector('div[popover]').shadowRoot.querySelector('dialog').offsetHeight === 420`);
    await page.setViewportSize({ width: 390, height: 760 });
    await page.goBack();
    await panelOf(page).waitFor({ state: 'hidden' });
    t.same(
      [await page.evaluate('[location.pathname, history.state, scrollY]')],
      [['/', { of: 'the site' }, 500]],
      'the site is where it was',
    );
    await page.goForward();
    await panelOf(page).waitFor();
    await page.reload();
    await panelOf(page).waitFor();
    await frameOf(page);
    await page.locator('div[popover] dialog:modal').waitFor();
    t.pass('after a reload it is open as it was');
    await (await frameOf(page)).locator('input, textarea').first().press('Escape');
    await panelOf(page).waitFor({ state: 'hidden' });
    await until(page, '!history.state.parley');
    t.pass('closed in another way it leaves no entry to go back to');
    await launcherOf(page).tap();
    await page.evaluate(`parley('close'), parley('open')`);
    await until(page, `history.state.parley === 'widget'`);
    await page.goBack();
    await panelOf(page).waitFor({ state: 'hidden' });
    t.same(complaints, []);
    await context.close();
  });
  await t.test('on its side, and wider again', async (t) => {
    const { page, context } = await sites.visit('/', {
      viewport: { width: 760, height: 390 },
      hasTouch: true,
      isMobile: true,
    });
    await launcherOf(page).tap();
    await page.locator('div[popover] dialog:modal').waitFor();
    await page.setViewportSize({ width: 1200, height: 800 });
    await page.locator('div[popover] dialog:not(:modal)').waitFor();
    t.equal(await panelOf(page).evaluate((panel) => panel.offsetWidth), 400);
    await context.close();
  });
}

async function commands(t: Test, sites: Sites): Promise<void> {
  await t.test('the commands, before and after it is there', async (t) => {
    sites.put('/early', {
      head: `<script>${noting} parley('open'); parley('visitor', { email: 'ada@example.com', nonsense: 1 }); parley('visitor', { name: 'Ada' });</script>`,
      body: '<p>Text</p>',
    });
    const { page, context, complaints } = await sites.visit('/early');
    const frame = await frameOf(page);
    await until(
      frame,
      `[...document.querySelectorAll('input')].map(({ value }) => value).join() === 'ada@example.com,Ada'`,
    );
    await call(page, 'close');
    await panelOf(page).waitFor({ state: 'hidden' });
    await call(page, 'toggle');
    await panelOf(page).waitFor();
    await say(frame, 'Hello');
    await call(page, 'new');
    await until(frame, `!document.body.innerText.includes('confidence')`);
    await say(frame, 'Hello again');
    await call(page, 'theme', { scheme: 'dark', accent: '#ffd500' });
    t.same(await looksOf(page), ['rgb(255, 213, 0)', 'dark']);
    await call(page, 'theme', { scheme: 'auto' });
    t.same(await looksOf(page), ['rgb(255, 213, 0)', 'light dark']);
    await call(page, 'locale', 'de');
    await page.evaluate(`for (let calls = 0; calls < 120; calls++) parley('absent.open')`);
    await call(page, 'hide');
    await launcherOf(page).waitFor({ state: 'hidden' });
    await panelOf(page).waitFor({ state: 'hidden' });
    await call(page, 'show');
    await launcherOf(page).waitFor();
    await call(page, 'nonsense');
    t.equal(complaints.length, 1, 'what is no command is said in the console, and throws nothing');
    await call(page, 'destroy');
    t.same(
      await page.evaluate(`[document.querySelectorAll('[popover], iframe').length, parley.widgets.length]`),
      [0, 0],
      'nothing is left of it',
    );
    t.equal(complaints.length, 1);
    await context.close();
  });
  await t.test('a reply and a message by a person that come while it is closed are counted', async (t) => {
    const name = 'tokens=2,delay_ms=300,first_ms=300';
    await linked(sites.house, 'slow', { name, origins: [sites.origin], desk: { enabled: true } });
    sites.put('/slow', { tags: ['data-slug="slow"'], head: `<script>${noting}</script>` });
    const { page, context } = await sites.visit('/slow');
    await launcherOf(page).click();
    const frame = await frameOf(page, 'slow');
    await frame.locator('textarea').fill('Hello');
    await frame.locator('textarea').press('Enter');
    await page.keyboard.press('Escape');
    await until(page, `happened.includes('unread slow 1')`);
    t.equal((await launcherOf(page).innerText()).trim(), 'Chat\n1');
    await launcherOf(page).click();
    await until(page, `happened.at(-1) === 'unread slow 0'`);
    t.equal((await launcherOf(page).innerText()).trim(), 'Chat');
    const { session } = JSON.parse(await frame.evaluate<string>('Object.values(localStorage)[0]'));
    const path = `/workspaces/${sites.house.workspaceId}/sessions/${session}`;
    await operate(sites.house, 'POST', `${path}/take`);
    await frame.locator('#desk [role=status]').filter({ hasText: 'operator is answering you.' }).waitFor();
    await launcherOf(page).click();
    await panelOf(page).waitFor({ state: 'hidden' });
    await operate(sites.house, 'POST', `${path}/messages`, { text: 'How can I help?' });
    await until(page, `happened.at(-1) === 'unread slow 1'`);
    t.equal((await launcherOf(page).innerText()).trim(), 'Chat\n1');
    await launcherOf(page).click();
    await frame.locator('#messages li.person').filter({ hasText: 'How can I help?' }).waitFor();
    await until(page, `happened.at(-1) === 'unread slow 0'`);
    t.equal((await launcherOf(page).innerText()).trim(), 'Chat');
    await context.close();
  });
}

async function attributes(t: Test, sites: Sites): Promise<void> {
  await t.test('the widget reads its attributes', async (t) => {
    const tag = `data-slug="widget" data-position="left" data-label="Ask us" data-theme="dark" data-accent="#ffd500" data-locale="de"`;
    sites.put('/attributes', { tags: [tag] });
    const { page, context, complaints } = await sites.visit('/attributes');
    await launcherOf(page).getByText('Ask us').waitFor();
    t.equal((await launcherOf(page).boundingBox())!.x, 20);
    t.same(await looksOf(page), ['rgb(255, 213, 0)', 'dark']);
    t.same(await findings(page), [], 'what is on the accent can be read');
    await launcherOf(page).click();
    const frame = await frameOf(page);
    t.same(await frame.evaluate('Object.fromEntries(new URLSearchParams(location.search))'), {
      host: sites.origin,
      mode: 'panel',
      lang: 'de',
      scheme: 'dark',
      accent: '#ffd500',
    });
    t.same(complaints, []);
    await context.close();
  });
  await t.test("the site's own button, on a page from right to left", async (t) => {
    sites.put('/own', {
      tags: ['data-slug="widget" data-launcher=".help"'],
      head: `<script>document.documentElement.dir = 'rtl'</script>`,
      body: '<p><button class="help" id="own"><b>Help</b></button></p>',
    });
    const { page, context, complaints } = await sites.visit('/own');
    await launcherOf(page).waitFor({ state: 'attached' });
    t.notOk(await launcherOf(page).isVisible());
    await page.locator('.help b').click();
    await frameOf(page);
    await until(page, `document.querySelector('[popover]').shadowRoot.querySelector('button').hidden`);
    t.equal((await panelOf(page).boundingBox())!.x, 20, 'it stands where the lines end');
    await page.keyboard.press('Escape');
    await panelOf(page).waitFor({ state: 'hidden' });
    t.equal(await focused(page), 'own');
    t.same(complaints, []);
    await context.close();
  });
  await t.test('the widget stands within the page with data-inline', async (t) => {
    sites.put('/inline', {
      tags: ['data-slug="widget" data-inline="#here"'],
      body: '<div id="here" style="height: 500px; width: 600px"></div>',
    });
    const { page, context, complaints } = await sites.visit('/inline', phone);
    const frame = await frameOf(page);
    const box = await page.locator('#here section').boundingBox();
    t.match(box, { width: 600, height: 500 });
    t.equal(await frame.evaluate(`new URLSearchParams(location.search).get('mode')`), 'inline');
    t.equal(await focused(page), 'body', 'it takes no focus');
    t.same(await findings(page), []);
    t.same(complaints, []);
    await context.close();
  });
}

async function settingsInTheAddress(t: Test, sites: Sites): Promise<void> {
  const look = 'label=Ask+us&position=left&theme=dark&accent=%23ffd500&locale=de';
  const asked = async (page: Page): Promise<unknown> => {
    await launcherOf(page).getByText('Ask us').click();
    return (await frameOf(page)).evaluate('Object.fromEntries(new URLSearchParams(location.search))');
  };
  await t.test('a tag without attributes, its settings in the query', async (t) => {
    sites.put('/query', { tags: [''], query: `?slug=widget&amp;${look.replaceAll('&', '&amp;')}` });
    const { page, context, complaints } = await sites.visit('/query');
    t.same(await asked(page), { host: sites.origin, mode: 'panel', lang: 'de', scheme: 'dark', accent: '#ffd500' });
    t.equal((await launcherOf(page).boundingBox())!.x, 20);
    t.same(await looksOf(page), ['rgb(255, 213, 0)', 'dark']);
    t.same(complaints, []);
    await context.close();
  });
  await t.test('an attribute goes before the query', async (t) => {
    sites.put('/both', {
      tags: ['data-slug="widget" data-label="Ask us"', ''],
      query: '?slug=sales&amp;label=Sales&amp;locale=fr',
    });
    const { page, context, complaints } = await sites.visit('/both');
    await until(page, 'parley.widgets?.length === 2');
    t.same(await page.evaluate('parley.widgets.map(({ slug }) => slug).sort()'), ['sales', 'widget']);
    t.match(await asked(page), { lang: 'fr' });
    t.same(complaints, []);
    await context.close();
  });
  await t.test('a slug nowhere: it says so and does nothing', async (t) => {
    sites.put('/none', { tags: [''], query: '?slug=&amp;label=Ask' });
    const { page, context, complaints } = await sites.visit('/none');
    t.same(complaints, ['parley: no slug']);
    t.equal(await page.evaluate('typeof parley'), 'undefined');
    await context.close();
  });
  // A module from elsewhere needs a permission that we do not give, so a proxy of the site gives it here.
  for (const [how, tag] of [
    ['that a script puts in', ''],
    ['that is a module', `tag.type = 'module';`],
  ] as const) {
    await t.test(`a tag ${how}, twice`, async (t) => {
      sites.put('/inserted', { tags: [] });
      const { page, context, complaints } = await sites.visit('/inserted');
      await page.route('**/widget.js*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, headers: { ...response.headers(), 'access-control-allow-origin': '*' } });
      });
      const put = `new Promise((loaded) => { const tag = document.createElement('script'); ${tag} tag.onload = loaded; tag.src = '${sites.house.url}/widget.js?slug=widget&${look}'; document.head.append(tag); })`;
      await page.evaluate(put);
      await page.evaluate(put.replace('&label', '&n=2&label'));
      t.match(await asked(page), { lang: 'de', accent: '#ffd500' });
      t.equal(await launcherOf(page).count(), 1);
      t.same(complaints, []);
      await context.close();
    });
  }
}

async function twoOnOnePage(t: Test, sites: Sites): Promise<void> {
  await t.test('two on one page', async (t) => {
    sites.put('/two', {
      tags: ['data-slug="widget"', 'data-slug="sales"', 'data-slug="sales"'],
      head: `<script>${noting}</script>`,
    });
    const { page, context, complaints } = await sites.visit('/two', { viewport: { width: 1280, height: 800 } });
    await launcherOf(page).nth(1).waitFor();
    await until(page, 'parley.widgets.length === 2');
    t.equal(await launcherOf(page).count(), 2, 'one for each slug');
    const [one, other] = [
      (await launcherOf(page).nth(0).boundingBox())!,
      (await launcherOf(page).nth(1).boundingBox())!,
    ];
    t.ok(Math.abs(one.y - other.y) >= 52, 'neither covers the other');
    const [first, second] = (await page.evaluate('parley.widgets.map(({ slug }) => slug)')) as [string, string];
    await call(page, `${second}.open`);
    await frameOf(page, second);
    await page.locator('dialog[open]').waitFor();
    await call(page, 'open');
    await frameOf(page, first);
    await until(
      page,
      `[...document.querySelectorAll('[popover]')].filter(({ shadowRoot }) => shadowRoot.querySelector('[open]')).length === 1`,
    );
    t.pass('one that opens closes the other');
    await call(page, '*.hide');
    await until(
      page,
      `[...document.querySelectorAll('[popover]')].every(({ shadowRoot }) => !shadowRoot.querySelector('button').checkVisibility())`,
    );
    await call(page, `${first}.destroy`);
    t.same(await page.evaluate('parley.widgets.map(({ slug }) => slug)'), [second]);
    t.same(complaints, []);
    await context.close();
  });
}

async function pagesThatChange(t: Test, sites: Sites): Promise<void> {
  await t.test('a page that navigates by itself', async (t) => {
    const { page, context, complaints } = await sites.visit('/', { viewport: { width: 1280, height: 800 } });
    await launcherOf(page).click();
    const frame = await frameOf(page);
    await say(frame, 'Hello');
    await page.evaluate(`history.pushState(null, '', '/other'); document.querySelector('main').textContent = 'Other'`);
    await page.goBack();
    t.ok(await panelOf(page).isVisible(), "the site's back button is the site's where the panel leaves room for it");
    t.match(await frame.evaluate('document.body.innerText'), /confidence/, 'the frame has stayed');
    await page.evaluate(
      `document.querySelector('main').replaceChildren(); const tag = document.createElement('script'); tag.dataset.slug = 'widget'; tag.src = document.querySelector('script[data-slug]').src; document.body.append(tag); new Promise((loaded) => tag.onload = loaded)`,
    );
    t.equal(await launcherOf(page).count(), 1, 'a tag that is put in again makes no second one');
    await page.evaluate(`document.body.replaceChildren()`);
    await launcherOf(page).waitFor();
    await page.evaluate(`document.body = document.createElement('body')`);
    await launcherOf(page).waitFor();
    await panelOf(page).waitFor();
    await frameOf(page);
    t.pass('it comes back where the page was emptied or replaced, as open as it was');
    await page.evaluate(
      `window.takes = 0; new MutationObserver(() => { const one = document.querySelector('[popover]'); if (one) { takes++; one.remove(); } }).observe(document.body, { childList: true }); document.querySelector('[popover]').remove()`,
    );
    await until(page, `!document.querySelector('[popover]') && takes > 10`);
    t.pass('but not for ever');
    await page.evaluate(`parley('destroy')`);
    t.same(complaints, []);
    await context.close();
  });
}

/** Denies the storage of every frame, as browsers do that deny it to third parties. */
const denied = `if (window !== top) for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError'); } });`;

async function remembers(t: Test, sites: Sites): Promise<void> {
  const kept = (page: Page): Promise<string | null> => page.evaluate(`localStorage.getItem('parley:widget')`);
  const texts = async (page: Page): Promise<string> =>
    (await (await frameOf(page)).locator('#messages').innerText()).replaceAll(/\s+/g, ' ');
  await t.test(
    'with data-remember the site keeps the conversation where the browser denies the frame its storage',
    async (t) => {
      sites.put('/remember', {
        tags: ['data-slug="widget" data-remember'],
        head: `<script>${stub} parley('open')</script>`,
      });
      const { page, context, complaints } = await sites.visit('/remember', { init: denied });
      const frame = await frameOf(page);
      t.equal(await kept(page), null, 'nothing is stored before the first message');
      await say(frame, 'My first word');
      const text = (await kept(page))!;
      const { visitor, session, ...rest } = JSON.parse(text);
      t.match([visitor.token, session, rest], [/^vt_|^\w/, /^ses_/, { pending: null }]);
      t.notMatch(text, 'My first word', 'it has no message');
      await page.reload();
      await (await frameOf(page)).getByText('My first word').waitFor();
      await say(await frameOf(page), 'My second word');
      const reloaded = page.waitForEvent('framenavigated', (one) => one.url().includes('/p/widget/frame'));
      await page.evaluate(`document.body = document.createElement('body')`);
      await reloaded;
      await (await frameOf(page)).getByText('My second word').waitFor();
      t.match(await texts(page), /My first word.*My second word/, 'also where the frame is loaded again');
      await page.evaluate(`parley('new')`);
      await until(page, `localStorage.getItem('parley:widget') === null`);
      t.equal(await page.evaluate('localStorage.length'), 0, 'a new conversation removes it');
      t.same(complaints, []);
      await context.close();
    },
  );
  await t.test('with data-remember two tabs of one visitor keep their own conversations', async (t) => {
    sites.put('/tabs', {
      tags: ['data-slug="widget" data-remember'],
      head: `<script>${stub} parley('open')</script>`,
    });
    const { page, context } = await sites.visit('/tabs', { init: denied });
    const session = async (of: Page): Promise<string> => (JSON.parse((await kept(of))!) as { session: string }).session;
    await say(await frameOf(page), 'The first of one');
    const first = await session(page);
    const other = await context.newPage();
    await other.goto(page.url());
    await (await frameOf(other)).getByText('The first of one').waitFor();
    await other.evaluate(`parley('new')`);
    await until(other, `localStorage.getItem('parley:widget') === null`);
    await say(await frameOf(other), 'The first of another');
    const second = await session(other);
    t.not(second, first);
    await say(await frameOf(page), 'The second of one');
    t.equal(await session(page), second, 'the newest conversation is that of the next visit');
    for (const tab of [page, other]) await tab.reload();
    await (await frameOf(page)).getByText('The second of one').waitFor();
    t.notMatch(await texts(page), 'The first of another');
    await (await frameOf(other)).getByText('The first of another').waitFor();
    t.notMatch(await texts(other), 'of one');
    await page.evaluate(`parley('new')`);
    await until(page, `sessionStorage.getItem('parley:widget') === null`);
    t.equal(await session(page), second, 'a new conversation in one leaves that of the other');
    const next = await context.newPage();
    await next.goto(page.url());
    await (await frameOf(next)).getByText('The first of another').waitFor();
    await context.close();
  });
  await t.test(
    'without it, with a word for no, and where the site has no storage, each page begins anew',
    async (t) => {
      for (const [tag, init] of [
        ['', denied],
        ['data-remember="false"', denied],
        ['data-remember', denied.replace('if (window !== top) ', '')],
      ] as const) {
        sites.put('/forget', { tags: [`data-slug="widget" ${tag}`], head: `<script>${stub} parley('open')</script>` });
        const { page, context, complaints } = await sites.visit('/forget', { init });
        await say(await frameOf(page), 'My first word');
        if (tag !== 'data-remember') t.equal(await page.evaluate('localStorage.length'), 0, tag);
        await page.reload();
        t.notMatch(await texts(page), 'My first word', tag);
        t.same(complaints, []);
        await context.close();
      }
    },
  );
  await t.test('what a script of the site puts there is no conversation', async (t) => {
    for (const value of [
      '',
      'null',
      '{}',
      '"text"',
      '{"session":1,"visitor":{"token":2}}',
      '{"session":"ses_1","visitor":{"token":"vt_1","id":"vis_1","expires_at":9999999999}}',
      '{'.repeat(10_000),
    ]) {
      sites.put('/forged', {
        tags: ['data-slug="widget" data-remember'],
        head: `<script>${stub} localStorage.setItem('parley:widget', ${JSON.stringify(value)}); parley('open')</script>`,
      });
      const { page, context } = await sites.visit('/forged');
      await say(await frameOf(page), 'Hello');
      t.match(await texts(page), 'confidence', value.slice(0, 40));
      await context.close();
    }
  });
}
