/** Signing in to the console (contract 9). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { edge, openHouse, type Answer, type House } from './house.ts';
import { refusedUpgrade } from './raw.ts';
import { isRefused, limitedFor, missingField, refusals, unrated, wrongField } from './refusal.ts';
import {
  cookieFor,
  cookieOf,
  fromPage,
  linkFor,
  openInspect,
  rawSignIn,
  signIn,
  tokenOf,
  withCookie,
} from './signing.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'debug', PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
  await t.test('a person signs in, is known by a cookie, and signs out', (t) => course(t, house));
  await t.test('the link of the start', (t) => startLink(t, house));
  await t.test('sign-in links sign others in once', (t) => links(t, house));
  await t.test('where people are signed in', (t) => list(t, house));
  await t.test('a request before the sign-in is answered', (t) => strangers(t, house));
  await t.test('requests that are refused', (t) => wrongRequests(t, house));
  await t.test('changes come from our own pages alone', (t) => origins(t, house));
  await t.test('sockets too, and they end with their sign-in', (t) => sockets(t, house));
  await t.test('plain HTTP is for this machine alone', (t) => plainHttp(t, house));
  await t.test('a valid token signs in after any number of failures, and a wrong one is refused with 429', (t) =>
    throttled(t, house),
  );
  await t.test('the log is free of secrets', async (t) => {
    t.notMatch(house.stdout().replace(/.*#sign-in=.*/, ''), new RegExp([house.operatorToken, ...seen].join('|')));
    t.equal(house.stdout().split('#sign-in=').length, 2, 'the link is printed once');
  });
});

/** Tokens and cookies that were used. */
const seen: string[] = [];

const secretOf = (cookie: string): string => cookie.split('.').at(-1)!;

const now = (): number => Date.now() / 1000;

async function course(t: Test, house: House): Promise<void> {
  const answer = await signIn(house, house.operatorToken);
  t.equal(answer.status, 204);
  t.match(
    answer.headers.get('set-cookie'),
    /^__Host-parley-[0-9a-f]{8}=[\w.-]+; Secure; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
  );
  t.equal(answer.headers.get('cache-control'), 'no-store');
  const cookie = cookieOf(answer);
  seen.push(secretOf(cookie));
  t.ok(secretOf(cookie).length >= 43, '256 bits');

  const me = await withCookie(house, cookie, '/me', { headers: {} });
  t.match(me.json, { object: 'person', id: 'operator', name: 'operator', signed_in_at: Number, expires_at: Number });
  t.ok(Math.abs(me.json.signed_in_at - now()) < 60);
  t.ok(Math.abs(me.json.expires_at - now() - 43_200) < 60);
  t.equal(me.headers.get('cache-control'), 'no-store');
  t.equal(
    (await withCookie(house, `a=b; ${cookie}; c=d`, '/workspaces')).json.data[0].id,
    house.workspaceId,
    'among others',
  );
  const made = await withCookie(house, cookie, '/workspaces', { body: { name: 'By cookie' } });
  t.equal(made.status, 201);
  t.equal((await withCookie(house, cookie, `/workspaces/${made.json.id}`, { method: 'DELETE' })).status, 204);

  const second = await cookieFor(house);
  t.not(secretOf(second), secretOf(cookie));
  const out = await withCookie(house, cookie, '/sign-out', { method: 'POST' });
  t.equal(out.status, 204);
  t.equal(
    out.headers.get('set-cookie'),
    `${cookie.split('=')[0]}=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`,
    'with the attributes that it was set with',
  );
  isRefused(t, await withCookie(house, cookie, '/me'), refusals.missingKey, 'it is over on the server');
  t.equal((await withCookie(house, second, '/me')).status, 200, 'the other is not');

  const replaced = cookieOf(await signIn(house, house.operatorToken, { ...fromPage, cookie: second }));
  isRefused(
    t,
    await withCookie(house, second, '/me'),
    refusals.missingKey,
    'a browser that signs in anew leaves none behind',
  );
  t.equal((await withCookie(house, replaced, '/sign-out', { body: {} })).status, 204);

  t.same((await house.console('/me')).json, {
    object: 'person',
    id: 'operator',
    name: 'operator',
    role: 'owner',
    workspace_id: null,
    signed_in_at: null,
    expires_at: null,
  });
  const bearerOut = await house.console('/sign-out', { method: 'POST' });
  t.same([bearerOut.status, bearerOut.headers.get('set-cookie')], [204, null]);
}

