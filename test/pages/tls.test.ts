/**
 * A browser at a server behind nginx and haproxy with TLS, as documented: signing in to the console, calls from https
 * pages, and the widget on another site.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { Browser, Page } from 'playwright-core';
import { openBehind, type Behind } from '../api/behind.ts';
import type { House } from '../api/house.ts';
import { proxies, whyNoProxy } from '../api/proxy.ts';
import { transcriptOf, until } from '../api/talk.ts';
import { openBrowser, openPage, patience, whyNoBrowser } from '../browser.ts';
import { temporaryFolder } from '../folders.ts';
import { phraseFor } from '../phrase.ts';
import { certificateIn } from '../tls.ts';
import { frameOf, launcherOf, say } from './link/sites.ts';
import { linked, statusOf } from './link/visits.ts';

// Before the first test: while a program is installed this process stands still.
const missing = proxies.map((proxy) => [proxy, whyNoBrowser || (whyNoProxy(proxy) ?? false)] as const);

const client = fileURLToPath(new URL('../../dist/client/', import.meta.url));
/** A name that is not one of loopback, where a sign-in would pass without TLS. */
const publicName = 'parley.example';

/** A microphone that says one phrase, once. */
const microphoneOf = (phrase: string): string[] => [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${phrase}%noloop`,
];
const voice = { provider: 'synthetic', name: 'character_ms=30', transcription_name: 'texts=hello_there' };

for (const [proxy, skip] of missing) {
  // One is known by its word of TLS, the other by the public address alone.
  const knows = proxy === 'nginx' ? 'the proxy' : 'its public address';
  t.test(`${proxy} with TLS, before a server that knows ${knows}`, { skip }, async (t) => {
    // Loudness alone is taken for speech without voice processes.
    const scene = await openBehind(t, proxy, knows, { PARLEY_VOICE_PROCESSES: '0' });
    const microphone = microphoneOf(await phraseFor(t));
    const browser = await openBrowser(t, `--host-resolver-rules=MAP ${publicName} 127.0.0.1`, ...microphone);
    await t.test('a person signs in to the console with a link, and sees the live page move', (t) =>
      signsIn(t, scene, browser),
    );
    await t.test("a call from the link's page is answered", (t) => callsOnLink(t, scene, browser));
    // A server that does not know its public address learns it from the request alone.
    const backend = knows === 'the proxy' ? scene.house : scene.direct;
    const { protocol } = new URL(backend.url);
    const elsewhere = `a page of another site calls with a token that its backend got at ${protocol}`;
    await t.test(elsewhere, (t) => callsElsewhere(t, backend, browser));
    await t.test("the widget's printed line works on another site", (t) => showsWidget(t, scene, browser));
    if (proxy !== 'nginx') return;
    await t.test('the sign-in page says what to set where the server knows of no TLS', (t) =>
      readsWhatToSet(t, browser),
    );
  });
}

async function readsWhatToSet(t: Test, browser: Browser): Promise<void> {
  const { house } = await openBehind(t, 'nginx', 'nothing', { PARLEY_VOICE_PROCESSES: '0' });
  const origin = house.url.replace('127.0.0.1', publicName);
  const { page, context } = await openPage(browser, { origin, ignoreHTTPSErrors: true, networkFailures: 'expected' });
  await page.goto(`${origin}/console`);
  await page.getByLabel('Operator token').fill(house.operatorToken);
  await page.keyboard.press('Enter');
  const advice = await page.getByRole('alert').textContent();
  t.match(advice, 'the server does not know it');
  t.match(advice, `PARLEY_PUBLIC_URL=${origin}`);
  t.notMatch(advice, 'ssh');
  await context.close();
}

async function signsIn(t: Test, { house }: Behind, browser: Browser): Promise<void> {
  const { page, complaints, context } = await openPage(browser, { origin: house.url, ignoreHTTPSErrors: true });
  const { url } = (await house.console('/sign-in-links', { body: { name: 'Ada' } })).json;
  t.ok(url.startsWith(`${house.url}/console#sign-in=`), url);
  await page.goto(url);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByText('Ada').waitFor();
  const [cookie] = await context.cookies();
  t.match(cookie, { name: /^__Host-parley-/, secure: true, httpOnly: true, sameSite: 'Strict' });
  await page.goto(`${house.url}/console/${house.workspaceId}/live`);
  await page.getByText('0 sessions awake').waitFor();
  const { id } = await house.session((await house.assistant()).id);
  await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  await page.getByText('1 session awake').waitFor();
  t.same(complaints, []);
  await context.close();
}

