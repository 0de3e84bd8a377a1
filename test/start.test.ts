import { execFile, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { watch } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryFolder, type Owner } from './folders.ts';
import { startServer } from './process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Clone {
  readonly path: (name: string) => string;
  /** Runs `start.mjs` with these arguments to its end. */
  readonly run: (args?: string[], env?: NodeJS.ProcessEnv) => Promise<{ code: unknown; stdout: string; stderr: string }>;
}

/** A clone whose command is `command`, with the packages of this one. */
async function cloneWith(t: Owner, command: string): Promise<Clone> {
  const folder = await temporaryFolder(t);
  const path = (name: string): string => join(folder, name);
  await mkdir(path('src/store/redis'), { recursive: true });
  await mkdir(path('src/voice/engine'), { recursive: true });
  await mkdir(path('machines'));
  for (const name of ['package.json', 'package-lock.json', 'src/start.mjs', 'src/prepare.mjs', 'src/load.mjs']) await copyFile(join(root, name), path(name));
  await utimes(path('package-lock.json'), 1, 1);
  await symlink(join(root, 'node_modules'), path('node_modules'));
  await writeFile(path('src/cli.ts'), command);
  await writeFile(path('src/voice/engine/main.ts'), '');
  const run: Clone['run'] = (args = [], env = { PATH: process.env['PATH'] }) =>
    new Promise((resolve) => {
      execFile(process.execPath, [path('src/start.mjs'), ...args], { env }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
    });
  return { path, run };
}

t.test('the command is built when it is missing and runs with the arguments and its own exit code', async (t) => {
  const { run } = await cloneWith(t, 'console.log(process.argv.slice(2).join()); process.exitCode = 7 as number;');
  t.same(await run(['chat', '--json']), { code: 7, stdout: 'chat,--json\n', stderr: '' });
});

t.test('it is built again after a change, and only then', async (t) => {
  const { path, run } = await cloneWith(t, "console.log('first');");
  await run();
  const built = await stat(path('dist/parley.mjs'));
  t.equal((await run()).stdout, 'first\n');
  t.equal((await stat(path('dist/parley.mjs'))).ino, built.ino, 'the same bundle');
  await writeFile(path('src/cli.ts'), "console.log('second');");
  const later = built.mtimeMs / 1000 + 1;
  await utimes(path('src/cli.ts'), later, later);
  t.equal((await run()).stdout, 'second\n');
});

/** Says of each script that it runs whether V8 took what had been compiled: 'undefined' where nothing was offered. */
const tellsTaken = `import vm from 'node:vm'; import { syncBuiltinESMExports } from 'node:module'; const { Script } = vm;
vm.Script = class extends Script { constructor(...of) { super(...of); console.log('rejected', this.cachedDataRejected); } }; syncBuiltinESMExports();`;

t.test('what V8 compiled is kept by a process that runs for a while, and the next start takes it, unless it is damaged', async (t) => {
  const { path, run } = await cloneWith(t, "if (process.argv[3] === 'stay') process.stdin.resume(); else console.log('runs');");
  const env = { PATH: process.env['PATH'], NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellsTaken)}` };
  const start = async (): Promise<string> => (await run(['serve'], env)).stdout;
  t.equal(await start(), 'rejected undefined\nruns\n');
  t.equal(await start(), 'rejected undefined\nruns\n', 'one that ends at once keeps nothing');

  const kept = async (): Promise<string> => {
    const stays = spawn(process.execPath, [path('src/start.mjs'), 'serve', 'stay'], { env, stdio: ['pipe', 'ignore', 'inherit'] });
    t.teardown(() => stays.kill('SIGKILL'));
    const dist = watch(path('dist'));
    for await (const [, name] of on(dist, 'change')) if (name.endsWith('.compiled')) break;
    dist.close();
    stays.stdin.end();
    await once(stays, 'exit');
    const names = (await readdir(path('dist'))).filter((name) => name.includes('.compiled'));
    t.equal(names.length, 1);
    return path(`dist/${names[0]}`);
  };
  const file = await kept();
  t.equal(await start(), 'rejected false\nruns\n');

  const bytes = await readFile(file);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(file, bytes);
  t.equal(await start(), 'rejected undefined\nruns\n');
  await kept();
  t.equal(await start(), 'rejected false\nruns\n');

  await writeFile(path('src/cli.ts'), (await readFile(path('src/cli.ts'), 'utf8')).replace("'runs'", "'goes'"));
  const later = (await stat(path('dist/parley.mjs'))).mtimeMs / 1000 + 1;
  await utimes(path('src/cli.ts'), later, later);
  t.equal(await start(), 'rejected undefined\ngoes\n', 'another text of the same length');
});

t.test('a build that fails says so in its last line and ends with 1', async (t) => {
  const { run } = await cloneWith(t, 'const broken = (');
  const { code, stdout, stderr } = await run();
  t.same([code, stdout], [1, '']);
  t.match(stderr, /src\/cli\.ts:1:.*\nparley: the build failed\.\n$/s);
});

t.test('without the optional packages it is built all the same, and says what is missing', async (t) => {
  const folder = await temporaryFolder(t);
  for (const name of ['package.json', 'package-lock.json', 'src', 'machines']) await cp(join(root, name), join(folder, name), { recursive: true });
  await utimes(join(folder, 'package-lock.json'), 1, 1);
  const { optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { optionalDependencies: Record<string, string> };
  const left = new Set(Object.keys(optionalDependencies).map((name) => name.split('/')[0]!));
  await mkdir(join(folder, 'node_modules'));
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), '');
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (!left.has(name) && !name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  const found = await new Promise<string>((resolve) => {
    const env = { PATH: process.env['PATH'], PORT: '0' };
    execFile(process.execPath, [join(folder, 'src/start.mjs'), 'doctor', '--store', 'memory:'], { cwd: folder, env }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
  t.match(found, /^warn  voice-packages  not installed: onnxruntime-node, /m);
  t.match(found, /^warn  engine .*node:http serves instead/m);
});

t.test('packages older than the lockfile are installed, and a failure to do so is one line', async (t) => {
  const { path, run } = await cloneWith(t, '');
  const { mtimeMs } = await stat(join(root, 'node_modules/.package-lock.json'));
  await utimes(path('package-lock.json'), mtimeMs / 1000 + 1, mtimeMs / 1000 + 1);
  const { code, stderr } = await run([], { PATH: path('nowhere') });
  t.equal(code, 1);
  t.equal(stderr, 'parley: installing packages (npm ci)\nparley: npm ci failed: spawnSync npm ENOENT\n');
});

t.test('a start takes no development packages away, though a new lockfile has added one', { skip: process.platform === 'win32' && 'npm is no script there' }, async (t) => {
  const { path, run } = await cloneWith(t, '');
  const manifest = JSON.parse(await readFile(path('package.json'), 'utf8'));
  await writeFile(path('package.json'), JSON.stringify({ ...manifest, devDependencies: { ...manifest.devDependencies, 'not-there-yet': '1.0.0' } }));
  const { mtimeMs } = await stat(join(root, 'node_modules/.package-lock.json'));
  await utimes(path('package-lock.json'), mtimeMs / 1000 + 1, mtimeMs / 1000 + 1);
  await mkdir(path('bin'));
  await writeFile(path('bin/npm'), `#!/bin/sh\necho "$@" > '${path('asked')}'\n`, { mode: 0o755 });
  await run([], { PATH: `${path('bin')}:${process.env['PATH']}` });
  t.match(await readFile(path('asked'), 'utf8'), /^ci --include=dev /);
});