async function startLink(t: Test, house: House): Promise<void> {
  const [, url] = /(http\S+\/console#sign-in=\S+)/.exec(house.stdout())!;
  t.equal(new URL(url!).origin, house.url);
  const token = tokenOf(url!);
  isRefused(t, await house.ask('/console/api/me', { key: token }), refusals.invalidKey, 'it is no operator token');
  const cookie = await cookieFor(house, token);
  t.match((await withCookie(house, cookie, '/me')).json, { id: /^prs_[0-9a-z]{26}$/, name: 'operator' });
  isRefused(t, await signIn(house, token), refusals.invalidToken, 'it is used');
  await withCookie(house, cookie, '/sign-out', { body: { everywhere: true } });
}

async function links(t: Test, house: House): Promise<void> {
  const mine = await cookieFor(house);
  const made = await withCookie(house, mine, '/sign-in-links', { body: { name: 'Ada 👋' } });
  t.equal(made.status, 201);
  t.match(made.json, { object: 'sign_in_link', name: 'Ada 👋' });
  t.ok(made.json.url.startsWith(`${house.url}/console#sign-in=`));
  t.ok(Math.abs(made.json.expires_at - now() - 600) < 60);
  t.equal(made.headers.get('cache-control'), 'no-store');
  const token = tokenOf(made.json.url);
  seen.push(token);
  const answers = await Promise.all(Array.from({ length: 4 }, () => signIn(house, token)));
  t.same(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [204, 401, 401, 401],
    'one of those who use it at once',
  );
  const cookie = cookieOf(answers.find(({ status }) => status === 204)!);
  seen.push(secretOf(cookie));
  const me = (await withCookie(house, cookie, '/me')).json;
  t.match(me, { id: /^prs_/, name: 'Ada 👋' });

  const namesake = await cookieFor(house, await linkFor(house, 'Ada 👋'));
  t.not((await withCookie(house, namesake, '/me')).json.id, me.id, 'each link makes a person');
  t.equal((await withCookie(house, cookie, '/sign-out', { body: { everywhere: true } })).status, 204);
  t.equal((await withCookie(house, namesake, '/me')).status, 200);
  t.equal((await withCookie(house, mine, '/me')).status, 200);
  await withCookie(house, mine, '/sign-out', { body: { everywhere: true } });
  await withCookie(house, namesake, '/sign-out', { method: 'POST' });
}

async function list(t: Test, house: House): Promise<void> {
  const [first, ada] = [await cookieFor(house), await cookieFor(house, await linkFor(house, 'Ada'))];
  const agent = { 'user-agent': 'a browser', 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
  const second = cookieOf(await signIn(house, house.operatorToken, agent));
  const all = (await withCookie(house, first, '/sign-ins')).json;
  t.match(all, { object: 'list', has_more: false, next_cursor: null });
  t.match(all.data, [
    { name: 'operator', current: false, address: '203.0.113.9', agent: 'a browser' },
    { name: 'Ada', current: false },
    { name: 'operator', current: true, address: '127.0.0.1' },
  ]);
  t.same(Object.keys(all.data[0]), [
    'object',
    'id',
    'name',
    'signed_in_at',
    'last_seen_at',
    'expires_at',
    'address',
    'agent',
    'current',
  ]);
  t.match(all.data[0], {
    object: 'sign_in',
    id: /^sin_[0-9a-z]{26}$/,
    signed_in_at: Number,
    last_seen_at: Number,
    expires_at: Number,
  });
  t.same(
    (await house.console('/sign-ins?order=asc')).json.data.map(({ id }: any) => id),
    all.data.map(({ id }: any) => id).reverse(),
  );
  const page = (await house.console('/sign-ins?limit=1')).json;
  t.same([page.data[0].id, page.has_more], [all.data[0].id, true]);
  t.equal((await house.console(`/sign-ins?limit=1&after=${page.next_cursor}`)).json.data[0].id, all.data[1].id);

  const gone = await withCookie(house, first, `/sign-ins/${all.data[0].id}`, { method: 'DELETE' });
  t.equal(gone.status, 204);
  isRefused(t, await withCookie(house, second, '/me'), refusals.missingKey);
  for (const id of [all.data[0].id, 'sin_00000000000000000000000000', 'x'])
    isRefused(t, await withCookie(house, first, `/sign-ins/${id}`, { method: 'DELETE' }), refusals.noRoute, id);

  const third = await cookieFor(house);
  t.equal((await withCookie(house, first, '/sign-out', { body: { everywhere: true } })).status, 204);
  isRefused(t, await withCookie(house, third, '/me'), refusals.missingKey, 'all of the operator');
  t.same(
    (await house.console('/sign-ins')).json.data.map(({ name }: any) => name),
    ['Ada'],
    'and of nobody else',
  );
  await withCookie(house, ada, '/sign-out', { method: 'POST' });
}

async function strangers(t: Test, house: House): Promise<void> {
  const cookie = await cookieFor(house);
  const [name, value] = cookie.split('=') as [string, string];
  for (const wrong of [
    '',
    `${name}=`,
    `${name}=x`,
    `${name}=${value.slice(0, -1)}`,
    `${name}=${value}x`,
    `${name}=${'0'.repeat(26)}.${secretOf(cookie)}`,
    `${name}x=${value}`,
    `parley=${value}`,
  ]) {
    isRefused(t, await withCookie(house, wrong, '/me'), refusals.missingKey, `the cookie ${wrong}`);
  }
  isRefused(t, await house.ask('/console/api/me', { key: null }), refusals.missingKey);
  isRefused(
    t,
    await withCookie(house, cookie, '/me', { key: 'wrong' }),
    refusals.invalidKey,
    'a wrong token beside it',
  );
  t.equal(
    (await withCookie(house, cookie, '/me', { key: house.operatorToken })).json.signed_in_at,
    null,
    'a right one comes first',
  );
  isRefused(
    t,
    await house.ask('/assistants', { key: null, headers: { cookie, ...fromPage } }),
    refusals.missingKey,
    'the API knows nothing of it',
  );
  await withCookie(house, cookie, '/sign-out', { method: 'POST' });
}

async function wrongRequests(t: Test, house: House): Promise<void> {
  const ask = (body: unknown) => house.ask('/console/api/sign-in', { key: null, body });
  isRefused(t, await ask({}), unrated(missingField('token')));
  isRefused(t, await ask({ token: 5 }), unrated(wrongField('token')));
  isRefused(t, await ask({ token: '' }), unrated(wrongField('token')));
  isRefused(t, await ask('{'), unrated(refusals.malformedJson));
  isRefused(
    t,
    await house.ask('/console/api/sign-in', {
      key: null,
      body: '{"token":"x"}',
      headers: { 'content-type': 'text/plain' },
    }),
    unrated(refusals.notJson),
  );
  isRefused(t, await ask({ token: 'x' }), refusals.invalidToken);
  isRefused(
    t,
    await signIn(house, house.operatorToken, { origin: 'https://parley.example' }),
    refusals.invalidToken,
    'a page of another site signs nobody in',
  );
  isRefused(t, await house.console('/sign-in-links', { body: {} }), unrated(missingField('name')));
  const inviting = (name: string) => house.console('/sign-in-links', { body: { name } });
  for (const name of ['x'.repeat(81), ' ', 'Ada\nLovelace', 'Ada\u2028', 'Ada\u0000', 'Ada\u202e', '\ud800'])
    isRefused(t, await inviting(name), unrated(wrongField('name')), escape(name));
  for (const name of ['x'.repeat(80), '\u{1f44b}'.repeat(80), 'می\u200cرا'])
    t.equal((await inviting(name)).status, 201);
  isRefused(t, await house.console('/sign-out', { body: { everywhere: 'yes' } }), unrated(wrongField('everywhere')));
}

/** Origins of a request with the cookie, and whether the cookie counts there. */
function provenances(house: House): {
  readonly refused: Record<string, Record<string, string>>;
  readonly taken: Record<string, Record<string, string>>;
} {
  const port = new URL(house.url).port;
  const own = { origin: house.url };
  return {
    refused: {
      'no Origin': {},
      'an Origin of null': { origin: 'null' },
      'another port': { origin: `http://127.0.0.1:${Number(port) - 1}` },
      'no port': { origin: 'http://127.0.0.1' },
      'another host': { origin: `http://parley.example:${port}` },
      'another name of this machine': { origin: `http://localhost:${port}` },
      'another scheme': { origin: `https://127.0.0.1:${port}` },
      'an Origin with a path': { origin: `${house.url}/` },
      'same-site': { 'sec-fetch-site': 'same-site', ...own },
      'cross-site': { 'sec-fetch-site': 'cross-site', ...own },
      'no site': { 'sec-fetch-site': 'none', ...own },
    },
    taken: { 'same-origin': fromPage, 'our Origin': own },
  };
}

async function origins(t: Test, house: House): Promise<void> {
  const { paths } = (await house.ask('/openapi.json')).json;
  const mutations = Object.entries<any>(paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods)
      .filter(([method, { security }]) => method !== 'get' && security.some((one: object) => 'person' in one))
      .map(([method, { requestBody }]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{\w+\}/g, 'x'),
        body: requestBody && {},
      })),
  );
  t.ok(mutations.length > 15);
  let cookie = await cookieFor(house);
  const { refused, taken } = provenances(house);
  for (const [index, { method, path, body }] of mutations.entries()) {
    // An address has a bounded number of failures: each path has another address.
    const from = { 'x-forwarded-for': `127.0.0.${index + 2}` };
    const ask = (headers: Record<string, string>): Promise<Answer> =>
      house.ask(path, { key: null, method, body, headers: { ...headers, ...from, cookie } });
    for (const [name, headers] of Object.entries(refused))
      isRefused(t, await ask(headers), refusals.missingKey, `${method} ${path}: ${name}`);
    for (const [name, headers] of Object.entries(taken)) {
      t.not((await ask(headers)).status, 401, `${method} ${path}: ${name}`);
      if (path.endsWith('/sign-out')) cookie = await cookieFor(house);
    }
  }
  for (const [name, headers] of Object.entries({ ...refused, ...taken }))
    t.equal((await withCookie(house, cookie, '/me', { headers })).status, 200, `a GET changes nothing: ${name}`);
  t.equal(
    (
      await house.console('/workspaces', {
        body: { name: 'x' },
        headers: { origin: 'https://parley.example', 'sec-fetch-site': 'cross-site' },
      })
    ).status,
    201,
    'the operator token needs no page',
  );
  await withCookie(house, cookie, '/sign-out', { method: 'POST' });
}

