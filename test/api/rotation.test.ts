/** A key is replaced by another (contract 9). */
import t, { type Test } from 'tap';
import { rotateKey } from '../../src/http/console/rotation.ts';
import { randomIds } from '../../src/base/ids.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import { activeSnapshot, Keys } from '../../src/host/keys.ts';
import type { Key } from '../../src/store/store.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { key as keyRecord } from '../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type Answer, type House } from './house.ts';
import { isRated, isRefused, refusals, unrated, wrongField, type Refusal } from './refusal.ts';
import { until, withoutUse } from './talk.ts';

const wrong = (field: string): Refusal => unrated(wrongField(field));
const secondsNow = (): number => Math.floor(Date.now() / 1000);
const pathOf = (house: House, id: string): string => `/workspaces/${house.workspaceId}/keys/${id}`;
const rotate = (house: House, id: string, body: unknown = {}): Promise<Answer> =>
  house.console(`${pathOf(house, id)}/rotate`, { body });
const read = async (house: House, id: string): Promise<any> => (await house.console(pathOf(house, id))).json;
const revoke = (house: House, id: string): Promise<Answer> =>
  house.console(`${pathOf(house, id)}/revoke`, { method: 'POST' });
const keysOf = async (house: House): Promise<any[]> =>
  (await house.console(`/workspaces/${house.workspaceId}/keys?limit=100`)).json.data;

t.test('a rotated key works until its end', async (t) => {
  const house = await openHouse(t);
  await t.test('is like the old one, and its text is shown once', (t) => alike(t, house));
  await t.test('the old one has an end', (t) => ends(t, house));
  await t.test('the end of the old key stays or moves earlier', (t) => notProlonged(t, house));
  await t.test('a repeat hands on the date that the key had of its own', (t) => repeated(t, house));
  await t.test('rotating an ended key is refused', (t) => refusedOnes(t, house));
  await t.test('rotations at once make one new key', (t) => atOnce(t, house));
});

async function alike(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const expires_at = secondsNow() + 86_400;
  const old = await house.newKey({
    name: 'shop',
    assistant_ids: [assistant.id],
    expires_at,
    limits: { requests: 7, speech: 8, transcription_tokens: 9 },
  });
  const answer = await rotate(house, old.id, { overlap_seconds: 600 });
  t.equal(answer.status, 201);
  isRated(t, answer, false, 'no budget is charged');
  t.equal(answer.headers.get('cache-control'), 'no-store');
  const { key, ...made } = answer.json;
  t.equal(answer.headers.get('location'), `/console/api${pathOf(house, made.id)}`);
  t.not(made.id, old.id);
  t.match(made, {
    object: 'key',
    name: 'shop',
    status: 'active',
    assistant_ids: [assistant.id],
    limits: { requests: 7, speech: 8, transcription_tokens: 9 },
    expires_at,
    revoked_at: null,
  });
  t.same(withoutUse(await read(house, made.id)), withoutUse(made), 'without the key');
  t.same(
    (await house.ask('/assistants', { key })).json.data.map(({ id }: any) => id),
    [assistant.id],
    'it works, within its restriction',
  );
}

async function ends(t: Test, house: House): Promise<void> {
  const old = await house.newKey({ expires_at: null });
  const before = secondsNow();
  const made = (await rotate(house, old.id, { overlap_seconds: 600 })).json;
  const { expires_at: end, status } = await read(house, old.id);
  t.ok(end >= before + 600 && end <= secondsNow() + 600, 'after the overlap');
  t.equal(status, 'active');
  for (const { key } of [old, made])
    t.equal((await house.ask('/assistants', { key })).status, 200, 'both work until then');
  t.equal(
    (await house.console(`${pathOf(house, made.id)}/rotate`, { method: 'POST' })).status,
    201,
    'without a word of it',
  );
  isRefused(t, await house.ask('/assistants', { key: made.key }), refusals.expiredKey, 'at once');
  t.equal((await read(house, made.id)).status, 'expired');
  const longest = await house.newKey();
  await rotate(house, longest.id, { overlap_seconds: 2_592_000 });
  t.ok((await read(house, longest.id)).expires_at >= before + 2_592_000);
}

async function notProlonged(t: Test, house: House): Promise<void> {
  const expires_at = secondsNow() + 300;
  const old = await house.newKey({ expires_at });
  const made = (await rotate(house, old.id, { overlap_seconds: 600 })).json;
  t.same(
    [(await read(house, old.id)).expires_at, made.expires_at],
    [expires_at, expires_at],
    'its own date is the earlier',
  );
  await rotate(house, old.id, { overlap_seconds: 200 });
  const { expires_at: end } = await read(house, old.id);
  t.ok(end < expires_at);
  await rotate(house, old.id, { overlap_seconds: 250 });
  t.equal((await read(house, old.id)).expires_at, end, 'nor by a repeat');
}

async function repeated(t: Test, house: House): Promise<void> {
  const old = await house.newKey({ expires_at: null });
  for (let time = 0; time < 3; time++)
    t.equal(
      (await rotate(house, old.id, { overlap_seconds: 600 })).json.expires_at,
      null,
      'not the end of the overlap',
    );
  await house.console(pathOf(house, old.id), { method: 'PATCH', body: { name: 'renamed' } });
  t.match((await rotate(house, old.id, { overlap_seconds: 600 })).json, { name: 'renamed', expires_at: null });
  const later = secondsNow() + 1000;
  await house.console(pathOf(house, old.id), { method: 'PATCH', body: { expires_at: later } });
  t.equal(
    (await rotate(house, old.id, { overlap_seconds: 600 })).json.expires_at,
    later,
    'but a date that was set since',
  );
}

