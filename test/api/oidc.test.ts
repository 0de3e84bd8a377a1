/** Signing in to the console by OpenID Connect (contract 22), through a real issuer. */
import t, { type Test } from 'tap';
import { limits } from '../../src/base/limits.ts';
import { CookieJar } from './cookie-jar.ts';
import { edge, openHouse, type House } from './house.ts';
import { clientSecret, OidcIssuer } from './oidc-issuer.ts';
import { fromPage } from './signing.ts';

const accounts = {
  ada: { name: 'Ada <b>Lovelace</b>\u202e', groups: ['staff', 'admins'] },
  eve: { name: 'Eve <script>', groups: ['staff'] },
  bob: { email: 'bob@example.com', groups: 'admins' },
};

t.test(edge, async (t) => {
  const issuer = await OidcIssuer.start(t, accounts);
  const house = await openHouse(t, {
    env: { ...issuer.settings('groups=admins:owner'), PARLEY_LOG: 'debug', PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
  });
  const scene = { house, issuer };
  await t.test('a server starts while the issuer is away, and a sign-in is answered with 503', (t) => away(t, scene));
  issuer.serve(house);
  await t.test('a person with a role signs in', (t) => course(t, scene));
  await t.test('claims of the ID token count as those of userinfo', (t) => inIdToken(t, scene));
  await t.test('a person without a role is answered with 403', (t) => withoutRole(t, scene));
  await t.test('a begun sign-in is used once, also with another code of the issuer', (t) => once(t, scene));
  await t.test('several tabs sign in at once', (t) => tabs(t, scene));
  await t.test('a callback of another browser, state or code is answered with 401', (t) => foreign(t, scene));
  await t.test('keys that the issuer rotates are valid at once', (t) => rotation(t, scene));
  await t.test('a sign-in leads to a page of the console alone', (t) => destinations(t, scene));
  await t.test('a sign-in over plain HTTP from another name is refused with 400', (t) => plainHttp(t, scene));
  await t.test('an issuer that leaves keeps people signed in and links valid', (t) => leaving(t, scene));
  await t.test('failed sign-ins of an address are limited', (t) => throttled(t, scene));
  await t.test('the log has no secret, token or claim', async (t) => {
    t.match(house.stdout(), /failed at the issuer/);
    t.notMatch(house.stdout(), new RegExp([clientSecret, 'Lovelace', 'access_token', ...seen].join('|')));
  });
});

t.test('a server without the settings has no such sign-in', async (t) => {
  const house = await openHouse(t);
  for (const path of ['', '/callback?state=a&code=b'])
    t.equal((await house.ask(`/console/api/oidc${path}`, { key: null })).status, 404);
  t.strictSame(await options(house), { object: 'sign_in_options', oidc: null });
});

interface Scene {
  readonly house: House;
  readonly issuer: OidcIssuer;
}

/** Codes, states and cookies that were used. */
const seen: string[] = [];

/** Begins a sign-in, signs in at the issuer and comes back: the address of the callback, which is not requested. */
async function callbackOf({ house, issuer }: Scene, jar: CookieJar, name: string, query = ''): Promise<URL> {
  const begun = await jar.get(`${house.url}/console/api/oidc${query}`, fromPage);
  return returned(issuer, jar, begun, house, name);
}

async function returned(
  issuer: OidcIssuer,
  jar: CookieJar,
  begun: Response,
  { url }: House,
  name: string,
): Promise<URL> {
  const callback = `${url}/console/api/oidc/callback`;
  const next = await jar.follow(begun, `${issuer.url}/interaction`, callback);
  if (next.href.startsWith(callback)) return next;
  next.searchParams.set('name', name);
  const back = await jar.follow(await jar.get(next), callback);
  seen.push(back.searchParams.get('code')!, back.searchParams.get('state')!);
  return back;
}

/** The ways to sign in, as the sign-in page reads them. */
const options = async ({ url }: House): Promise<unknown> => (await fetch(`${url}/console/api/sign-in`)).json();

const me = ({ house }: Scene, jar: CookieJar) =>
  house.ask('/console/api/me', { key: null, headers: { cookie: jar.header(house.url) } });

/** Holds an answer to be the page of a failure. */
async function isPage(t: Test, answer: Response, status: number): Promise<string> {
  const text = await answer.text();
  t.equal(answer.status, status);
  t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  t.match(answer.headers.get('content-security-policy'), /^default-src 'none'.*frame-ancestors 'none'$/);
  t.equal(answer.headers.get('cache-control'), 'no-store');
  t.match(text, /<a href="\/console\/api\/oidc\?to=%2Fconsole">/, 'it leads back');
  t.match(text, `Request ${answer.headers.get('x-request-id')}`);
  t.notMatch(text, /Eve|script>|access_denied|invalid_/, 'it has no text of the issuer');
  return text;
}

async function away(t: Test, { house }: Scene): Promise<void> {
  await isPage(t, await new CookieJar().get(`${house.url}/console/api/oidc`), 503);
}

async function course(t: Test, scene: Scene): Promise<void> {
  const { house, issuer } = scene;
  t.strictSame(await options(house), { object: 'sign_in_options', oidc: { name: new URL(issuer.url).host } });
  const jar = new CookieJar();
  const begun = await jar.get(`${house.url}/console/api/oidc`);
  t.equal(begun.status, 302);
  t.equal(begun.headers.get('cache-control'), 'no-store');
  t.match(
    begun.headers.get('set-cookie'),
    /^__Host-parley-[0-9a-f]{8}-oidc-[\w-]{8}=[\w-]+; Secure; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/,
  );
  const asked = new URL(begun.headers.get('location')!);
  t.equal(asked.origin, issuer.url);
  t.match(Object.fromEntries(asked.searchParams), {
    response_type: 'code',
    client_id: 'parley',
    redirect_uri: `${house.url}/console/api/oidc/callback`,
    scope: 'openid profile email groups',
    state: /^[\w.-]{31}$/,
    nonce: /^[\w-]{22}$/,
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
  });

  const answer = await jar.get(await returned(issuer, jar, begun, house, 'ada'));
  t.strictSame([answer.status, answer.headers.get('location')], [302, '/console']);
  const [signedIn, forgotten, ...others] = answer.headers.getSetCookie();
  t.match(signedIn, /^__Host-parley-[0-9a-f]{8}=[\w.-]+; Secure; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/);
  t.equal(forgotten, begun.headers.get('set-cookie')!.replace(/=.*?;/, '=;').replace('Max-Age=600', 'Max-Age=0'));
  t.strictSame(others, []);
  seen.push(signedIn!.split(/[=;]/)[1]!);
  t.match((await me(scene, jar)).json, { id: /^prs_/, name: 'Ada <b>Lovelace</b>' }, 'on one line');
  const before = (await house.console('/sign-ins')).json.data;

  const again = await jar.get(await callbackOf(scene, jar, 'ada'));
  t.equal(again.status, 302, 'the issuer remembers the person');
  t.equal((await house.console('/sign-ins')).json.data.length, before.length, 'the sign-in before has ended');
}

async function inIdToken(t: Test, scene: Scene): Promise<void> {
  scene.issuer.claimsInIdToken = true;
  scene.issuer.rotate();
  const jar = new CookieJar();
  t.equal((await jar.get(await callbackOf(scene, jar, 'bob'))).status, 302);
  t.match((await me(scene, jar)).json, { name: 'bob@example.com' });
  scene.issuer.claimsInIdToken = false;
  scene.issuer.rotate();
}

async function withoutRole(t: Test, scene: Scene): Promise<void> {
  const jar = new CookieJar();
  const answer = await jar.get(await callbackOf(scene, jar, 'eve'));
  t.match(answer.headers.get('set-cookie'), /-oidc-[\w-]{8}=; .*Max-Age=0$/);
  await isPage(t, answer, 403);
  t.equal((await me(scene, jar)).status, 401);
  scene.issuer.accounts['eve'] = { ...accounts.eve, groups: ['admins'] };
  t.equal((await jar.get(await callbackOf(scene, jar, 'eve'))).status, 302, 'the claims of each sign-in count');
}

async function once(t: Test, scene: Scene): Promise<void> {
  const { house, issuer } = scene;
  const jar = new CookieJar();
  const begun = await jar.get(`${house.url}/console/api/oidc`);
  const callback = await returned(issuer, jar, begun, house, 'ada');
  t.equal((await jar.get(callback)).status, 302);
  t.match(await isPage(t, await jar.get(callback), 401), 'is not valid any more');
  t.equal((await me(scene, jar)).status, 200, 'the person stays signed in');
  const another = await returned(issuer, jar, begun, house, 'ada');
  t.not(another.searchParams.get('code'), callback.searchParams.get('code'));
  t.equal(another.searchParams.get('state'), callback.searchParams.get('state'));
  await isPage(t, await jar.get(another), 401);
}

async function tabs(t: Test, scene: Scene): Promise<void> {
  const { house, issuer } = scene;
  const jar = new CookieJar();
  const begun = await Promise.all([1, 2, 3].map(() => jar.get(`${house.url}/console/api/oidc`)));
  const callbacks: URL[] = [];
  for (const one of begun) callbacks.push(await returned(issuer, jar, one, house, 'ada'));
  for (const callback of callbacks.reverse()) t.equal((await jar.get(callback)).status, 302);
}

async function foreign(t: Test, scene: Scene): Promise<void> {
  const jar = new CookieJar();
  const callback = await callbackOf(scene, jar, 'ada');
  await isPage(t, await new CookieJar().get(callback), 401);
  const change = (changes: Record<string, string>): URL => {
    const url = new URL(callback);
    for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value);
    return url;
  };
  const other = await callbackOf(scene, jar, 'ada');
  for (const url of [
    change({ state: 'unknown' }),
    change({ state: other.searchParams.get('state')! }),
    change({ code: 'unknown', state: (await callbackOf(scene, jar, 'ada')).searchParams.get('state')! }),
    new URL(`${callback.origin}${callback.pathname}`),
  ])
    await isPage(t, await jar.get(url), 401);

  const denied = await callbackOf(scene, jar, 'ada');
  denied.searchParams.delete('code');
  denied.searchParams.set('error', 'access_denied');
  denied.searchParams.set('error_description', '<script>alert(1)</script>');
  await isPage(t, await jar.get(denied), 401);

  const good = await callbackOf(scene, jar, 'ada');
  const cookies = jar.header(scene.house.url);
  t.equal((await jar.get(good)).status, 302);
  const replay = await fetch(good, { redirect: 'manual', headers: { cookie: cookies } });
  t.equal(replay.status, 401, 'a code is good once');
}

