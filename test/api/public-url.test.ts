/**
 * `PARLEY_PUBLIC_URL`: socket addresses, links and snippets begin with the address by which clients reach the server
 * (contract 11).
 */
import t from 'tap';
import { readConfig, SettingError } from '../../src/base/config.ts';
import { Visit } from '../pages/link/visits.ts';
import { startServer } from '../process.ts';
import { openHouse, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { isRefused, refusals } from './refusal.ts';
import { cookieOf, openInspect, rawSignIn, withCookie } from './signing.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * The addresses that a client with these headers is given: of both sockets, of a visitor's sockets, of the link's page,
 * its snippet and a sign-in link.
 */
async function addresses(house: House, headers: Headers = {}): Promise<string[]> {
  const assistant = await house.assistant({
    model: { provider: 'scripted', name: 'scripted' },
    channels: { voice: true, link: true },
    link: { slug: 'hello' },
  });
  const session = await house.session(assistant.id);
  const post = async (path: string, body: object, key: string): Promise<any> => {
    const text = JSON.stringify(body);
    const { status, json } = await rawAsk(house.url, path, {
      method: 'POST',
      body: text,
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Content-Length': String(text.length),
        ...headers,
      },
    });
    if (status !== 201) throw new Error(`${path}: ${status}`);
    return json;
  };
  const visit = await Visit.to(house, 'hello');
  const visited = await visit.session();
  const console = { headers: { Authorization: `Bearer ${house.operatorToken}`, ...headers } };
  const link = (
    await rawAsk(house.url, `/console/api/workspaces/${house.workspaceId}/assistants/${assistant.id}/link`, console)
  ).json;
  const given = [
    (await post('/transcription-tokens', { assistant_id: assistant.id }, house.key)).url,
    (await post('/call-tokens', { session_id: session.id }, house.key)).url,
    (await post('/p/hello/transcription-tokens', { session_id: visited.id }, visit.token)).url,
    (await post('/p/hello/call-tokens', { session_id: visited.id }, visit.token)).url,
    link.url,
    link.snippet,
    (await post('/console/api/sign-in-links', { name: 'Ada' }, house.operatorToken)).url,
  ];
  await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, { method: 'DELETE' });
  return given;
}

const expected = (address: string, console = address): RegExp[] => {
  const socket = address.replace('http', 'ws');
  const [one, other] = [address, console].map((text) => text.replaceAll('.', '\\.'));
  const begins = [
    `${socket}/transcription\\?token=`,
    `${socket}/call\\?token=`,
    `${socket}/transcription\\?token=`,
    `${socket}/call\\?token=`,
    `${one}/p/hello$`,
    `<script src="${one}/widget\\.js" `,
    `${other}/console#sign-in=`,
  ];
  return begins.map((begin) => new RegExp(`^${begin}`));
};

/** A TLS proxy that names the client and how it came. */
const forwarded = { Host: 'parley.example', 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' };

t.test('without a setting the addresses are those of the request, with the scheme of a trusted proxy', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
  t.match(await addresses(house), expected(house.url));
  t.match(await addresses(house, forwarded), expected('https://parley.example'));
  t.match(
    await addresses(house, { ...forwarded, Host: 'backend', 'X-Forwarded-Host': 'parley.example:8443' }),
    expected('https://parley.example:8443'),
  );
  const untrusting = await openHouse(t);
  t.match(
    await addresses(untrusting, { ...forwarded, 'X-Forwarded-Host': 'evil.example' }),
    expected('http://parley.example'),
    'nobody else is believed',
  );
});

