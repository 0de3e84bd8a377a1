/** Moves beside a server's environment, and into a Redis with a password as the documentation writes it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startServer } from '../../process.ts';
import { start } from '../../cli/support.ts';
import { temporaryFolder } from '../../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';

const secret = 'a-secret-of-the-tests-that-is-long-enough';

/** The environment file of a server on Redis, as a shell has read it; the last two are wrong even for a server. */
const ofServer = {
  PARLEY_STORE: 'redis://127.0.0.1:1',
  PARLEY_SECRET: secret,
  PARLEY_PROCESSES: '4',
  PARLEY_DURABILITY: 'replicated',
  PARLEY_MANAGEMENT_PORT: '9090',
  PORT: '9090',
  PARLEY_EDGE: 'other',
};

t.test('moves read no settings but their own', async (t) => {
  const folder = await temporaryFolder(t);
  const server = await startServer(t, { env: { PARLEY_STORE: 'lmdb:data', PARLEY_SECRET: secret }, folder });
  await server.stop();
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    start(t, args, { env: { ...ofServer, ...env }, cwd: folder }).finished;
  t.match(await run(['export', '--store', 'lmdb:data', '--out', 'parley.jsonl']), {
    code: 0,
    stderr: /^Exported \d+ rows/m,
  });
  t.match(await run(['import', '--store', 'lmdb:other', '--from', 'parley.jsonl'], { PARLEY_DURABILITY: 'flushed' }), {
    code: 0,
    stderr: /^Imported \d+ rows/m,
  });
  t.match(
    await run(['import', '--store', 'lmdb:third', '--from', 'parley.jsonl']),
    {
      code: 2,
      stderr:
        'parley: PARLEY_DURABILITY cannot be replicated with the store lmdb, which offers committed and flushed.\n',
    },
    'its own settings hold',
  );
  const moved = await startServer(t, { env: { PARLEY_STORE: 'lmdb:other', PARLEY_SECRET: secret }, folder });
  t.equal((await fetch(`${moved.url}/assistants`, { headers: { authorization: `Bearer ${server.key}` } })).status, 200);
});

t.test('a Redis with a password', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  await redis.command('CONFIG', 'SET', 'requirepass', 'p@ss');
  const page = await readFile(new URL('../../../docs/settings.md', import.meta.url), 'utf8');
  const store = /redis:\/\/:p%40ss@HOST:PORT\/1/.exec(page)![0].replace('HOST:PORT', new URL(redis.url).host);
  const env = {
    ...ofServer,
    PARLEY_STORE: store,
    PARLEY_DURABILITY: 'committed',
    PARLEY_EDGE: '',
    PORT: '0',
    PARLEY_MANAGEMENT_PORT: '',
    PARLEY_VOICE_PROCESSES: '0',
    PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-tests',
  };
  const folder = await temporaryFolder(t);
  const source = await startServer(t, { env: { PARLEY_STORE: 'lmdb:data', PARLEY_SECRET: secret }, folder });
  await source.stop();
  const run = (...args: string[]) => start(t, args, { env, cwd: folder }).finished;
  t.match(await run('export', '--store', 'lmdb:data', '--out', 'parley.jsonl'), { code: 0 });
  const ran = [
    await run('import', '--from', 'parley.jsonl'),
    await run('doctor'),
    await run('export', '--out', join(folder, 'back.jsonl')),
  ];
  t.same(
    ran.map(({ code }) => code),
    [0, 0, 0],
    ran.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
  );
  const server = await startServer(t, { env: { ...env, PARLEY_PROCESSES: '2', PARLEY_LOG: 'info' } });
  t.equal(
    (await fetch(`${server.url}/assistants`, { headers: { authorization: `Bearer ${source.key}` } })).status,
    200,
  );
  const printed = [...ran, { stdout: server.stdout(), stderr: server.stderr() }]
    .map(({ stdout, stderr }) => stdout + stderr)
    .join('\n');
  t.notMatch(printed, /p@ss|p%40ss/, 'the password is printed nowhere');
  const wrong = await start(t, ['serve'], {
    env: { ...env, PARLEY_STORE: store.replace('p%40ss', 'other') },
    cwd: folder,
  }).finished;
  t.match(wrong, { code: 2, stderr: /^parley: PARLEY_STORE: [^\n]*password[^\n]*\n$/ });
});
