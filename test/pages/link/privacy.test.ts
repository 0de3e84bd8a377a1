/** A visitor's address leaves nothing in the log and nothing readable in the store (contract 9). */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { openHouse } from '../../api/house.ts';
import { temporaryFolder } from '../../folders.ts';
import { linked, Visit } from './visits.ts';

const address = '203.0.113.177';
const from = { 'x-forwarded-for': address };

t.test('an address is written nowhere', async (t) => {
  const folder = await temporaryFolder(t);
  const house = await openHouse(t, {
    folder,
    embedded: true,
    env: { PARLEY_STORE: 'lmdb:./data', PARLEY_LOG: 'info', PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
  });
  const assistant = await linked(house, 'private', {
    channels: { voice: true, link: true, widget: true },
    voice: { provider: 'synthetic', name: 'audio_ms=50,delay_ms=0' },
  });
  const visit = await Visit.to(house, 'private', { headers: from });
  const session = await visit.session();
  t.equal((await visit.say(session, 'a confidence')).status, 200);
  await visit.ask('/sessions/ses_none');
  await house.ask('/p/private/sessions', { key: 'bad', headers: from, body: {} });
  await house.ask('/p/nobody/about', { key: null, headers: from });
  const token = await visit.ask('/transcription-tokens', { body: { session_id: session.id } });
  const keysToken = await house.ask('/transcription-tokens', { body: { assistant_id: assistant.id } });
  const keysAddress = '203.0.113.98';
  for (const [url, headers, status] of [
    [token.json.url, from, 101],
    [token.json.url, from, 401],
    [keysToken.json.url, { 'x-forwarded-for': keysAddress }, 101],
  ] as const) {
    const socket = new WebSocket(url, { headers });
    t.equal(
      await new Promise((resolve) =>
        socket
          .once('upgrade', () => resolve(101))
          .once('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
      ),
      status,
    );
    socket.on('error', () => {}).terminate();
  }
  for (const file of ['/widget.js', '/link/page.js', '/link/none']) await fetch(house.url + file, { headers: from });
  const ofKey = await house.ask('/assistants', { headers: { 'x-forwarded-for': '203.0.113.99' } });
  await house.stop();
  const lines = house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const linkLines = lines.filter(
    ({ route, ...line }) => /^\/(?:p\/|link\/|widget\.js|transcription$)/.test(route) && line.address !== keysAddress,
  );
  t.equal(linkLines.length, 12, `${linkLines.length} requests of the link are logged`);
  t.same(
    linkLines.filter((line) => 'address' in line),
    [],
  );
  t.equal(lines.find(({ address }) => address === keysAddress)?.route, '/transcription', "that of a key's socket is");
  t.equal(
    lines.find(({ request_id: id }) => id === ofKey.headers.get('x-request-id'))?.address,
    '203.0.113.99',
    "a key's is",
  );
  for (const word of [address, visit.token, 'a confidence'])
    t.notOk((house.stdout() + house.stderr()).includes(word), word);
  for (const name of await readdir(join(folder, 'data'))) {
    const bytes = await readFile(join(folder, 'data', name)).catch(() => Buffer.alloc(0));
    t.notOk(bytes.includes(address), name);
  }
});

t.test('a proxy that nobody has named is told of once', async (t) => {
  const house = await openHouse(t);
  await linked(house, 'proxied', { limits: { messages_per_address_per_hour: 1 } });
  const visit = await Visit.to(house, 'proxied', { headers: from });
  t.equal((await visit.ask('/sessions', { body: {} })).status, 201);
  const forged = await Visit.to(house, 'proxied', { headers: { 'x-forwarded-for': '198.51.100.1' } });
  t.equal(
    (await forged.ask('/sessions', { body: {} })).status,
    429,
    'what such a peer says of an address is not believed',
  );
  await house.stop();
  t.equal(house.stdout().match(/PARLEY_TRUSTED_PROXIES does not name/g)?.length, 1);
});