async function refusedOnes(t: Test, house: House): Promise<void> {
  const [old, revoked, expired] = [await house.newKey(), await house.newKey(), await house.newKey({ expires_at: 1 })];
  await revoke(house, revoked.id);
  const count = (await keysOf(house)).length;
  for (const overlap_seconds of [-1, 1.5, 2_592_001, '60', true])
    isRefused(t, await rotate(house, old.id, { overlap_seconds }), wrong('overlap_seconds'), String(overlap_seconds));
  isRefused(t, await rotate(house, old.id, []), unrated(refusals.notAnObject), 'a list');
  for (const { id } of [revoked, expired]) {
    isRefused(t, await rotate(house, id), wrong('id'), 'it has ended');
    isRefused(t, await rotate(house, id, { overlap_seconds: -1 }), wrong('overlap_seconds'), 'fields come first');
  }
  isRefused(t, await rotate(house, `key_${'0'.repeat(26)}`), unrated(refusals.noRoute), 'an unknown key');
  const other = (await house.console('/workspaces', { body: { name: 'Other' } })).json;
  isRefused(
    t,
    await house.console(`/workspaces/${other.id}/keys/${old.id}/rotate`, { body: {} }),
    unrated(refusals.noRoute),
    'of another workspace',
  );
  isRefused(
    t,
    await house.ask(`/console/api${pathOf(house, old.id)}/rotate`, { body: {} }),
    unrated(refusals.invalidKey),
    'an API key is none of the console',
  );
  t.equal((await keysOf(house)).length, count, 'nothing was made');
  t.match(await read(house, old.id), { status: 'active', expires_at: null });
}

async function atOnce(t: Test, house: House): Promise<void> {
  const old = await house.newKey();
  const count = (await keysOf(house)).length;
  const answers = await Promise.all(Array.from({ length: 4 }, () => rotate(house, old.id)));
  const made = answers.filter(({ status }) => status === 201);
  t.equal(made.length, 1, 'without an overlap there is one successor');
  for (const answer of answers.filter(({ status }) => status !== 201))
    isRefused(t, answer, wrong('id'), 'the others came too late');
  t.equal((await keysOf(house)).length, count + 1, 'and leave no key behind');
  t.equal((await house.ask('/assistants', { key: made[0]!.json.key })).status, 200);
}

t.test('a key that is revoked just before it is given its end leaves no successor', async (t) => {
  const [store, clock] = [memoryStore(), new ManualClock()];
  await store.open(clock.now());
  const old = keyRecord('wks_1', { machine: activeSnapshot(null) });
  await store.catalog.create('key', old);
  const keys = new Keys(store, clock, new Inspector());
  const catalog = {
    read: (kind: 'key', workspaceId: string, id: string) => store.catalog.read(kind, workspaceId, id),
    async create(kind: 'key', record: Key) {
      await store.catalog.create(kind, record);
      await keys.revoke('wks_1', old.id);
    },
  };
  const host = { keys, workspaces: { of: async () => ({ record: { id: 'wks_1' } }) } };
  const request = {
    params: { w: 'wks_1', id: old.id },
    caller: { by: { kind: 'operator', id: 'operator', name: 'operator' }, grant: { role: 'owner', workspaceId: null } },
    head: { remoteAddress: '127.0.0.1' },
    body: {},
    services: { clock, ids: randomIds(clock), store: { catalog }, host, config: { trustedProxies: [] } },
  };
  await t.rejects(rotateKey(request as any), { code: 'invalid_request', status: 422 });
  const { items } = await store.catalog.list('key', 'wks_1', { limit: 10, after: null, order: 'asc' });
  t.same(
    items.map(({ id, expiresAt }) => [id, expiresAt]),
    [[old.id, null]],
  );
});

const lacking = whyNoRedis();
t.test('other processes know within a second', lacking === null ? {} : { skip: lacking }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const [one, two] = await Promise.all([openHouse(t, { env }), openHouse(t, { env })]);
  const old = await one.newKey({ name: 'before' });
  for (const house of [one, two])
    t.equal((await house.ask('/assistants', { key: old.key })).status, 200, 'both know it');
  t.equal((await read(one, old.id)).name, 'before', 'and has just looked');
  await two.console(pathOf(two, old.id), { method: 'PATCH', body: { name: 'after', assistant_ids: [] } });
  const made = await rotate(one, old.id);
  const rotatedAt = Date.now();
  t.match(
    made.json,
    { name: 'after', assistant_ids: { length: 0 } },
    'what another process has just changed is in the new key',
  );
  isRefused(t, await one.ask('/assistants', { key: old.key }), refusals.expiredKey, 'at once where it was rotated');
  t.equal((await two.ask('/assistants', { key: made.json.key })).status, 200, 'the new key works everywhere at once');
  const late = await until(async () => {
    const askedAt = Date.now();
    const answer = await two.ask('/assistants', { key: old.key });
    return (answer.status === 401 || askedAt - rotatedAt > 1000) && answer;
  });
  isRefused(t, late, refusals.expiredKey, 'within a second');
});
