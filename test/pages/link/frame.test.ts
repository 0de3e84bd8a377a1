/**
 * The page in the widget's frame: its messages to the site that its address names, and from it (src/pages/messages.ts).
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Frame, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { openHouse } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { openBrowser, patience, whyNoBrowser } from '../../browser.ts';
import { quiet, replies, say } from './browser.ts';
import { linked } from './visits.ts';

const house = await openHouse(t, { env: { PARLEY_VOICE_PROCESSES: '0' } });
const browser = whyNoBrowser ? null! : await openBrowser(t);

/** A site with the frame, that keeps what comes: by `postMessage`, and over the port. */
async function site(t: Test, slug: string, query = ''): Promise<string> {
  const script = `
    const said = [], heard = [];
    let port = null;
    addEventListener('message', ({ data, origin, ports }) => {
      heard.push({ data, origin, ports: ports.length });
      if (data !== 'parley:hello:1') return;
      port = ports[0];
      port.onmessage = ({ data }) => said.push(data);
    });
    const frame = document.createElement('iframe');
    frame.style = 'width: 400px; height: 600px';
    frame.src = ${JSON.stringify(`${house.url}/p/${slug}/frame`)} + '?host=' + encodeURIComponent(location.origin) + ${JSON.stringify(query)};
    document.body.append(frame);`;
  const server = createServer((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!doctype html><title>Shop</title><body><script>${script}</script>`),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

const said = (page: Page): Promise<any[]> => page.evaluate('said');
const tell = (page: Page, message: object): Promise<void> =>
  page.evaluate(`port.postMessage(${JSON.stringify(message)})`);

/** Wherever the button that closes it is not to be seen any more. */
async function microphoneCloses(t: Test, page: Page, frame: Frame): Promise<void> {
  const track = (): Promise<unknown> => frame.evaluate('globalThis.microphone?.getTracks()[0].readyState');
  for (const message of [
    { type: 'view', open: false, mode: 'panel' },
    { type: 'new' },
    { type: 'locale', lang: 'fr' },
  ]) {
    await tell(page, { type: 'view', open: true, mode: 'panel' });
    await frame.locator('#talk .beside > :first-child[aria-pressed=false]').click();
    await until(async () => (await track()) === 'live');
    await frame.locator('#talk .beside > :first-child[aria-pressed=true]').waitFor();
    await tell(page, message);
    await until(async () => (await track()) === 'ended');
    t.pass(`the microphone is closed at ${message.type}`);
  }
}

t.test('the messages between a site and the frame', { skip: whyNoBrowser }, async (t) => {
  const origin = await site(t, 'framed', '&lang=de&mode=panel&accent=%23008844');
  const fields = [
    { name: 'name', label: 'Name', type: 'text', required: true },
    { name: 'news', label: 'News', type: 'boolean', required: false },
  ];
  await linked(house, 'framed', {
    channels: { voice: true, link: true, widget: true },
    voice: { provider: 'synthetic', name: 'audio_ms=200' },
    name: 'tokens=150,delay_ms=10',
    greeting: 'Good day.',
    visitor_fields: fields,
    origins: [origin],
  });
  const page = await browser.newPage({ reducedMotion: 'reduce', locale: 'en-GB' });
  page.setDefaultTimeout(patience);
  await page.addInitScript(
    'if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = async () => (globalThis.microphone = new AudioContext().createMediaStreamDestination().stream);',
  );
  await page.goto(origin);
  await until(async () => (await said(page)).length === 1);
  const frame = page.frames()[1]!;
  const inside = frame as unknown as Page;
  t.same(
    await page.evaluate('heard'),
    [{ data: 'parley:hello:1', origin: house.url, ports: 1 }],
    'one message, with a port',
  );
  t.match(await said(page), [{ type: 'ready', name: /./, lang: 'de', dir: 'ltr' }]);
  t.equal(await frame.locator('#send').innerText(), 'Senden');
  t.match(await frame.evaluate("document.documentElement.style.getPropertyValue('--accent')"), /^light-dark\(rgb\(0 /);
  t.not(await page.evaluate('document.activeElement.tagName'), 'IFRAME', 'no focus is taken before it is opened');

  await tell(page, { type: 'visitor', fields: { name: 'Ada', news: true, stranger: 1 } });
  await tell(page, { type: 'view', open: true, mode: 'panel' });
  await until(async () => (await frame.locator('#field-0').inputValue()) === 'Ada');
  t.equal(await frame.locator('#field-1').isChecked(), true);
  await frame.locator('#field-0').fill('Grace');
  await tell(page, { type: 'visitor', fields: { name: 'Ada' } });
  await tell(page, { type: 'locale', lang: 'ar-EG' });
  await until(async () => (await said(page)).length === 2);
  t.match((await said(page))[1], { type: 'ready', lang: 'ar', dir: 'rtl' });
  t.same(
    [
      await frame.locator('#send').innerText(),
      await frame.locator('#field-0').inputValue(),
      await frame.locator('#field-1').isChecked(),
    ],
    ['إرسال', 'Grace', true],
    'what the person wrote stays',
  );
  await tell(page, { type: 'locale', lang: 'en' });
  await tell(page, { type: 'theme', scheme: 'dark', accent: null });
  await until(async () => (await said(page)).length === 3);
  await until(
    async () =>
      (await frame.evaluate(
        "document.documentElement.style.colorScheme + document.documentElement.style.getPropertyValue('--accent')",
      )) === 'dark',
  );

  await say(inside, 'Hello');
  await tell(page, { type: 'view', open: false, mode: 'panel' });
  await until(async () => (await said(page)).length === 4);
  t.same((await said(page))[3], { type: 'unread', count: 1 }, 'the reply came while it was closed');
  await tell(page, { type: 'view', open: true, mode: 'full' });
  await until(async () => (await said(page)).length === 5);
  t.same((await said(page))[4], { type: 'unread', count: 0 });
  await quiet(inside);
  t.match(
    await replies(inside).nth(1).innerText(),
    'word word',
    'also where the browser denies a frame its storage, as here',
  );

  await frame.evaluate(
    "document.querySelector('#message').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true }))",
  );
  await frame.locator('#message').press('Escape');
  await frame.getByRole('button', { name: 'Close' }).click();
  await until(async () => (await said(page)).length === 7);
  t.same((await said(page)).slice(5), [{ type: 'close' }, { type: 'close' }]);
  await tell(page, { type: 'view', open: true, mode: 'inline' });
  await frame.getByRole('button', { name: 'Close' }).waitFor({ state: 'hidden' });
  for (const strange of [
    'null',
    '"text"',
    '{}',
    '{ type: "nothing" }',
    '{ type: "view" }',
    '{ type: "visitor" }',
    '{ type: "visitor", fields: { __proto__: null } }',
    '{ type: "theme", accent: {}, scheme: 1 }',
  ])
    await page.evaluate(`port.postMessage(${strange})`);
  await tell(page, { type: 'new' });
  await until(async () => (await replies(inside).count()) === 1);
  const crossed = JSON.stringify(await said(page));
  for (const secret of ['Hello', 'word', 'Grace', 'vis_', 'ses_'])
    t.notMatch(crossed, secret, 'nothing of the conversation crosses');

  await microphoneCloses(t, page, frame);
  const before = (await said(page)).length;
  await page.evaluate('frame.src = frame.src');
  await until(async () => ((await page.evaluate('heard.length')) as number) === 2);
  await until(async () => (await said(page)).slice(before).at(-1)?.type === 'ready');
});

t.test(
  'opened by itself the frame is the page of the link; at a site that is not listed it says that it is not available',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'alone', { origins: ['https://shop.example'] });
    const page = await browser.newPage({ locale: 'en-GB' });
    page.setDefaultTimeout(patience);
    await page.goto(`${house.url}/p/alone/frame?host=${encodeURIComponent('https://shop.example')}`);
    await say(page, 'Hello');
    await until(async () => (await replies(page).count()) === 1);
    await quiet(page);
    t.equal(await page.getByRole('button', { name: 'Close' }).count(), 0);
    const { session } = JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string);
    t.equal((await house.ask(`/sessions/${session}`)).json.channel, 'link');
    await page.goto(await site(t, 'alone'));
    await page.frameLocator('iframe').getByText('Not available here.').waitFor();
    await until(async () => (await said(page)).length === 1);
    t.match(
      await said(page),
      [{ type: 'error', code: 'assistant_not_permitted', hint: 'is not available at http://localhost:' }],
      'it says why, and nothing else',
    );
  },
);
