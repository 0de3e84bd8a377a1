/** The pages of the public link: who may open them, who may frame them, and that one talks (contract 9). */
import { createHash } from 'node:crypto';
import { chromium } from 'playwright-core';
import t from 'tap';
import { openHouse } from '../api/house.ts';
import { browserPath, faintTexts, overflow, whyNoBrowser } from '../browser.ts';
import { linked, site } from './visits.ts';

const house = await openHouse(t);
const assistant = await linked(house, 'pages', { greeting: 'Good day.', visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }], name: 'tokens=3,delay_ms=0', origins: [site, 'https://*.wide.example'] });
const html = { accept: 'text/html,application/xhtml+xml' };
/** Pages are in no document that an answer could be held to. */
async function get(path: string, headers: Record<string, string> = html) {
  const answer = await fetch(house.url + path, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
const ancestors = (headers: Headers): string | undefined => /frame-ancestors (.+)$/.exec(headers.get('content-security-policy') ?? '')?.[1];

t.test('the page', async (t) => {
  const { status, headers, text } = await get('/p/pages');
  t.same([status, headers.get('content-type'), headers.get('x-content-type-options'), headers.get('access-control-allow-origin')], [200, 'text/html; charset=utf-8', 'nosniff', null]);
  t.equal(ancestors(headers), "'none'");
  const policy = headers.get('content-security-policy')!;
  t.notMatch(policy, /unsafe|\*|http/);
  for (const [tag, directive] of [['script', 'script-src'], ['style', 'style-src']]) {
    const [, content] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(text)!;
    t.match(policy, `${directive} 'sha256-${createHash('sha256').update(content!).digest('base64')}'`, `the policy has the ${tag} of the page`);
  }
  t.notMatch(text, /\ssrc=|\shref=|url\(|@import|\son\w+=/);
  t.equal((await get('/p/pages', { ...html, 'if-none-match': headers.get('etag')! })).status, 304);
  t.equal((await get('/p/pages', { origin: 'https://other.example' })).status, 200, 'a page has no rule of origins');
});

t.test('who may frame it', async (t) => {
  const framed = async (host?: string) => {
    const { status, headers } = await get(`/p/pages/frame${host === undefined ? '' : `?host=${encodeURIComponent(host)}`}`);
    return [status, ancestors(headers)];
  };
  t.same(await framed(site), [200, site]);
  t.same(await framed('https://a.wide.example'), [200, 'https://a.wide.example']);
  for (const host of [undefined, '', 'https://other.example', 'null', '*', `${site} https://other.example`, 'https://x;script-src.wide.example', `${site}/path`]) t.same(await framed(host), [200, "'none'"], host ?? 'none given');
});

t.test('where there is nothing', async (t) => {
  const unknown = await get('/p/nobody');
  t.same([unknown.status, unknown.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
  for (const path of ['/p/nobody', '/p/nobody/frame']) {
    const { status, text } = await get(path, { accept: '*/*' });
    t.same([status, JSON.parse(text).error.code], [404, 'assistant_not_found'], 'others get the shape of all failures');
  }
  const turn = (channels: object) => house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, { method: 'PATCH', body: { channels } });
  await turn({ link: false });
  t.same([(await get('/p/pages')).status, (await get('/p/pages')).text, (await get('/p/pages/frame')).status], [404, unknown.text, 200]);
  await turn({ link: true, widget: false });
  t.same([(await get('/p/pages')).status, (await get('/p/pages/frame')).status], [200, 404]);
  await turn({ widget: true });
});

t.test('a conversation in a browser', { skip: whyNoBrowser }, async (t) => {
  const running = await chromium.launch({ executablePath: browserPath!, args: ['--no-sandbox'] });
  t.teardown(() => running.close());
  const page = await running.newPage({ viewport: { width: 360, height: 700 } });
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => void (message.type() === 'error' && !message.text().includes('favicon') && faults.push(message.text())));
  await page.goto(`${house.url}/p/pages`);
  await page.locator('[name=email]').fill('a@b.example');
  t.same(await page.locator('#messages li').allTextContents(), ['Good day.']);
  await page.locator('#message').fill('Hello');
  await page.locator('#send').click();
  await page.locator('#messages li.assistant').nth(1).filter({ hasText: /\S/ }).waitFor();
  await page.locator('#send:not([disabled])').waitFor();
  t.equal(await page.locator('#notice').textContent(), '');
  t.equal(await page.evaluate(overflow), 0);
  t.same(await page.evaluate(faintTexts), []);
  t.same(faults, []);
});
