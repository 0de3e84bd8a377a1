import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryFolder } from './folders.ts';
import { startServer } from './process.ts';

t.test('a server starts, answers, ends on SIGTERM with 0, and starts again on what it stored', async (t) => {
  const folder = await temporaryFolder(t);
  const first = await startServer(t, { folder });
  t.match(first.key, /^ak_\w{40,}$/);
  t.equal((await fetch(`${first.url}/healthz`)).status, 200);
  const { key, operatorToken } = first;
  t.equal((await fetch(`${first.url}/assistants`, { headers: { 'x-api-key': key! } })).status, 200);
  const workspaces = await fetch(`${first.url}/console/api/workspaces`, {
    headers: { authorization: `Bearer ${operatorToken}` },
  });
  t.equal(workspaces.status, 200);
  t.same(await first.stop(), { code: 0, signal: null });

  const second = await startServer(t, { folder });
  t.equal(second.key, null);
  t.equal((await fetch(`${second.url}/assistants`, { headers: { 'x-api-key': key! } })).status, 200);
  t.same(await second.kill('SIGKILL'), { code: null, signal: 'SIGKILL' });
});

t.test('what the server says when it cannot start is in the failure', async (t) => {
  await t.rejects(startServer(t, { args: ['--edge', 'none'] }), {
    message: /ended with 2 before it listened\.\n.*PARLEY_EDGE/s,
  });
});

t.test('the end of a test ends its server and removes its folder', async (t) => {
  let server: Awaited<ReturnType<typeof startServer>> | undefined;
  await t.test('a started server runs in a folder of its own', async (t) => {
    server = await startServer(t);
    t.ok(existsSync(server.folder));
  });
  t.same(await server!.ended, { code: null, signal: 'SIGKILL' });
  t.notOk(existsSync(server!.folder));
});

t.test('a server ends with the test that was killed', async (t) => {
  const folder = await temporaryFolder(t);
  const script = fileURLToPath(new URL('./orphan.ts', import.meta.url));
  const env = { PATH: process.env['PATH'], TMPDIR: folder };
  const orphan = spawn(process.execPath, [`--import=${import.meta.resolve('tsx')}`, script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => orphan.kill('SIGKILL'));
  const [url] = (await once(orphan.stdout, 'data')) as [Buffer];
  const socket = connect(Number(new URL(url.toString()).port), '127.0.0.1');
  await once(socket, 'connect');
  // A server that is killed may reset its connections.
  const closed = new Promise((done) => socket.on('error', () => {}).once('close', done));
  orphan.kill('SIGKILL');
  await closed;
  t.ok(socket.destroyed, 'the server is gone with it');
});