async function sockets(t: Test, house: House): Promise<void> {
  const cookie = await cookieFor(house);
  const { refused } = provenances(house);
  const { 'same-site': _, 'cross-site': __, 'no site': ___, ...byOrigin } = refused;
  for (const [name, headers] of Object.entries({ ...byOrigin, 'Sec-Fetch-Site alone': fromPage })) {
    isRefused(
      t,
      await refusedUpgrade(house.url, '/console/api/inspect', { headers: { ...headers, cookie } }),
      refusals.missingKey,
      name,
    );
  }
  const own = { origin: house.url, cookie };
  const ada = await cookieFor(house, await linkFor(house, 'Ada'));
  const [one, two, others, operators] = await Promise.all([
    openInspect(house, own),
    openInspect(house, own),
    openInspect(house, { ...own, cookie: ada }),
    openInspect(house, { authorization: `Bearer ${house.operatorToken}` }),
  ]);
  const closed = [one, two].map((socket) => once(socket, 'close'));
  await withCookie(house, cookie, '/sign-out', { body: {} });
  for (const [code] of await Promise.all(closed)) t.equal(code, 1008);
  t.same([others.readyState, operators.readyState], [1, 1], 'nobody else is disturbed');
  const last = once(others, 'close');
  const { id } = (await house.console('/sign-ins')).json.data.find(({ name }: any) => name === 'Ada');
  await house.console(`/sign-ins/${id}`, { method: 'DELETE' });
  t.equal((await last)[0], 1008);
  operators.terminate();
}