async function rotation(t: Test, scene: Scene): Promise<void> {
  const jar = new CookieJar();
  t.equal((await jar.get(await callbackOf(scene, jar, 'ada'))).status, 302);
  scene.issuer.rotate();
  t.equal((await jar.get(await callbackOf(scene, jar, 'ada'))).status, 302);
}

async function destinations(t: Test, scene: Scene): Promise<void> {
  const leads: Record<string, string> = {
    '/console/wks_a/keys?state=active': '/console/wks_a/keys?state=active',
    '/console': '/console',
    'https://evil.example': '/console',
    '//evil.example': '/console',
    '/console\\@evil.example': '/console',
    '/console.evil.example': '/console',
    '/console/a\r\nset-cookie: a=b': '/console',
    '/docs': '/console',
    [`/console/${'a'.repeat(300)}`]: '/console',
  };
  const jar = new CookieJar();
  for (const [to, place] of Object.entries(leads)) {
    const answer = await jar.get(await callbackOf(scene, jar, 'ada', `?to=${encodeURIComponent(to)}`));
    t.equal(answer.headers.get('location'), place, JSON.stringify(to));
  }
}

async function plainHttp(t: Test, { house }: Scene): Promise<void> {
  const begin = (headers: Record<string, string>) =>
    fetch(`${house.url}/console/api/oidc`, { redirect: 'manual', headers });
  await isPage(t, await begin({ 'x-forwarded-host': 'parley.example.com' }), 400);
  const answer = await begin({ 'x-forwarded-host': 'parley.example.com', 'x-forwarded-proto': 'https' });
  t.equal(
    new URL(answer.headers.get('location')!).searchParams.get('redirect_uri'),
    'https://parley.example.com/console/api/oidc/callback',
  );
}

