/** A Redis with each of the faults that the doctor knows, made on a real one. */
import { rm } from 'node:fs/promises';
import t from 'tap';
import { openVault } from '../../../src/access/vault.ts';
import { credential, ids, Scene, workspace } from '../../store/fixtures.ts';
import { appendOnly, whyNoRedis } from '../../store/redis-server.ts';
import { diagnose, secret } from './diagnosis.ts';
import { examined, redis, stored } from './redis-support.ts';

const skip = whyNoRedis() ?? false;

t.test('doctor passes on a sound Redis and changes no key', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const own = workspace();
  await stored(server.url, async (store) => {
    await store.catalog.create('workspace', own);
    const draft = credential(own.id);
    await store.catalog.create('credential', { ...draft, sealed: openVault(secret, ids).seal(draft, 'sk-1') });
    await new Scene(store, Date.now()).streaming();
  });
  const before = await server.command('DEBUG', 'DIGEST');
  const found = await examined(server);
  t.same(found.unwell, []);
  t.equal(found.ok, true);
  t.equal(await server.command('DEBUG', 'DIGEST'), before);
  t.equal(found.of('format').found, 'one workspace reads well');
  t.equal(found.of('credentials').found, 'all 1 open with PARLEY_SECRET');
  t.equal(found.of('append-only').found, 'appendonly yes, appendfsync everysec');
  t.match(found.of('version').found, /^Redis \d+\.\d+\.\d+$/);
  t.match(found.of('round-trip').found, /^\d+\.\d ms$/);

  t.match((await diagnose({ PARLEY_STORE: server.url }, 5000)).of('clock'), {
    status: 'warn',
    found: /^(?:4\.9|5\.0)\d+ s behind ours$/,
    advice: /time service/,
  });
  t.match((await diagnose({ PARLEY_STORE: server.url }, -5000)).of('clock'), {
    status: 'warn',
    found: /ahead of ours$/,
  });
});

t.test('credentials under another secret', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const own = workspace();
  const first = credential(own.id);
  await stored(server.url, async (store) => {
    await store.catalog.create('workspace', own);
    await store.catalog.create('credential', { ...first, sealed: openVault(secret, ids).seal(first, 'sk-1') });
  });
  const other = { PARLEY_SECRET: 'another secret of thirty-two characters' };
  t.match((await examined(server, other)).of('credentials'), {
    status: 'fail',
    found: `1 of 1 do not open with this PARLEY_SECRET (${first.id})`,
  });
  await stored(server.url, (store) => store.catalog.create('credential', credential(own.id)));
  const found = await examined(server);
  t.match(found.of('credentials'), { status: 'warn', found: /^1 of 2 do not open/ });
  t.equal(found.ok, true);
  t.same((await examined(server, { PARLEY_SECRET: '' })).unwell, ['fail settings', 'fail credentials']);
});

t.test('rows of a later version', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const own = workspace();
  await stored(server.url, (store) => store.catalog.create('workspace', own));
  await server.command(
    'EVAL',
    "redis.call('HSET', KEYS[1], ARGV[1], '\\146\\9\\128')",
    '1',
    'parley:{workspaces}:workspace',
    own.id,
  );
  const found = await examined(server);
  t.match(found.of('format'), {
    status: 'fail',
    found: /format 9; this version reads formats up to 2/,
    advice: /later version/,
  });
  t.equal(found.ok, false);
});

t.test('settings that lose acknowledged writes', { skip }, async (t) => {
  const volatile = await redis(t);
  const found = await examined(volatile);
  t.match(found.of('append-only'), {
    status: 'fail',
    found: /keeps no append-only file/,
    advice: /CONFIG SET appendonly yes/,
  });
  t.same(found.unwell, ['fail append-only']);
  t.match((await examined(volatile, { PARLEY_ALLOW_VOLATILE: '1' })).unwell, ['warn append-only']);
  await volatile.command('CONFIG', 'SET', 'appendonly', 'yes', 'appendfsync', 'no');
  t.match((await examined(volatile)).of('append-only'), { status: 'warn', advice: /appendfsync everysec/ });

  const silent = await redis(t, ...appendOnly, '--rename-command', 'CONFIG', '');
  t.match((await examined(silent)).of('append-only'), { status: 'fail', found: /does not let parley ask/ });
});