async function plainHttp(t: Test, house: House): Promise<void> {
  const port = new URL(house.url).port;
  const { operatorToken: token } = house;
  const near = { Host: `127.0.0.1:${port}` };
  const tls = { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' };
  const refusedThere: Record<string, Record<string, string>> = {
    'a client elsewhere': { ...near, 'X-Forwarded-For': '203.0.113.9' },
    'that a proxy says is': { ...near, 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'http' },
    'a name that points here': { Host: `parley.example:${port}` },
    'one that begins alike': { Host: `127.0.0.1.parley.example:${port}` },
    'one that a proxy says': { ...near, 'X-Forwarded-Host': 'parley.example' },
    'a page that is elsewhere': { ...near, Origin: 'http://parley.example' },
    'an address of the network': { Host: `192.168.1.5:${port}` },
  };
  for (const [name, headers] of Object.entries(refusedThere))
    isRefused(t, await rawSignIn(house, token, headers), refusals.insecureSignIn, name);
  const taken: Record<string, Record<string, string>> = {
    'this machine': near,
    'its name': { Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
    'a name of its own': { Host: `parley.localhost:${port}` },
    'in IPv6': { Host: `[::1]:${port}` },
    TLS: { Host: 'parley.example', Origin: 'https://parley.example', ...tls },
    'TLS, with the host that the proxy says': {
      Host: 'backend:8080',
      'X-Forwarded-Host': 'parley.example',
      Origin: 'https://parley.example',
      ...tls,
    },
  };
  for (const [name, headers] of Object.entries(taken)) {
    const answer = await rawSignIn(house, token, headers);
    t.equal(answer.status, 204, name);
    // A cookie counts where its page is: at the same address.
    const out = await house.ask('/console/api/me', { key: null, headers: { cookie: cookieOf(answer) } });
    t.equal(out.status, 200, name);
  }
  const cookie = await cookieFor(house);
  const rebound = { Host: `parley.example:${port}`, Origin: `http://parley.example:${port}`, cookie };
  isRefused(
    t,
    await refusedUpgrade(house.url, '/console/api/inspect', { headers: rebound }),
    refusals.missingKey,
    'a name that was made to point here is not ours',
  );
  await withCookie(house, cookie, '/sign-out', { body: { everywhere: true } });
}

async function throttled(t: Test, house: House): Promise<void> {
  const at = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });
  for (let time = 0; time < 15; time++)
    t.equal((await signIn(house, house.operatorToken, at('198.51.100.1'))).status, 204, 'a success costs nothing');
  const addresses = Array.from({ length: 14 }, (_, index) => `198.51.100.${index + 2}`);
  // A slow machine may refill a bucket in the meantime: then the failures are repeated.
  let refusal: Answer | undefined;
  for (let round = 0; round < 5 && refusal?.status !== 429; round++) {
    await Promise.all(
      addresses.flatMap((address) => Array.from({ length: 12 }, () => signIn(house, 'wrong', at(address)))),
    );
    refusal = await signIn(house, 'wrong', at('203.0.113.1'));
  }
  const seconds = Number(refusal!.headers.get('retry-after'));
  t.ok(seconds >= 1 && seconds <= 6, `${seconds} s`);
  isRefused(t, refusal!, unrated(limitedFor(seconds)), 'the bucket of all addresses is empty');
  for (const address of ['198.51.100.2', '203.0.113.2']) {
    t.equal(
      (await signIn(house, house.operatorToken, at(address))).status,
      204,
      `the operator token is accepted from ${address}`,
    );
    const link = await linkFor(house, 'Ada');
    t.equal((await signIn(house, link, at(address))).status, 204, `a fresh link is accepted from ${address}`);
    t.ok([401, 429].includes((await signIn(house, link, at(address))).status), 'a used link is refused');
  }
  t.match((await house.ask('/metrics', { key: null })).text, /^parley_limited_total\{budget="authentication"\} [1-9]/m);
  t.match((await house.ask('/metrics', { key: null })).text, /^parley_limited_total\{budget="turns"\} 0$/m);
}
