/** Sign-ins behind a proxy, over a restart and in several processes (contract 9 and 11). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type Ask, type House } from './house.ts';
import { refusedUpgrade } from './raw.ts';
import { isRefused, refusals } from './refusal.ts';
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
import { openSupervised, secret, workersUp } from './supervised.ts';
import { until } from './talk.ts';

const lacking = whyNoRedis();
const onRedis = lacking === null ? {} : { skip: lacking };

const linksIn = (house: House): string[] => house.stdout().match(/http\S+\/console#sign-in=\S+/g) ?? [];

t.test('PARLEY_CONSOLE_ORIGIN names where people sign in', async (t) => {
  const own = 'https://console.example';
  const house = await openHouse(t, { env: { PARLEY_CONSOLE_ORIGIN: `${own}, https://other.example:8443` } });
  t.equal(new URL(linksIn(house)[0]!).origin, own, 'the link of the start leads there');
  t.ok(
    (await house.console('/sign-in-links', { body: { name: 'Ada' } })).json.url.startsWith(`${own}/console#sign-in=`),
  );
  for (const origin of [own, 'https://other.example:8443']) {
    // A proxy that ends TLS and is not trusted, with another Host.
    const cookie = cookieOf(
      await rawSignIn(house, house.operatorToken, {
        Host: 'backend:8080',
        Origin: origin,
        'Sec-Fetch-Site': 'same-origin',
      }),
    );
    t.equal(
      (await withCookie(house, cookie, '/workspaces', { body: { name: 'x' }, headers: { origin } })).status,
      201,
      origin,
    );
    (await openInspect(house, { origin, cookie })).terminate();
  }
  isRefused(
    t,
    await rawSignIn(house, house.operatorToken, { Host: 'backend:8080', Origin: 'https://elsewhere.example' }),
    refusals.insecureSignIn,
  );
  isRefused(t, await rawSignIn(house, house.operatorToken, { Host: 'backend:8080' }), refusals.insecureSignIn);
  const cookie = await cookieFor(house);
  for (const origin of [house.url, 'https://other.example', 'http://console.example', 'https://sub.console.example']) {
    isRefused(
      t,
      await withCookie(house, cookie, '/workspaces', { body: { name: 'x' }, headers: { origin } }),
      refusals.missingKey,
      `${origin} is not named`,
    );
    isRefused(
      t,
      await refusedUpgrade(house.url, '/console/api/inspect', { headers: { origin, cookie } }),
      refusals.missingKey,
      `${origin}: a socket`,
    );
  }
  t.equal(
    (await withCookie(house, cookie, '/workspaces', { body: { name: 'x' } })).status,
    201,
    'a browser says that it is the same origin',
  );
});

t.test('a restart keeps who is signed in, and prints another link; a new operator token signs all out', async (t) => {
  const folder = await temporaryFolder(t);
  const start = (token?: string): Promise<House> =>
    openHouse(t, {
      embedded: true,
      folder,
      env: { PARLEY_STORE: 'lmdb:data', ...(token && { PARLEY_OPERATOR_TOKEN: token }) },
    });
  const first = await start();
  const cookie = await cookieFor(first);
  const ada = await cookieFor(first, await linkFor(first, 'Ada'));
  const [printed] = linksIn(first);
  await first.stop();

  const second = await start();
  t.equal(linksIn(second).length, 1);
  t.not(linksIn(second)[0], printed);
  t.match((await withCookie(second, ada, '/me')).json, { id: /^prs_/, name: 'Ada' });
  t.equal((await withCookie(second, cookie, '/me')).status, 200);
  t.equal((await signIn(second, tokenOf(printed!))).status, 204, 'the earlier link is good still');
  const left = await linkFor(second, 'Bob');
  await second.stop();

  const third = await start('another-operator-token-of-the-tests');
  for (const one of [cookie, ada]) isRefused(t, await withCookie(third, one, '/me'), refusals.missingKey);
  isRefused(t, await signIn(third, left), refusals.invalidToken, 'nor is a link good any more');
  t.same((await third.console('/sign-ins')).json.data, []);
  const own = await cookieFor(third);
  t.not(own.split('=')[0], cookie.split('=')[0], 'another name too');
  await third.stop();

  const fourth = await start();
  isRefused(
    t,
    await withCookie(fourth, cookie, '/me'),
    refusals.missingKey,
    'the old token back brings back no sign-in',
  );
});

t.test('several processes share the people who are signed in', onRedis, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: secret };
  const houses = (await Promise.all([1, 2].map(() => openHouse(t, { env })))) as [House, House];
  t.same(
    houses.map((house) => linksIn(house).length),
    [1, 1],
    'each start prints a link',
  );
  await t.test('sign-ins are shared by all processes', (t) => shared(t, houses));
  await t.test('workers of a supervisor print one link', async (t) => {
    const supervised = await openSupervised(t, redis.url, 2);
    await workersUp(supervised, 2);
    t.equal(linksIn(supervised).length, 1);
    t.equal((await signIn(houses[0], tokenOf(linksIn(supervised)[0]!))).status, 204);
  });
});

/** A store that is slow on a busy machine may refuse it once. */
const signedOut = (house: House, cookie: string, ask: Ask): Promise<unknown> =>
  until(async () => {
    const { status, text } = await withCookie(house, cookie, '/sign-out', ask);
    if (status !== 204 && status !== 503) throw new Error(`${status}: ${text}`);
    return status === 204;
  });

async function shared(t: Test, [one, two]: readonly [House, House]): Promise<void> {
  const cookie = await cookieFor(one);
  t.equal((await withCookie(two, cookie, '/me')).status, 200);
  const link = await linkFor(one, 'Ada');
  const answers = await Promise.all([one, two, one, two].map((house) => signIn(house, link)));
  t.same(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [204, 401, 401, 401],
    'a link is good once in all of them',
  );
  const ada = cookieOf(answers.find(({ status }) => status === 204)!);

  const open = (house: House, own: string) => openInspect(house, { origin: house.url, cookie: own });
  const [mine, hers, elsewhere, hersElsewhere] = [
    await open(one, cookie),
    await open(one, ada),
    await open(two, cookie),
    await open(two, ada),
  ] as const;
  const closed = [mine, elsewhere].map((socket) => once(socket, 'close'));
  await signedOut(one, cookie, { method: 'POST' });
  isRefused(t, await withCookie(two, cookie, '/me'), refusals.missingKey, 'signed out of all');
  for (const [code] of await Promise.all(closed)) t.equal(code, 1008, 'sockets end wherever they are');
  t.same([hers.readyState, hersElsewhere.readyState], [1, 1]);
  const ended = [hers, hersElsewhere].map((socket) => once(socket, 'close'));
  await signedOut(two, ada, { body: { everywhere: true }, headers: fromPage });
  await Promise.all(ended);
  t.pass('everywhere is in every process');
}