t.test('doctor reports the eviction policy of Redis and the memory that is used', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const set = (...settings: string[]): Promise<string> => server.command('CONFIG', 'SET', ...settings);
  const used = Number(/used_memory:(\d+)/.exec(await server.command('INFO', 'memory'))![1]);
  for (const policy of ['allkeys-lru', 'volatile-ttl']) {
    await set('maxmemory-policy', policy);
    t.match(
      (await examined(server, { PARLEY_ALLOW_VOLATILE: '1' })).of('eviction'),
      { status: 'fail', found: new RegExp(policy), advice: /maxmemory-policy noeviction/ },
      'also without a maxmemory',
    );
  }
  const hidden = { PARLEY_STORE: server.url.replace('//', '//blind:pw@') };
  await server.command('ACL', 'SETUSER', 'blind', 'on', '>pw', '~*', '&*', '+@all', '-config');
  t.match(
    (await diagnose(hidden)).of('eviction'),
    { status: 'fail', found: /volatile-ttl/ },
    'where CONFIG may not be asked',
  );
  await server.command('ACL', 'SETUSER', 'blind', '-info', '+config|get');
  t.match(
    (await diagnose(hidden)).of('eviction'),
    { status: 'fail', found: /volatile-ttl/ },
    'where INFO may not be asked',
  );
  await server.command('ACL', 'SETUSER', 'blind', '-info', '-config');
  t.match((await diagnose(hidden)).of('eviction'), {
    status: 'warn',
    found: /does not let parley read its eviction policy/,
    advice: /noeviction/,
  });
  await set('maxmemory-policy', 'allkeys-lru');
  await set('maxmemory', String(used * 100));
  t.match((await examined(server)).of('eviction'), {
    status: 'fail',
    found: /allkeys-lru/,
    advice: /maxmemory-policy noeviction/,
  });
  await set('maxmemory-policy', 'noeviction');
  t.same((await examined(server)).unwell, []);
  // The memory of the doctor's connections varies: about nine tenths, then far more than all.
  await set('maxmemory', '20000000');
  await server.command('EVAL', "redis.call('SET', 'filler', string.rep('x', ARGV[1]))", '0', String(17_000_000 - used));
  t.match((await examined(server)).of('memory'), { status: 'warn', found: /MiB used of 19\.1 MiB/ });
  await set('maxmemory', '1000000');
  t.match((await examined(server)).of('memory'), {
    status: 'fail',
    found: /every write is refused/,
    advice: /CONFIG SET maxmemory/,
  });
});

t.test('a disk that does not take it', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const [, folder] = (await server.command('CONFIG', 'GET', 'dir')).split('\n');
  await rm(folder!, { recursive: true });
  await server.command('BGSAVE');
  await server.replies('rdb_last_bgsave_status:err', 'INFO', 'persistence');
  t.match((await examined(server)).of('disk-writes'), { status: 'fail', found: /BGSAVE failed/ });
});

t.test('doctor fails on a replica as the store and reports a missing replica', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  const replicated = { PARLEY_DURABILITY: 'replicated' };
  t.match((await examined(server, replicated)).of('replicas'), {
    status: 'fail',
    found: /no replica follows/,
    advice: /REPLICAOF 127\.0\.0\.1 \d+, or PARLEY_DURABILITY=committed/,
  });
  t.match((await examined(server, { PARLEY_DURABILITY: 'replicated-output' })).of('replicas'), {
    status: 'fail',
    found: /replicated-output refuses/,
  });
  t.equal((await examined(server)).of('replicas').status, 'ok');
  const replica = await redis(
    t,
    ...appendOnly,
    '--replicaof',
    '127.0.0.1',
    String(server.port),
    '--repl-diskless-sync-delay',
    '0',
  );
  // Waits until one follows.
  await server.command('WAIT', '1', '0');
  const followed = await examined(server, replicated);
  t.same(followed.unwell, []);
  t.equal(followed.of('replicas').found, '1 of 1 in sync');
  const asStore = await examined(replica);
  t.same(asStore.unwell, ['fail kind']);
  t.match(asStore.of('kind').advice, `127.0.0.1:${server.port}`);
});