t.test('the first origin of the console is the public address unless PARLEY_PUBLIC_URL is set', async (t) => {
  const env = { PARLEY_CONSOLE_ORIGIN: 'https://console.example, https://other.example' };
  for (const headers of [{}, forwarded])
    t.match(await addresses(await openHouse(t, { env }), headers), expected('https://console.example'));
  const both = await openHouse(t, { env: { ...env, PARLEY_PUBLIC_URL: 'https://parley.example:8443' } });
  t.match(
    await addresses(both, { Host: '127.0.0.1:8080' }),
    expected('https://parley.example:8443', 'https://console.example'),
  );
  t.match(both.stdout(), / https:\/\/console\.example\/console#sign-in=/, 'the link of the start');
  isRefused(
    t,
    await rawSignIn(both, both.operatorToken, { Host: 'backend', Origin: 'https://parley.example:8443' }),
    refusals.insecureSignIn,
    'the console is where it is said to be',
  );
});

t.test('people sign in at the public address, and within the machine', async (t) => {
  const own = 'https://parley.example';
  const house = await openHouse(t, { env: { PARLEY_PUBLIC_URL: own } });
  t.match(await addresses(house, { Host: 'backend:8080' }), expected(own));
  t.match(house.stdout(), / https:\/\/parley\.example\/console#sign-in=/);
  // A proxy that ends TLS, is not trusted and names the server as it likes.
  const cookie = cookieOf(
    await rawSignIn(house, house.operatorToken, { Host: 'backend:8080', Origin: own, 'Sec-Fetch-Site': 'same-origin' }),
  );
  t.equal(
    (await withCookie(house, cookie, '/workspaces', { body: { name: 'x' }, headers: { origin: own } })).status,
    201,
  );
  for (const origin of [own, house.url]) (await openInspect(house, { origin, cookie })).terminate();
  t.match(
    (await rawSignIn(house, house.operatorToken, { Host: new URL(house.url).host, Origin: house.url })).status,
    204,
    'as without the setting',
  );
  isRefused(
    t,
    await rawSignIn(house, house.operatorToken, { Host: 'backend:8080', Origin: 'https://evil.example' }),
    refusals.insecureSignIn,
  );
  const plain = await openHouse(t, { env: { PARLEY_PUBLIC_URL: 'http://parley.example' } });
  isRefused(
    t,
    await rawSignIn(plain, plain.operatorToken, { Host: 'parley.example', Origin: 'http://parley.example' }),
    refusals.insecureSignIn,
    'plain HTTP stays on the machine',
  );
});

t.test("the link's own page may ask at the public address, whatever name the proxy gives the server", async (t) => {
  const house = await openHouse(t, { env: { PARLEY_PUBLIC_URL: 'https://parley.example' } });
  await house.assistant({ channels: { link: true }, link: { slug: 'hello', origins: [] } });
  const about = async (Origin: string): Promise<number> =>
    (await rawAsk(house.url, '/p/hello/about', { headers: { Host: 'backend', Origin } })).status;
  t.same([await about('https://parley.example'), await about('https://other.example')], [200, 403]);
});

function refusalOf(value: string): string {
  try {
    return `taken: ${readConfig({ PARLEY_PUBLIC_URL: value }).publicUrl}`;
  } catch (error) {
    return error instanceof SettingError ? error.message : String(error);
  }
}

t.test('anything but scheme, host and port in PARLEY_PUBLIC_URL is one line and exit 2', async (t) => {
  const wrong = [
    ...[
      'https://parley.example/chat',
      'https://parley.example//',
      'https://parley.example/?',
      'https://parley.example?a=b',
      'https://parley.example#',
      'https://parley.example/#a',
      'https://ada:CANARY@parley.example',
    ],
    ...[
      'parley.example',
      'parley.example:443',
      '//parley.example',
      'https:parley.example',
      'https://',
      'https:///',
      'wss://parley.example',
      'ftp://parley.example',
      'https://parley.example:port',
      'https://parley.example:99999',
    ],
    ...[
      'https://one.example,https://two.example',
      'https://one.example, https://two.example',
      'https://parley .example',
      ' https://parley.example',
      'https://parley.example\\chat',
      'https://a,b',
      'https://*.example',
      'https://parley.example:',
      'https://parley.example:0',
      'https://parley..example',
      'https://.example',
      'https://parley.example..',
      'https://%70arley.example',
      'https://[::1',
    ],
  ];
  for (const value of wrong) {
    const refusal = refusalOf(value);
    t.match(
      refusal,
      /^PARLEY_PUBLIC_URL must be a scheme, a host and perhaps a port, as https:\/\/HOST\[:PORT\], not "[^\n]*"\.$/,
      value,
    );
    t.notMatch(refusal, 'CANARY');
  }
  const right = {
    'https://parley.example': 'https://parley.example',
    'https://Parley.Example:443/': 'https://parley.example',
    'http://10.0.0.5:8080': 'http://10.0.0.5:8080',
    'https://[2001:DB8::1]:8443': 'https://[2001:db8::1]:8443',
    'HTTPS://grüße.example': 'https://xn--gre-6ka8l.example',
  };
  for (const [value, origin] of Object.entries(right))
    t.equal(readConfig({ PARLEY_PUBLIC_URL: value }).publicUrl, origin, value);
  t.equal(readConfig({ PARLEY_PUBLIC_URL: '' }).publicUrl, null);
  for (const start of [
    { env: { PARLEY_PUBLIC_URL: 'https://parley.example/chat' } },
    { args: ['--public-url', 'https://parley.example/chat'] },
  ]) {
    const refused = await startServer(t, { ...start, env: { PARLEY_STORE: 'memory:', ...start.env } }).then(
      () => '',
      (error: Error) => error.message,
    );
    t.match(refused, /^The server ended with 2 before it listened\.\nparley: [^\n]*PARLEY_PUBLIC_URL[^\n]*\n$/);
  }
});
