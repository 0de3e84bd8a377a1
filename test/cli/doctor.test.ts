/** `parley doctor` as it is called, from the built command. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { report } from '../../src/cli/doctor.ts';
import type { Diagnosis } from '../../src/doctor.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';

const start = fileURLToPath(new URL('../../src/start.mjs', import.meta.url));

interface Run {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
  /** Where it ran. */
  readonly folder: string;
}

async function doctor(t: Owner, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const folder = await temporaryFolder(t);
  const { PATH, HOME, TMPDIR } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [start, 'doctor', ...args], { cwd: folder, env: { PATH, HOME, TMPDIR, PORT: '0', ...env } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr, folder }),
    );
  });
}

/** Without the embedded voice, which takes seconds to look at. */
const shared = { PARLEY_SECRET: 'a-secret-of-the-tests-with-enough-characters', PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-tests', PARLEY_VOICE_PROCESSES: '0' };

t.test('before the first start nothing is wrong, and nothing is made', async (t) => {
  const { code, stdout, stderr, folder } = await doctor(t, []);
  t.same([code, stderr], [0, '']);
  t.match(stdout, /^store lmdb:\.\/data\n\nok    node +Node \d+/);
  t.match(stdout, /^ok    folder +.*the first start makes it$/m);
  t.match(stdout, /\n\n(Nothing is wrong\.|0 failed, .*)\n$/);
  t.same(await readdir(folder), []);
});

t.test('what is wrong is exit code 1, and called the wrong way 2', async (t) => {
  const wrong = await doctor(t, ['--store', 'memory:'], { PARLEY_EDGE: 'apache', PARLEY_VOICE_PROCESSES: '0' });
  t.same([wrong.code, wrong.stderr], [1, '']);
  t.match(wrong.stdout, /^fail  settings  PARLEY_EDGE must be one of uws, node, not "apache"\.\n +Correct PARLEY_EDGE: parley serve --help\.$/m);
  t.match(wrong.stdout, /\n1 failed, 1 warned, \d are well\.\n$/);
  t.equal((await doctor(t, ['--stroe', 'memory:'])).code, 2);
});

t.test('as JSON, with a Redis', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  await server.command('CONFIG', 'SET', 'requirepass', 'pass');
  const well = await doctor(t, ['--json', '--store', server.url.replace('//', '//:pass@')], shared);
  t.same([well.code, well.stderr], [0, '']);
  const diagnosis = JSON.parse(well.stdout) as Diagnosis;
  t.match(diagnosis, { ok: true, store: server.url.replace('//', '//…@') });
  for (const check of diagnosis.checks) t.same(Object.keys(check), check.status === 'ok' ? ['id', 'status', 'found'] : ['id', 'status', 'found', 'advice'], check.id);
  const wrong = await doctor(t, ['--json'], { ...shared, PARLEY_STORE: server.url.replace('//', '//:wrong@') });
  t.same([wrong.code, wrong.stderr], [1, '']);
  t.match(JSON.parse(wrong.stdout), { ok: false, checks: [{}, {}, {}, {}, { id: 'reachable', status: 'fail' }] });
  t.notMatch(well.stdout + wrong.stdout, /pass@|wrong@/);
});

t.test('the lines', async (t) => {
  const text = report({ ok: false, store: null, checks: [{ id: 'a', status: 'ok', found: 'fine' }, { id: 'long', status: 'fail', found: 'bad\u001b[31m', advice: 'Mend\nit.' }] });
  t.equal(text, 'store (cannot be used)\n\nok    a     fine\nfail  long  bad[31m\n            Mend it.\n\n1 failed, 0 warned, 1 are well.');
  t.match(report({ ok: true, store: 'memory:', checks: [{ id: 'a', status: 'ok', found: 'fine' }] }), /\n\nNothing is wrong\.$/);
});