t.test('a Node older than package.json wants is refused', async (t) => {
  const { path, run } = await cloneWith(t, "console.log('runs');");
  const want = async (version: number[]): Promise<unknown> => {
    const manifest = JSON.parse(await readFile(path('package.json'), 'utf8'));
    await writeFile(path('package.json'), JSON.stringify({ ...manifest, engines: { node: `>=${version.join('.')}` } }));
    const { code, stdout, stderr } = await run();
    return [code, stdout, stderr];
  };
  const [major, minor, patch] = process.versions.node.split('.').map(Number) as [number, number, number];
  const newer = [[major, minor, patch + 1], [major, minor + 1, 0], [major + 1, 0, 0]];
  for (const version of newer) {
    t.same(await want(version), [1, '', `parley: Node ${version.join('.')} or newer is needed; this is ${process.versions.node}.\n`]);
  }
  for (const version of [[major, minor, patch], [major - 1, minor + 1, patch + 1]]) t.same(await want(version), [0, 'runs\n', '']);
});

t.test('`npm start` hands SIGTERM on to the server, which drains and ends with 0', async (t) => {
  const { PATH, HOME } = process.env;
  const npm = spawn('npm', ['start'], { cwd: root, env: { PATH, HOME, PORT: '0', PARLEY_STORE: 'memory:' }, stdio: ['ignore', 'pipe', 'ignore'] });
  t.teardown(() => npm.kill('SIGKILL'));
  let printed = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!printed.includes('"listening"') && (printed += text).includes('"listening"')) npm.kill('SIGTERM');
    else printed += text;
  });
  t.same(await once(npm, 'close'), [0, null]);
  t.match(printed, /"msg":"ended"/);
});

t.test('a server whose output nobody reads any more serves on and ends with 0', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  server.child.stdout!.destroy();
  for (let i = 0; i < 3; i++) t.equal((await fetch(`${server.url}/healthz`)).status, 200);
  server.child.kill('SIGTERM');
  t.same(await once(server.child, 'exit'), [0, null]);
});

t.test('a signal that comes twice at once, as to a process group under npm, is one wish to drain', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  server.child.kill('SIGTERM');
  server.child.kill('SIGINT');
  t.same(await server.ended, { code: 0, signal: null });
});
