/** Signing in to the console by OpenID Connect (contract 22), through a real issuer. */
import t, { type Test } from 'tap';
import { CookieJar } from './cookie-jar.ts';
import { edge, openHouse, type House } from './house.ts';
import { OidcIssuer } from './oidc-issuer.ts';

const accounts = {
  ada: { name: 'Ada <b>Lovelace</b>', groups: ['staff', 'admins'] },
  eve: { name: 'Eve', groups: ['staff'] },
  bob: { email: 'bob@example.com', groups: 'admins' },
};

t.test(edge, async (t) => {
  const issuer = await OidcIssuer.start(t, structuredClone(accounts));
  const house = await openHouse(t, {
    env: { ...issuer.settings('groups=admins:owner'), PARLEY_LOG: 'debug', PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
  });
  await t.test('while the issuer is away the server starts, and a sign-in is 503', (t) => away(t, house));
  issuer.serve(house);
  await t.test('a person signs in', (t) => course(t, house, issuer));
});

/** Begins a sign-in, signs in at the issuer and comes back: the address of the callback, which is not requested. */
async function callbackOf(house: House, issuer: OidcIssuer, jar: CookieJar, name: string, path = ''): Promise<URL> {
  const begun = await jar.get(`${house.url}/console/api/oidc${path}`);
  const callback = `${house.url}/console/api/oidc/callback`;
  const interaction = await jar.follow(begun, issuer.url + '/interaction');
  interaction.searchParams.set('name', name);
  return jar.follow(await jar.get(interaction), callback);
}

async function away(t: Test, house: House): Promise<void> {
  await isPage(t, await new CookieJar().get(`${house.url}/console/api/oidc`), 503);
}

async function isPage(t: Test, answer: Response, status: number): Promise<string> {
  const text = await answer.text();
  t.equal(answer.status, status);
  t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  t.match(answer.headers.get('content-security-policy'), /^default-src 'none'/);
  t.equal(answer.headers.get('cache-control'), 'no-store');
  t.match(text, /<a href="\/console\/api\/oidc">/);
  return text;
}

async function course(t: Test, house: House, issuer: OidcIssuer): Promise<void> {
  const jar = new CookieJar();
  const callback = await callbackOf(house, issuer, jar, 'ada');
  const answer = await jar.get(callback);
  t.equal(answer.status, 302);
  t.equal(answer.headers.get('location'), '/console');
  const cookies = jar.cookies.get(new URL(house.url).host)!;
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  t.match((await house.ask('/console/api/me', { key: null, headers: { cookie } })).json, {
    id: /^prs_/,
    name: 'Ada <b>Lovelace</b>',
  });
}