async function callsOnLink(t: Test, { house }: Behind, browser: Browser): Promise<void> {
  const channels = { voice: true, link: true, widget: true };
  await linked(house, 'calls', { channels, voice, greeting: null, name: 'tokens=6,delay_ms=0' });
  const { page, complaints, context } = await openPage(browser, {
    origin: house.url,
    ignoreHTTPSErrors: true,
    locale: 'en-GB',
  });
  const sockets: string[] = [];
  page.on('websocket', (socket) => void sockets.push(socket.url()));
  await page.goto(`${house.url}/p/calls`);
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.locator('#messages li.assistant .said').filter({ hasText: /word/ }).waitFor();
  t.match(sockets, [new RegExp(`^${house.url.replace('https', 'wss')}/call\\?token=`)]);
  await page.locator('#call').getByRole('button', { name: 'Hang up' }).click();
  await page.locator('#call').waitFor({ state: 'detached' });
  t.same(complaints, []);
  await context.close();
}

/** A site with TLS whose own backend answers `/my-token`. */
async function openSite(t: Test, page: () => string, token: () => Promise<string>): Promise<string> {
  const { certificate, key } = certificateIn(await temporaryFolder(t), 'site');
  const answer = async (path: string): Promise<readonly [string, string | Buffer]> => {
    if (path === '/my-token') return ['application/json', await token()];
    return path.endsWith('.js') ? ['text/javascript', await readFile(client + path.slice(1))] : ['text/html', page()];
  };
  const server: Server = createServer(
    { cert: await readFile(certificate), key: await readFile(key) },
    (request, response) => {
      answer(request.url!).then(
        ([type, body]) => response.setHeader('content-type', type).end(body),
        () => response.writeHead(404).end(),
      );
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

/** A page of a new visitor, and the errors that it must not have. */
async function visit(
  browser: Browser,
  url: string,
): Promise<{ page: Page; faults: string[]; close: () => Promise<void> }> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => void faults.push(error.message));
  page.on('console', (message) => void (/mixed content/i.test(message.text()) && faults.push(message.text())));
  await page.goto(url);
  return { page, faults, close: () => context.close() };
}

async function callsElsewhere(t: Test, house: House, browser: Browser): Promise<void> {
  const model = { provider: 'synthetic', name: 'tokens=6,delay_ms=0' };
  const { id } = await house.assistant({ channels: { voice: true }, model, voice });
  const session = await house.session(id);
  const html = `<!doctype html><link rel="icon" href="data:,"><button>Call</button><script type="module">
import { browserCall } from './browser-call.js';
globalThis.events = [];
document.querySelector('button').onclick = async () => {
  const { call } = await browserCall({ token: () => fetch('/my-token').then((answer) => answer.json()) });
  call.subscribe((event) => events.push(event));
};
</script>`;
  const token = async (): Promise<string> =>
    (await house.ask('/call-tokens', { body: { session_id: session.id } })).text;
  const origin = await openSite(t, () => html, token);
  const { page, faults, close } = await visit(browser, origin);
  await page.click('button');
  await until(() => page.evaluate("events.some(({ type }) => type === 'turn.completed')") as Promise<boolean>);
  const reply = { status: 'completed', voice: { heard: 'played' } };
  t.match(await transcriptOf(house, session.id), [{ role: 'user', content: 'hello there' }, reply]);
  t.same(faults, []);
  await close();
}

async function showsWidget(t: Test, { house }: Behind, browser: Browser): Promise<void> {
  let snippet = '';
  const html = (): string => `<!doctype html><link rel="icon" href="data:,"><title>Shop</title>${snippet}`;
  const origin = await openSite(t, html, async () => '');
  snippet = (await statusOf(house, await linked(house, 'widget', { origins: [origin], greeting: null }))).snippet;
  t.equal(snippet, `<script src="${house.url}/widget.js" data-slug="widget" async></script>`);
  const { page, faults, close } = await visit(browser, origin);
  await launcherOf(page).click();
  await say(await frameOf(page), 'Hello');
  t.same(faults, []);
  await close();
}
