/**
 * A server behind nginx and haproxy with TLS, as documented: addresses, signing in, sockets, and events that leave as
 * they come.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createGunzip } from 'node:zlib';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { data, delta, done } from '../providers/model/provider.ts';
import { Visit } from '../pages/link/visits.ts';
import { houseAt, openHouse } from './house.ts';
import { openBehind, type Behind, type Knows } from './behind.ts';
import { openProxy, proxies, whyNoProxy, type Proxy } from './proxy.ts';
import { fetchTrusting, send, trusted } from './request.ts';
import { isRefused, refusals } from './refusal.ts';
import { cookieOf, fromPage, linkFor, signIn, withCookie } from './signing.ts';
import { answering, chatPath, onProvider } from './talk.ts';

// Before the first test: while a program is installed this process stands still.
const missing = new Map(proxies.map((proxy) => [proxy, whyNoProxy(proxy)]));
const skipped = (proxy: Proxy) => ({ skip: missing.get(proxy) ?? false });

/** Opens the socket at the address of a token; resolves with its first message. */
async function firstMessage(t: Test, url: string): Promise<any> {
  const socket = new WebSocket(url, { ca: trusted });
  t.teardown(async () => socket.terminate());
  const [text] = (await once(socket, 'message')) as [Buffer];
  return JSON.parse(String(text));
}

async function talks(t: Test, { direct, house }: Behind, knows: Knows): Promise<void> {
  const assistant = await direct.assistant({
    channels: { voice: true, link: true, widget: true },
    link: { slug: 'hello' },
  });
  const session = await house.session(assistant.id);
  const visit = await Visit.to(house, 'hello');
  const visited = await visit.session();
  // The public address is known to a backend too that asks the server directly.
  const asked = knows === 'the proxy' ? house : direct;
  const tokens = [
    await asked.ask('/transcription-tokens', { body: { assistant_id: assistant.id } }),
    await asked.ask('/call-tokens', { body: { session_id: session.id } }),
    await visit.ask('/transcription-tokens', { body: { session_id: visited.id } }),
    await visit.ask('/call-tokens', { body: { session_id: visited.id } }),
  ];
  for (const { json } of tokens) {
    t.equal(new URL(json.url).origin, house.url.replace('https', 'wss'), json.object);
    t.match(await firstMessage(t, json.url), { type: 'ready' });
  }
  const { json: link } = await asked.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/link`);
  t.same(
    [link.url, link.snippet],
    [`${house.url}/p/hello`, `<script src="${house.url}/widget.js" data-slug="hello" async></script>`],
  );
  t.equal((await fetchTrusting(link.url, { headers: { accept: 'text/html' } })).status, 200);
}

async function signsIn(t: Test, { direct, house }: Behind): Promise<void> {
  const printed = (await house.console('/sign-in-links', { body: { name: 'Ada' } })).json.url;
  t.ok(printed.startsWith(`${house.url}/console#sign-in=`), printed);
  const signedIn = await signIn(house, await linkFor(house, 'Ada'), { ...fromPage, origin: house.url });
  t.equal(signedIn.status, 204);
  t.match(signedIn.headers.get('set-cookie'), /^__Host-parley-.*; Secure; HttpOnly/);
  t.equal((await withCookie(house, cookieOf(signedIn), '/workspaces', { body: { name: 'x' } })).status, 201);
  // A page of another site, with every header that a client can claim to be a proxy's.
  const forged = {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
  };
  isRefused(t, await signIn(house, house.operatorToken, forged), refusals.invalidToken);
  isRefused(
    t,
    await signIn(direct, house.operatorToken, { origin: 'http://10.0.0.5:8080', 'x-forwarded-for': '203.0.113.9' }),
    refusals.insecureSignIn,
  );
}

for (const proxy of proxies) {
  for (const knows of ['the proxy', 'its public address'] as const) {
    t.test(`${proxy}, before a server that knows ${knows}`, skipped(proxy), async (t) => {
      const scene = await openBehind(t, proxy, knows);
      await t.test('sockets open at the address of their tokens, and links lead to https', (t) =>
        talks(t, scene, knows),
      );
      await t.test('a person signs in', (t) => signsIn(t, scene));
    });
  }

  t.test(
    `${proxy}: plain HTTP leads to TLS, and a client's own word of the proxy's headers is dropped`,
    skipped(proxy),
    async (t) => {
      const direct = await openHouse(t, { env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
      const { url, plainUrl, ready } = await openProxy(t, proxy, [direct]);
      await ready();
      const led = await send(`${plainUrl}/p/hello?a=b`, { method: 'GET', headers: {} });
      led.resume();
      t.match([led.statusCode, led.headers.location], [308, /^https:\/\/127\.0\.0\.1(:\d+)?\/p\/hello\?a=b$/]);
      const house = await houseAt({ ...direct, url });
      const assistant = await house.assistant({ channels: { voice: true } });
      const forged = { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'evil.example' };
      t.match(
        (await house.ask('/transcription-tokens', { body: { assistant_id: assistant.id }, headers: forged })).json.url,
        `${url.replace('https', 'wss')}/transcription?token=`,
      );
    },
  );
}

t.test('nginx that buffers and compresses passes events on as they come', skipped('nginx'), async (t) => {
  const direct = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const edit = (text: string): string =>
    text.replace(
      'proxy_buffering off;',
      'proxy_buffering on; gzip on; gzip_min_length 0; gzip_types text/event-stream application/json audio/pcm;',
    );
  const { url, ready } = await openProxy(t, 'nginx', [direct], { edit });
  await ready();
  const house = await houseAt({ ...direct, url });
  t.equal(
    (await send(`${url}/openapi.json`, { method: 'GET', headers: { 'accept-encoding': 'gzip' } })).resume().headers[
      'content-encoding'
    ],
    'gzip',
    'it does compress',
  );
  for (const encoding of ['identity', 'gzip']) {
    let upstream: ServerResponse | undefined;
    const { assistant } = await onProvider(t, house, (response) => answering((upstream = response), 'one '));
    const session = await house.session(assistant.id);
    const response = await send(url + chatPath(session.id), {
      method: 'POST',
      headers: { authorization: `Bearer ${house.key}`, 'accept-encoding': encoding },
      body: '{"message":"Hello"}',
    });
    t.match(response.headers, { 'cache-control': 'no-store' }, encoding);
    const text = (
      response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response
    ).setEncoding('utf8');
    let read = '';
    text.on('data', (piece: string) => (read += piece));
    while (!read.includes('data: {"text":"one "}')) await once(text, 'data');
    t.notMatch(read, 'two', 'before the provider has said the rest');
    upstream!.end(
      delta('two', 'stop') + data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }) + done,
    );
    await once(text, 'end');
    t.match(read, /event: turn\.completed/);
  }
});
