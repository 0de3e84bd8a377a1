/**
 * A provider's secret is bound to where it may go: a row that was edited in the store sends it nowhere (promise P18).
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openHouse, type House } from '../api/house.ts';
import { answered, onProvider, say, sayInVain, until } from '../api/talk.ts';
import { isRefused, refusals } from '../api/refusal.ts';
import { diagnose } from '../operations/doctor/diagnosis.ts';
import { temporaryFolder } from '../folders.ts';
import { provider, type Provider } from '../providers/model/provider.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { redisStore } from '../../src/store/redis.ts';
import type { Credential, Store } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { ids } from '../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { sealedAsBefore } from './format-1.ts';

const secret = 'the secret of the installation, 32 or more';
const young = 'the secret that it gets after that one';
const settings = { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'info', PARLEY_SECRET: secret };

/** Edits a row as an attacker with the store and without its key would. */
async function edited(
  store: Store,
  { workspaceId, id }: Place,
  change: (credential: Credential) => Partial<Credential>,
): Promise<void> {
  await store.open(Date.now());
  const found = (await store.catalog.read('credential', workspaceId, id))!;
  await store.catalog.replace('credential', { ...found.record, ...change(found.record) }, found.version);
  await store.close();
}

/** The format of a secret that is bound to where it may go. */
const bound = 2;

async function formatOf(store: Store, { workspaceId, id }: Place): Promise<number> {
  await store.open(Date.now());
  const [format] = (await store.catalog.read('credential', workspaceId, id))!.record.sealed;
  await store.close();
  return format!;
}

interface Place {
  readonly workspaceId: string;
  readonly id: string;
}

async function listening(t: Test): Promise<Provider> {
  const found = await provider((response) => answered(response, ['yes']));
  t.teardown(() => found.close());
  return found;
}

const converses = async (t: Test, house: House, assistantId: string): Promise<void> =>
  void t.equal(
    (await (await say(house, (await house.session(assistantId)).id)).rest()).at(-1)?.event,
    'turn.completed',
  );

const refuses = async (t: Test, house: House, assistantId: string, name: string): Promise<void> =>
  isRefused(t, await sayInVain(house, (await house.session(assistantId)).id), refusals.unavailable, name);

t.test('a secret on LMDB opens only in its own row', async (t) => {
  const folder = await temporaryFolder(t);
  const data = join(folder, 'data');
  const open = (env: Record<string, string> = {}) =>
    openHouse(t, { folder, embedded: true, env: { ...settings, PARLEY_STORE: 'lmdb:./data', ...env } });
  const first = await open();
  const {
    assistant,
    credential,
    provider: right,
  } = await onProvider(t, first, (response) => answered(response, ['yes']));
  const place = { workspaceId: first.workspaceId, id: credential.id };
  const wrong = await listening(t);
  await converses(t, first, assistant.id);
  await first.stop();

  await t.test('a base URL that was edited', async (t) => {
    await edited(lmdbStore(data), place, () => ({ baseUrl: wrong.baseUrl }));
    t.match((await diagnose({ PARLEY_STORE: `lmdb:${data}`, PARLEY_SECRET: secret })).of('credentials'), {
      status: 'fail',
      found: new RegExp(`^1 of 1 do not open .*${place.id}`),
    });
    const house = await open();
    await refuses(t, house, assistant.id, 'another origin');
    await house.stop();
    t.same([right.requests.length, wrong.requests.length], [1, 0]);
  });

  await t.test('a secret of an earlier version is bound at the start', async (t) => {
    await edited(lmdbStore(data), place, (row) => ({
      baseUrl: right.baseUrl,
      sealed: sealedAsBefore(secret, row, 'canary-secret'),
    }));
    t.match((await diagnose({ PARLEY_STORE: `lmdb:${data}`, PARLEY_SECRET: secret })).of('credentials'), {
      status: 'warn',
      found: /^1 of 1 .* earlier version/,
    });
    const house = await open();
    await until(async () => /"resealed":1,[^\n]*bound/.test(house.stdout()));
    await converses(t, house, assistant.id);
    await house.stop();
    t.match((await diagnose({ PARLEY_STORE: `lmdb:${data}`, PARLEY_SECRET: secret })).of('credentials'), {
      status: 'ok',
    });
    t.equal(await formatOf(lmdbStore(data), place), bound, 'from then on as any other');
  });

  await t.test('a secret of an earlier version, sealed under the secret before', async (t) => {
    await edited(lmdbStore(data), place, (row) => ({
      baseUrl: right.baseUrl,
      sealed: sealedAsBefore(secret, row, 'canary-secret'),
    }));
    const turning = await open({ PARLEY_SECRET: young, PARLEY_SECRET_PREVIOUS: secret });
    await until(async () => /"resealed":1,[^\n]*PARLEY_SECRET_PREVIOUS can go/.test(turning.stdout()));
    await turning.stop();
    t.equal(await formatOf(lmdbStore(data), place), bound);
    await edited(lmdbStore(data), place, (row) => ({ sealed: sealedAsBefore(secret, row, 'canary-secret') }));
    const after = await open({ PARLEY_SECRET: young });
    await refuses(t, after, assistant.id, 'a copy from before the change of the secret opens no more');
  });
});

t.test('a secret on Redis opens only in its own row', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const open = (env: Record<string, string> = {}) =>
    openHouse(t, { env: { ...settings, PARLEY_STORE: redis.url, ...env } });
  const store = (): Store => redisStore(redis.url, { clock: new ManualClock(), ids });
  const [one, two] = [await open(), await open()];
  const {
    assistant,
    credential,
    provider: right,
  } = await onProvider(t, one, (response) => answered(response, ['yes']));
  const place = { workspaceId: one.workspaceId, id: credential.id };
  const wrong = await listening(t);
  for (const house of [one, two]) await converses(t, house, assistant.id);

  await edited(store(), place, () => ({ baseUrl: wrong.baseUrl }));
  for (const house of [one, two]) await refuses(t, house, assistant.id, 'opened before or not');

  await edited(store(), place, (row) => ({
    baseUrl: right.baseUrl,
    sealed: sealedAsBefore(secret, row, 'canary-secret'),
  }));
  for (const house of [one, two, await open()]) await converses(t, house, assistant.id);
  t.equal(await formatOf(store(), place), bound - 1, 'a start like any other leaves it to those that know no other');
  const last = await open({ PARLEY_SECRET_PREVIOUS: secret });
  await until(async () => /"resealed":1,[^\n]*PARLEY_SECRET_PREVIOUS can go/.test(last.stdout()));
  t.equal(await formatOf(store(), place), bound);
  for (const house of [one, two, last]) await converses(t, house, assistant.id);
  await edited(store(), place, () => ({ baseUrl: wrong.baseUrl }));
  for (const house of [one, two, last]) await refuses(t, house, assistant.id, 'from then on as any other');
  t.equal(wrong.requests.length, 0);
});