async function leaving(t: Test, scene: Scene): Promise<void> {
  const { house, issuer } = scene;
  const jar = new CookieJar();
  await jar.get(await callbackOf(scene, jar, 'ada'));
  const other = new CookieJar();
  const callback = await callbackOf(scene, other, 'ada');
  issuer.leave();
  await isPage(t, await other.get(`${house.url}/console/api/oidc`), 503);
  await isPage(t, await other.get(callback), 503);
  t.equal((await me(scene, jar)).status, 200);
  const { json } = await house.console('/sign-in-links', { body: { name: 'Grace' } });
  const token = new URL(json.url).hash.slice('#sign-in='.length);
  t.equal((await house.ask('/console/api/sign-in', { key: null, body: { token } })).status, 204);
  issuer.rotate();
}

async function throttled(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  const from = (address: string, cookie = '', path = '/callback?state=a&code=b') =>
    fetch(`${house.url}/console/api/oidc${path}`, {
      redirect: 'manual',
      headers: { 'x-forwarded-for': address, cookie },
    });
  const statuses: number[] = [];
  for (let times = 0; times <= limits.failedSignInsPerMinute; times++) statuses.push((await from('192.0.2.1')).status);
  t.strictSame(statuses, [...Array(limits.failedSignInsPerMinute).fill(401), 429]);
  const jar = new CookieJar();
  const callback = await callbackOf(scene, jar, 'ada');
  const path = callback.search;
  const refused = await from('192.0.2.1', jar.header(house.url), `/callback${path}`);
  t.equal(refused.status, 429, 'the issuer is not asked');
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  t.equal((await jar.get(callback)).status, 302, 'another address signs in');
}
