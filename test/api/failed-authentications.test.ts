/** Many failed authentications from one address: refused with 429, while callers with a key are served (contract 4). */
import t, { type Test } from 'tap';
import { edge, openHouse, type Answer, type House } from './house.ts';
import { rawAsk, refusedUpgrade } from './raw.ts';
import { isRated, isRefused, limitedFor, refusals, unrated } from './refusal.ts';

const perMinute = 600;
const stranger = '203.0.113.7';

t.test(edge, async (t) => {
  await t.test('behind a proxy that is trusted', async (t) => {
    const house = await openHouse(t, { env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1', PARLEY_LOG: 'info' } });
    const metric = async () =>
      /^parley_limited_total\{budget="authentication"\} (\d+)$/m.exec(
        (await house.ask('/metrics', { key: null })).text,
      )?.[1];
    t.equal(await metric(), '0', 'counted from the start');
    const refused = await hammered(t, house, (index) => attempts[index % attempts.length]!(house));
    t.ok(Number(await metric()) >= refused);
    await t.test('unauthenticated requests of one address are throttled', (t) => strangers(t, house));
    await t.test('a valid key, the operator and other paths are not throttled', (t) => others(t, house));
  });
  await t.test('forged addresses share the limit of the real one', async (t) => {
    const house = await openHouse(t);
    await hammered(t, house, (index) =>
      house.ask('/assistants', { key: 'x', headers: from(`198.51.100.${index % 256}`) }),
    );
    t.equal((await house.ask('/assistants')).status, 200);
  });
});

const from = (address: string) => ({ 'x-forwarded-for': address });

/** Requests that count as failed authentications, each from the stranger's address. */
const attempts: readonly ((house: House) => Promise<Answer>)[] = [
  (house) => house.ask('/assistants', { key: 'x', headers: from(stranger) }),
  (house) => house.ask('/assistants', { key: null, headers: from(stranger) }),
  (house) => house.console('/workspaces', { key: 'x', headers: from(stranger) }),
  (house) => house.ask('/sessions', { key: house.key.slice(0, -1), body: {}, headers: from(stranger) }),
];

/**
 * Fails until the first 429, and a little longer; how many were refused. Every answer before is a 401, and there are as
 * many as the bucket holds.
 */
async function hammered(t: Test, house: House, ask: (index: number) => Promise<Answer>): Promise<number> {
  const atOnce = 20;
  const startedAt = performance.now();
  const counts = { 401: 0, 429: 0 } as Record<number, number>;
  for (let index = 0; counts[429] === 0 && index < 3 * perMinute; index += atOnce) {
    for (const { status } of await Promise.all(Array.from({ length: atOnce }, (_, one) => ask(index + one))))
      counts[status] = (counts[status] ?? 0) + 1;
  }
  t.same(Object.keys(counts), ['401', '429']);
  t.ok(counts[401]! >= perMinute, `${counts[401]} were told that they have no key`);
  const refilled = Math.ceil(((performance.now() - startedAt) / 60_000) * perMinute) + 1;
  t.ok(counts[401]! <= perMinute + refilled, `${counts[401]}, ${refilled} of them for the time that it took`);
  t.equal(house.child.exitCode, null);
  return counts[429]!;
}

async function strangers(t: Test, house: House): Promise<void> {
  // Refused requests cost as well, several at once, since ten a second are forgiven. So the debt lasts for what
  // follows, on a slow machine too.
  for (let waits = 0; waits < 20;) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => attempts[index % attempts.length]!(house)),
    );
    waits = Math.max(...answers.map(({ headers }) => Number(headers.get('retry-after'))));
  }
  for (const attempt of attempts) {
    const answer = await attempt(house);
    const seconds = Number(answer.headers.get('retry-after'));
    t.ok(seconds >= 1 && seconds <= 60, `${seconds} s`);
    isRefused(t, answer, unrated(limitedFor(seconds)));
  }
  const upgrade = await rawAsk(house.url, '/transcription?token=x', { headers: { 'X-Forwarded-For': stranger } });
  isRefused(t, upgrade, unrated(limitedFor(Number(upgrade.headers.get('retry-after')))), 'a token that is none');
  const lines = house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  t.ok(
    lines.some(({ status, route, address }) => status === 429 && route === '/assistants' && address === stranger),
    'it is in the log',
  );
}

async function others(t: Test, house: House): Promise<void> {
  const valid = await house.ask('/assistants', { headers: from(stranger) });
  t.equal(valid.status, 200, 'a valid key from that address');
  isRated(t, valid, true, 'and its own budget');
  t.equal((await house.console('/workspaces', { headers: from(stranger) })).status, 200, 'the operator');
  isRefused(
    t,
    await house.ask('/nowhere', { key: 'x', headers: from(stranger) }),
    refusals.noRoute,
    'a path that is none',
  );
  t.equal((await house.ask('/healthz', { key: null, headers: from(stranger) })).status, 200, 'what needs no key');
  const spent = await house.newKey({ limits: { requests: 1 } });
  await house.ask('/assistants', { key: spent.key, headers: from(stranger) });
  isRefused(
    t,
    await house.ask('/assistants', { key: spent.key, headers: from(stranger) }),
    limitedFor(60),
    "a valid key's own limit",
  );
  for (const address of ['203.0.113.8', '2001:db8::1'])
    isRefused(
      t,
      await house.ask('/assistants', { key: 'x', headers: from(address) }),
      refusals.invalidKey,
      `another address: ${address}`,
    );
  isRefused(t, await house.ask('/assistants', { key: 'x' }), refusals.invalidKey, 'nobody else');
  isRefused(
    t,
    await refusedUpgrade(house.url, '/console/api/inspect', { token: 'x' }),
    refusals.invalidKey,
    'an upgrade',
  );
}
