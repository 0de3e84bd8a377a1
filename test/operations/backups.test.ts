/** Backups as docs/backups.md describes them: each is restored, and what was acknowledged is there. */
import { copyFileSync, cpSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { openHouse, type House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import { run } from '../cli/support.ts';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';

const secret = 'a-secret-of-the-tests-with-enough-characters';
const withoutRedis = { skip: whyNoRedis() ?? false };

const onLmdb = (t: Test, folder: string): Promise<House> =>
  openHouse(t, { folder, embedded: true, env: { PARLEY_STORE: 'lmdb:./data' } });
const onRedis = (t: Test, { url }: RedisServer): Promise<House> =>
  openHouse(t, { embedded: true, env: { PARLEY_STORE: url, PARLEY_SECRET: secret } });

/** A conversation and a key, and a check that a server has both. */
async function used(house: House): Promise<(t: Test, restored: House) => Promise<void>> {
  const { id } = await house.session((await house.assistant()).id);
  await (await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hello' } })).rest();
  const transcript = await transcriptOf(house, id);
  const { key } = house;
  return async (t, restored) => {
    t.same(
      await transcriptOf({ ...restored, ask: (path, ask) => restored.ask(path, { key, ...ask }) }, id),
      transcript,
    );
    t.equal(transcript.length, 2);
  };
}

t.test('an export of a running server is restored into a folder', async (t) => {
  const [folder, restored] = [await temporaryFolder(t), await temporaryFolder(t)];
  const house = await onLmdb(t, folder);
  const holds = await used(house);
  const file = join(folder, 'parley.jsonl.gz');
  t.equal((await run(['export', '--store', `lmdb:${folder}/data`, '--out', file], {})).code, 0);
  const env = { PARLEY_SECRET: readFileSync(join(folder, 'data', 'secret'), 'utf8').trim() };
  t.equal((await run(['import', '--from', file, '--store', `lmdb:${restored}/data`], { env })).code, 0);
  await holds(t, await onLmdb(t, restored));
});

for (const [what, end] of [
  ['a stopped server', 'SIGTERM'],
  ['a moment, as of a disk', 'SIGKILL'],
] as const) {
  t.test(`a copy of the folder of ${what} is restored`, async (t) => {
    const [folder, restored] = [await temporaryFolder(t), await temporaryFolder(t)];
    const house = await onLmdb(t, folder);
    const holds = await used(house);
    await house.kill(end);
    cpSync(join(folder, 'data'), join(restored, 'data'), { recursive: true });
    await holds(t, await onLmdb(t, restored));
    renameSync(join(folder, 'data'), join(folder, 'before'));
    cpSync(join(folder, 'before'), join(folder, 'data'), { recursive: true });
    await holds(t, await onLmdb(t, folder));
  });
}

t.test('an export of a running server is restored into a Redis', withoutRedis, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const folder = await temporaryFolder(t);
  const holds = await used(await onLmdb(t, folder));
  const file = join(folder, 'parley.jsonl.gz');
  t.equal((await run(['export', '--store', `lmdb:${folder}/data`, '--out', file], {})).code, 0);
  t.equal(
    (
      await run(['import', '--from', file, '--store', redis.url], {
        env: { PARLEY_SECRET: readFileSync(join(folder, 'data', 'secret'), 'utf8').trim() },
      })
    ).code,
    0,
  );
  await holds(t, await onRedis(t, redis));
});

t.test('a dump of a running Redis is restored', withoutRedis, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const holds = await used(await onRedis(t, redis));
  await redis.command('BGSAVE');
  await redis.replies('rdb_bgsave_in_progress:0', 'INFO', 'persistence');
  t.match(await redis.command('INFO', 'persistence'), /rdb_last_bgsave_status:ok/);
  const of = async (name: string): Promise<string> => (await redis.command('CONFIG', 'GET', name)).split('\n')[1]!;
  const folder = await temporaryFolder(t);
  copyFileSync(join(await of('dir'), await of('dbfilename')), join(folder, 'dump.rdb'));
  const restored = await RedisServer.start('--dir', folder, '--appendonly', 'no');
  t.teardown(() => restored.stop());
  await restored.command('CONFIG', 'SET', 'appendonly', 'yes');
  await holds(t, await onRedis(t, restored));
});
