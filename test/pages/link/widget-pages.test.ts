/** The widget on pages that zoom their body, or write their document anew. */
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { whyNoBrowser } from '../../browser.ts';
import { frameOf, launcherOf, openSites, phone, say, until, type Sites } from './sites.ts';
import { linked } from './visits.ts';

const house = await openHouse(t);

const panelOf = (page: Page) => page.locator('div[popover] dialog');
/** A box on the screen: a script for the page, at any zoom. */
const boxOf = async (page: Page, what: 'panel' | 'launcher'): Promise<number[]> => {
  const { x, y, width, height } = (await (what === 'panel' ? panelOf(page) : launcherOf(page)).boundingBox())!;
  return [x, y, width, height].map(Math.round);
};
const zooms = [
  ['body', 'body { zoom: 1.5 }'],
  ['html', 'html { zoom: 80% }'],
  ['both', 'html { zoom: 1.2 } body { zoom: 1.5 }'],
  ['transform', 'body { transform: scale(1.4) }'],
] as const;

t.test('the widget works on the pages of a site', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house);
  await linked(house, 'widget', { greeting: 'Good day.', name: 'tokens=3,delay_ms=0', origins: [sites.origin] });
  await linked(house, 'other', { greeting: 'Good day.', name: 'tokens=3,delay_ms=0', origins: [sites.origin] });
  sites.put('/plain', { body: '<p>Text</p>' });
  await zoomed(t, sites);
  await zooming(t, sites);
  await writtenAnew(t, sites);
  await writtenTag(t, sites);
});

async function zoomed(t: Test, sites: Sites): Promise<void> {
  await t.test('under a zoomed body the widget has its size, and on a phone the screen', async (t) => {
    const sizes: number[][][] = [];
    for (const [name, style] of [['none', ''], ...zooms] as const) {
      sites.put('/zoomed', { head: `<style>${style}</style>`, body: '<p>Text</p>' });
      const desk = await sites.visit('/zoomed', { viewport: { width: 1280, height: 800 } });
      const launcher = await boxOf(desk.page, 'launcher');
      await launcherOf(desk.page).click();
      await frameOf(desk.page);
      sizes.push([launcher, await boxOf(desk.page, 'panel')]);
      t.same(sizes.at(-1), sizes[0], name);
      t.same(desk.complaints, []);
      await desk.context.close();
      // A page that is wider than the screen is shown smaller by phones, with all that lies on it.
      if (name === 'transform') continue;
      const { page, context } = await sites.visit('/zoomed', phone);
      await launcherOf(page).tap();
      const frame = await frameOf(page);
      t.same(await boxOf(page, 'panel'), [0, 0, 390, 760], `${name}, on a phone`);
      t.equal(await frame.evaluate('innerWidth'), 390);
      await context.close();
    }
  });
}

async function zooming(t: Test, sites: Sites): Promise<void> {
  await t.test('a zoom that changes is followed', async (t) => {
    const { page, context } = await sites.visit('/plain', { viewport: { width: 1280, height: 800 } });
    await launcherOf(page).click();
    await frameOf(page);
    const before = await boxOf(page, 'panel');
    for (const change of [
      "document.body.style.zoom = '1.5'",
      "document.documentElement.style.zoom = '0.8'",
      "document.body.style.zoom = ''",
    ]) {
      await page.evaluate(change);
      await page.evaluate('new Promise(requestAnimationFrame)');
      t.same(await boxOf(page, 'panel'), before, change);
    }
    await context.close();
  });
}

async function writtenAnew(t: Test, sites: Sites): Promise<void> {
  await t.test('a page that is written anew has its widget, as it was', async (t) => {
    const written = '<!doctype html><title>New</title><main><h1>New</h1></main>';
    const tag = `<script src="${house.url}/widget.js" data-slug="widget" async><\\/script>`;
    for (const [name, script] of [
      ['in one piece', `document.write('${written}'); document.close();`],
      [
        'in pieces',
        `document.open(); setTimeout(() => { document.write('<!doctype html><title>New</title>'); setTimeout(() => { document.write('<body><h1>New</h1>'); document.close(); }, 50); }, 50);`,
      ],
      ['with the tag in it again', `document.write('${written}${tag}'); document.close();`],
      ['twice', `document.write('<p>Old'); document.close(); document.write('${written}'); document.close();`],
    ] as const) {
      sites.put('/two', { body: '<p>Text</p>', tags: ['data-slug="widget"', 'data-slug="other" data-label="Other"'] });
      const { page, context, complaints } = await sites.visit('/two', { viewport: { width: 1280, height: 800 } });
      await page.locator('div[popover]').nth(1).waitFor({ state: 'attached' });
      const places = await launchers(page);
      await page.evaluate("parley('widget.open')");
      await say(await frameOf(page, 'widget'), 'Hello');
      await page.evaluate(script);
      await page.getByRole('heading', { name: 'New' }).waitFor();
      await until(page, "document.querySelectorAll('div[popover]').length === 2");
      t.same(await launchers(page), places, `${name}: both, where they were`);
      const frame = await frameOf(page, 'widget');
      await frame.locator('#messages li.user').filter({ hasText: 'Hello' }).waitFor();
      await frame.locator('#message').press('Escape');
      await panelOf(page).first().waitFor({ state: 'hidden' });
      await page.locator('div[popover] button').first().click();
      await panelOf(page).first().waitFor();
      t.same(complaints, [], name);
      await context.close();
    }
  });
}

async function writtenTag(t: Test, sites: Sites): Promise<void> {
  await t.test('a tag that is written while the page loads has its widget', async (t) => {
    sites.put('/writes', {
      tags: [],
      head: `<script>document.write('<script src="${house.url}/widget.js" data-slug="widget" async><\\/script>')</script>`,
      body: '<p>Text</p>',
    });
    const { page, context, complaints } = await sites.visit('/writes');
    await launcherOf(page).click();
    await frameOf(page);
    t.same(complaints, []);
    await context.close();
  });
}

/** The places of the launchers on the screen, from below. */
const launchers = async (page: Page): Promise<number[]> => {
  const boxes = await Promise.all((await page.locator('div[popover] button').all()).map((one) => one.boundingBox()));
  return boxes.map((box) => Math.round(box!.y)).toSorted((one, other) => one - other);
};
