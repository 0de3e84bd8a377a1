/**
 * A start whose output goes to a log prints no key and no link to sign in, but one JSON line that says how to get them
 * (contract 9 and 11).
 */
import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLogged } from '../../src/operations/first-start.ts';
import { start } from '../cli/support.ts';
import { temporaryFolder } from '../folders.ts';
import { startServer, type Server, type ServerOptions } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { secret } from './supervised.ts';

/** Checks that nothing but JSON was printed, no secret with it, and one line that names the commands. */
async function isQuiet(t: Test, server: Server): Promise<void> {
  t.equal((await fetch(`${server.url}/healthz`)).status, 200);
  const lines = server.stdout().trim().split('\n');
  t.notMatch(server.stdout(), /\bak_|sign-in=|operator-token-of-the-tests/);
  const hints = lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg.includes('`parley console`') && msg.includes('`parley keys create`'));
  t.match(hints, [{ level: 'info', time: Number, url: server.url, store: String, engine: String }]);
  t.equal(hints.length, 1);
}

/** Follows the line: a key and a link, over which the server is used as any other. */
async function isUsable(t: Test, { url, operatorToken }: Server): Promise<void> {
  const run = (...args: string[]) => start(t, [...args, '--url', url, '--operator-token', operatorToken]).finished;
  t.equal(JSON.parse((await run('keys', 'list', '--json')).stdout).data.length, 0, 'no key was made that nobody knows');
  const made = await run('keys', 'create', 'mine');
  const key = /\bak_\w+/.exec(made.stdout)![0];
  t.match(await (await fetch(`${url}/assistants`, { headers: { authorization: `Bearer ${key}` } })).json(), {
    data: [{ name: 'demo', status: 'published' }],
  });
  t.match(await (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).json(), {
    data: [{ id: 'demo', name: 'demo' }],
  });
  t.match((await run('console')).stdout, `${url}/console#sign-in=`);
}

const ways: Readonly<Record<string, ServerOptions>> = {
  'PARLEY_QUIET=1': { env: { PARLEY_QUIET: '1' } },
  '--quiet': { args: ['--quiet'] },
  systemd: { env: { JOURNAL_STREAM: '8:31337' } },
  'systemd and PARLEY_QUIET=0': { env: { JOURNAL_STREAM: '8:31337', PARLEY_QUIET: '0' } },
};

for (const [name, { env = {}, args = [] }] of Object.entries(ways)) {
  t.test(`${name}: no start prints a secret`, async (t) => {
    const folder = await temporaryFolder(t);
    const first = await startServer(t, {
      env: { PARLEY_STORE: 'lmdb:data', PARLEY_LOG: 'silent', ...env },
      args,
      folder,
    });
    await isQuiet(t, first);
    await isUsable(t, first);
    await first.stop();
    const second = await startServer(t, { env: { PARLEY_STORE: 'lmdb:data', ...env }, args, folder });
    await isQuiet(t, second);
    await second.stop();
  });
}

t.test('a start at a terminal on a store that a quiet one has filled makes no key', async (t) => {
  const [folder, env] = [await temporaryFolder(t), { PARLEY_STORE: 'lmdb:data' }];
  await (await startServer(t, { env: { ...env, PARLEY_QUIET: '1' }, folder })).stop();
  const loud = await startServer(t, { env, folder });
  t.match(loud.stdout(), 'sign-in=');
  t.notMatch(loud.stdout(), /\bak_/);
});

t.test('a store in memory keeps its operator token to itself', async (t) => {
  const quiet = start(t, ['serve'], { env: { PORT: '0', PARLEY_STORE: 'memory:', PARLEY_QUIET: '1' } });
  await quiet.printed('parley keys create');
  quiet.kill('SIGTERM');
  const { stdout } = await quiet.finished;
  t.match(JSON.parse(stdout.split('\n')[0]!), { operator_token: 'not set: PARLEY_OPERATOR_TOKEN' });
  t.notMatch(stdout, 'Operator token');
});

t.test('several processes print one line', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const server = await startServer(t, {
    env: { PARLEY_STORE: redis.url, PARLEY_SECRET: secret, PARLEY_PROCESSES: '2', PARLEY_QUIET: '1' },
  });
  await isQuiet(t, server);
  await isUsable(t, server);
});

/** A Node that is the first process of its container. */
async function firstProcess(t: Test): Promise<string> {
  const path = join(await temporaryFolder(t), 'node');
  await writeFile(path, `#!/bin/sh\nexec unshare --pid --fork --kill-child '${process.execPath}' "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

const canIsolate = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

t.test(
  'as the first process of a container',
  { skip: canIsolate ? false : 'a process may not have a namespace of its own here' },
  async (t) => {
    const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' }, node: await firstProcess(t) });
    await isQuiet(t, server);
    await t.test('with workers, of which none is the first', { skip: whyNoRedis() ?? false }, async (t) => {
      const redis = await RedisServer.start(...appendOnly);
      t.teardown(() => redis.stop());
      await isQuiet(
        t,
        await startServer(t, {
          env: { PARLEY_STORE: redis.url, PARLEY_SECRET: secret, PARLEY_PROCESSES: '2' },
          node: await firstProcess(t),
        }),
      );
    });
  },
);

t.test('a person at a terminal is shown key and link, also where the desktop runs under systemd', async (t) => {
  t.equal(isLogged({ quiet: false, underSystemd: true }, { pid: 77, isTerminal: true }), false);
  t.equal(isLogged({ quiet: false, underSystemd: true }, { pid: 77, isTerminal: false }), true);
  t.equal(isLogged({ quiet: true, underSystemd: false }, { pid: 77, isTerminal: true }), true);
  t.equal(isLogged({ quiet: false, underSystemd: false }, { pid: 1, isTerminal: true }), true);
  const loud = await startServer(t, { env: { PARLEY_STORE: 'memory:', JOURNAL_STREAM: '' } });
  t.match(loud.stdout(), /API key +ak_\w+[^]*sign-in=/, 'and everywhere else');
});
