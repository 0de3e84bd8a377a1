/**
 * The widget on sites that are rough with it, or must not have it; and what site and frame can learn of each other
 * (promise L3).
 */
import t, { type Test } from 'tap';
import type { Frame, Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { whyNoBrowser } from '../../browser.ts';
import { frameOf, launcherOf, openSites, phone, say, until, type Sites } from './sites.ts';
import { linked } from './visits.ts';

const secret = 'confidence';

/** Rules for every element, and a body that moves, clips and fades its content. */
const rough = `<style nonce="own">
* { all: revert !important; display: block !important; color: red !important; background: red !important; font-size: 3px !important; opacity: 0.01 !important; position: static !important; visibility: hidden !important; transition: all 9s !important }
html body { transform: translate(-50px, 400px) scale(0.1) !important; overflow: hidden !important; height: 1px !important; pointer-events: none !important }
div, iframe, button, dialog, [popover] { display: none !important; width: 1px !important; inset: 0 !important; z-index: -1 !important }
::backdrop { display: block !important; background: red !important; opacity: 1 !important }
</style>`;

/** Pollutes every object of the page, as old libraries do and more, and denies storage to all frames. */
const polluted = `
if (window === top) for (const name of ['signal', 'once', 'passive', 'capture', 'slotAssignment', 'mode', 'childList', 'attributes', 'subtree', 'attributeFilter', 'preventScroll', 'focusVisible', 'transfer', 'targetOrigin', 'label', 'accent', 'type', 'q', 'widgets', 'parley', 'toJSON', 'get', 'set', 'value', 'detail', 'bubbles'])
  Object.prototype[name] = 'polluted';
for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, Object.assign(Object.create(null), { get() { throw new DOMException('denied', 'SecurityError'); } }));
`;

t.test('the widget withstands a hostile site', { skip: whyNoBrowser }, async (t) => {
  const house = await openHouse(t);
  const sites = await openSites(t, house);
  await linked(house, 'widget', {
    greeting: 'Good day.',
    name: `tokens=3,delay_ms=0,text=${secret}`,
    origins: [sites.origin],
  });
  await roughSite(t, sites);
  await sitesThatMayNot(t, sites);
  await whatTheSiteLearns(t, sites);
  await whatTheFrameLearns(t, sites);
});

async function roughSite(t: Test, sites: Sites): Promise<void> {
  const { house } = sites;
  const policy = `default-src 'none'; script-src ${house.url}; frame-src ${house.url}; style-src 'nonce-own'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; frame-ancestors 'none'`;
  sites.put('/rough', {
    head: rough,
    body: '<img name="parley" id="parley"><form><input name="body"></form>',
    headers: {
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      'permissions-policy': 'microphone=()',
      'cross-origin-opener-policy': 'same-origin',
    },
  });
  for (const [name, options] of [
    ['desktop', { viewport: { width: 1280, height: 800 } }],
    ['phone', phone],
  ] as const) {
    await t.test(
      `${name}: rules for every element, a strict policy, objects that have properties too many, no storage`,
      async (t) => {
        const { page, context, complaints, asked } = await sites.visit('/rough', { ...options, init: polluted });
        await launcherOf(page).waitFor();
        t.same(asked, ['/widget.js']);
        const { width, height } = page.viewportSize()!;
        const box = (await launcherOf(page).boundingBox())!;
        t.same([box.x + box.width, box.y + box.height, box.width, box.height], [width - 20, height - 20, 52, 52]);
        t.same(
          await page.evaluate(
            `(() => { const button = document.querySelector('[popover]').shadowRoot.querySelector('button'); const { backgroundColor, opacity, fontSize, visibility } = getComputedStyle(button); return [backgroundColor, opacity, fontSize, visibility]; })()`,
          ),
          ['rgb(61, 79, 214)', '1', '16px', 'visible'],
        );
        await page.mouse.click(box.x + 26, box.y + 26);
        const frame = await frameOf(page);
        await say(frame, 'Hello');
        t.match(await frame.locator('#messages').innerText(), secret);
        const panel = (await page.locator('[popover] dialog').boundingBox())!;
        t.same([panel.width, panel.height], name === 'phone' ? [width, height] : [400, 640]);
        t.same(
          complaints.filter((one) => !/permissions policy|microphone|'data:,'/i.test(one)),
          [],
          'the policy was not violated once',
        );
        await context.close();
      },
    );
  }
}

/** Lets the time pass in which a page should have come. */
const late = `document.querySelector('[popover]').shadowRoot.querySelector('dialog').getAnimations({ subtree: true }).forEach((one) => one.finish())`;
const stub = `<script>window.parley = function () { (parley.q = parley.q || []).push(arguments) }; window.errors = []; parley('on', 'error', ({ detail }) => errors.push(detail.code));</script>`;

async function sitesThatMayNot(t: Test, sites: Sites): Promise<void> {
  const { house, origin, otherOrigin } = sites;
  for (const [name, tag, code, line] of [
    [
      'a site that is not listed',
      'data-slug="widget"',
      'assistant_not_permitted',
      `parley: "widget" is not available at ${otherOrigin}. List this origin in the assistant's settings: `,
    ],
    [
      'a slug of nobody',
      'data-slug="nobody"',
      'assistant_not_found',
      'parley: no assistant has the widget on under the slug "nobody". ',
    ],
  ] as const) {
    await t.test(
      `${name}: the frame says "Not available here", and one line in the console says what to do`,
      async (t) => {
        sites.put('/plain', { head: stub, tags: [tag] });
        for (const options of [{}, phone]) {
          const { page, context, complaints } = await sites.visit('/plain', { ...options, origin: otherOrigin });
          await launcherOf(page).click();
          await page.frameLocator('iframe').getByText('Not available here.').waitFor();
          await until(page, 'errors.length === 1');
          await page.evaluate(late);
          t.same(await page.evaluate('errors'), [code]);
          const lines = complaints.filter((one) => one.startsWith('parley'));
          t.equal(lines.length, 1);
          t.ok(lines[0]!.startsWith(line), lines[0]!);
          await page.frameLocator('iframe').getByRole('button', { name: 'Close' }).click();
          await page.locator('[popover] dialog').waitFor({ state: 'hidden' });
          await context.close();
        }
      },
    );
  }
  await t.test('a browser that does not say what it loads shows no page, and the line comes late', async (t) => {
    sites.put('/plain', { head: stub });
    const { page, context, complaints } = await sites.visit('/plain', { ...phone, origin: otherOrigin });
    await context.route('**/frame?*', async (route) => {
      const answer = await fetch(route.request().url(), { headers: { accept: 'text/html' } });
      await route.fulfill({
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await answer.text(),
      });
    });
    const answered = page.waitForEvent(
      'framenavigated',
      (one) => one !== page.mainFrame() && one.url() !== 'about:blank',
    );
    await launcherOf(page).tap();
    t.match((await answered).url(), /^chrome-error:/);
    await page.evaluate(late);
    await until(page, 'errors.length === 1');
    t.match(
      complaints.at(-1),
      `no page for "widget"; see its link's origins for ${otherOrigin} and the frame-src here`,
      "the site's owner is told",
    );
    await launcherOf(page).tap();
    await page.locator('[popover] dialog').waitFor({ state: 'hidden' });
    t.pass('on a phone it covers no way out');
    await context.close();
  });
  await t.test('the name of a listed site opens no frame elsewhere', async (t) => {
    sites.put('/forged', {
      tags: [],
      body: `<iframe src="${house.url}/p/widget/frame?host=${encodeURIComponent(origin)}"></iframe><iframe src="${house.url}/p/widget"></iframe>`,
    });
    const { page, context } = await sites.visit('/forged', { origin: otherOrigin });
    await page.waitForLoadState();
    t.same(
      page
        .frames()
        .slice(1)
        .map((one) => one.url().slice(0, 13)),
      ['chrome-error:', 'chrome-error:'],
    );
    await context.close();
  });
  await t.test('a policy without our origin in frame-src', async (t) => {
    sites.put('/policy', {
      head: stub,
      headers: { 'content-security-policy': `script-src ${house.url} 'unsafe-inline'; frame-src 'none'` },
    });
    const { page, context, asked } = await sites.visit('/policy');
    await launcherOf(page).click();
    await page.evaluate(late);
    await until(page, 'errors.length === 1');
    t.same(asked, ['/widget.js']);
    await context.close();
  });
}

/** The site listens wherever a script of it can, from before the widget is there. */
const listening = `
window.overheard = [];
const note = (where, data) => overheard.push([where, typeof data === 'string' ? data : JSON.stringify(data)]);
addEventListener('message', ({ data }) => note('window', data), true);
const post = MessagePort.prototype.postMessage;
MessagePort.prototype.postMessage = function (...given) { note('to the frame', given[0]); return post.apply(this, given); };
const { set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
Object.defineProperty(MessagePort.prototype, 'onmessage', { set(handler) { set.call(this, (event) => { note('from the frame', event.data); handler(event); }); } });
new PerformanceObserver((list) => list.getEntries().forEach(({ name }) => note('performance', name))).observe({ type: 'resource', buffered: true });
window.parley = function () { (parley.q = parley.q || []).push(arguments) };
for (const name of ['ready', 'open', 'close', 'unread', 'error']) parley('on', name, ({ type, detail }) => note('event', { type, detail }));
`;

async function whatTheSiteLearns(t: Test, sites: Sites): Promise<void> {
  await t.test('what the site can read of the conversation: nothing', async (t) => {
    sites.put('/listening', { head: `<script>${listening}</script>` });
    const { page, context } = await sites.visit('/listening');
    await launcherOf(page).click();
    const frame = await frameOf(page);
    await say(frame, 'My name is Ada and I owe 1200 pounds.');
    await page.evaluate(`parley('visitor', { email: 'from@the.site' })`);
    await forge(t, page);
    t.ok(await page.locator('[popover] dialog').isVisible(), 'a port of anybody else is not heard');
    await page.evaluate(`parley('close')`);
    await until(page, `overheard.some(([where, said]) => where === 'event' && said.includes('close'))`);
    const overheard = (await page.evaluate('overheard')) as [string, string][];
    t.ok(
      overheard.some(([where]) => where === 'window') && overheard.some(([where]) => where === 'from the frame'),
      'it heard what there was to hear',
    );
    const fields: Record<string, string[]> = {
      ready: ['dir', 'lang', 'name', 'type'],
      unread: ['count', 'type'],
      close: ['type'],
      error: ['code', 'type'],
    };
    for (const [where, said] of overheard) {
      t.notMatch(said, new RegExp(`${secret}|Ada|1200|Good day|ses_|vis_|turn_|msg_`), where);
      if (where === 'from the frame') t.same(Object.keys(JSON.parse(said)).sort(), fields[JSON.parse(said).type], said);
      if (where === 'performance')
        t.notMatch(said, /\/p\/widget\/(sessions|visitors|about)/, 'it does not even see what the frame asks for');
    }
    const tried = await page.evaluate(`(() => {
      const { contentWindow, contentDocument } = document.querySelector('[popover]').shadowRoot.querySelector('iframe');
      const read = (what) => { try { return String(what()); } catch ({ name }) { return name; } };
      return [String(contentDocument), ...[() => contentWindow.document, () => contentWindow.location.href, () => contentWindow.localStorage, () => contentWindow.name, () => contentWindow.eval('1'), () => contentWindow.history.length].map(read)];
    })()`);
    t.same(tried, ['null', ...Array<string>(6).fill('SecurityError')]);
    t.same(await page.evaluate(`[document.cookie, localStorage.length, sessionStorage.length]`), ['', 0, 0]);
    t.same(await page.evaluate('indexedDB.databases()'), []);
    await context.close();
  });
}

/**
 * Greets the loader as the page in the frame does: from the site itself, from another frame of it, and from another
 * site's.
 */
async function forge(t: Test, page: Page): Promise<void> {
  const greeting = `const { port1, port2 } = new MessageChannel(); port1.postMessage({ type: 'close' }); TARGET.postMessage('parley:hello:1', '*', [port2]);`;
  await page.evaluate(`{ ${greeting.replace('TARGET', 'window')} }`);
  await page.evaluate(
    `{ const frame = document.createElement('iframe'); document.body.append(frame); window.forging = frame.contentWindow; }`,
  );
  await page.evaluate(`forging.eval(${JSON.stringify(`{ ${greeting.replace('TARGET', 'parent')} }`)})`);
  // The messages were delivered in order, and so was this one.
  await page.evaluate(
    `new Promise((done) => { addEventListener('message', ({ data }) => data === 'last' && done()); postMessage('last', '*'); })`,
  );
  t.equal(
    ((await page.evaluate('overheard')) as [string, string][]).filter(([, said]) => said === 'parley:hello:1').length,
    3,
  );
  // A message that the site posts straight to the frame's window is not taken for one from the port either.
  await page.evaluate(
    `document.querySelector('[popover]').shadowRoot.querySelector('iframe').contentWindow.postMessage({ type: 'new' }, '*')`,
  );
  const frame = page.frames().find((one) => one.url().includes('/frame?')) as Frame;
  await frame.evaluate(
    'new Promise((done) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(1); })',
  );
  t.match(await frame.locator('#messages').innerText(), secret, 'the conversation is the same');
}

async function whatTheFrameLearns(t: Test, sites: Sites): Promise<void> {
  await t.test('what the frame can learn of the site: its origin', async (t) => {
    sites.put('/account/4711', {
      head: `<meta name="referrer" content="unsafe-url"><script>document.cookie = 'basket=full'; localStorage.setItem('basket', 'full'); window.basket = 'full'</script>`,
    });
    const { page, context } = await sites.visit('/account/4711?token=hidden#part');
    const referrers: (string | undefined)[] = [];
    page.on(
      'request',
      (request) => void (request.frame() !== page.mainFrame() && referrers.push(request.headers()['referer'])),
    );
    await launcherOf(page).click();
    const frame = await frameOf(page);
    await say(frame, 'Hello');
    t.same(
      referrers.filter((one) => one && !one.startsWith(sites.house.url)),
      [],
      'no request of the frame names a page of the site',
    );
    const learnt = (await frame.evaluate(`(() => {
      const read = (what) => { try { return String(what()); } catch ({ name }) { return name; } };
      return [document.referrer, document.cookie, [...location.ancestorOrigins].join(), ...[() => parent.document, () => parent.location.href, () => parent.basket, () => parent.localStorage].map(read), read(() => localStorage.getItem('basket'))];
    })()`)) as string[];
    // The frame's storage, which some browsers deny to a frame, is empty.
    t.match(learnt.pop(), /^(null|SecurityError)$/);
    t.same(learnt, ['', '', sites.origin, 'SecurityError', 'SecurityError', 'SecurityError', 'SecurityError']);
    t.notMatch(frame.url(), /account|4711|token|hidden|part/);
    t.equal(new URL(frame.url()).searchParams.get('host'), sites.origin);
    await context.close();
  });
}
