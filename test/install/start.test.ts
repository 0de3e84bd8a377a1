import { execFile, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { watch } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { temporaryFolder, type Owner } from '../folders.ts';
import { cloneWith, linkPackages, root, type Clone } from './clone.ts';
import { freePort } from '../../bench/harness/process.ts';
import { until } from '../api/talk.ts';
import { startServer } from '../process.ts';

t.test('the command is built when it is missing and runs with the arguments and its own exit code', async (t) => {
  const { run } = await cloneWith(t, 'console.log(process.argv.slice(2).join()); process.exitCode = 7 as number;');
  t.same(await run(['chat', '--json']), { code: 7, stdout: 'chat,--json\n', stderr: '' });
});

t.test('it runs in a folder whose name means something in a URL, with the native parts of its packages', async (t) => {
  const command =
    "import { open } from 'lmdb'; const store = open({ path: './data #1' }); store.putSync('key', process.argv[2]); console.log(store.get('key'));";
  const { path } = await cloneWith(t, command);
  // A package that is linked is found at its own place, so those with native parts are copied.
  await rm(path('node_modules'));
  await linkPackages(path('node_modules'), (name) => name !== 'lmdb' && name !== '@lmdb');
  for (const name of ['lmdb', '@lmdb'])
    await cp(join(root, 'node_modules', name), path(`node_modules/${name}`), { recursive: true });
  const parent = await temporaryFolder(t);
  let folder = path('.');
  const runsIn = async (name: string, verb: string): Promise<void> => {
    await rename(folder, join(parent, name));
    folder = join(parent, name);
    const [error, stdout, stderr] = await new Promise<unknown[]>((resolve) => {
      execFile(
        process.execPath,
        [join(folder, 'src/install/start.mjs'), verb],
        { cwd: folder, env: { PATH: process.env['PATH'] } },
        (...results) => resolve(results),
      );
    });
    t.same([error, stdout, stderr], [null, `${verb}\n`, ''], `${verb} in ${JSON.stringify(name)}`);
  };
  const names = ['a#b', 'a?b', 'a%20b', '50% off', '%zz', 'a b', 'ä 中', "it's [1] {2}", 'a '];
  // A server finds its packages in one of two ways, by the name; a command always in the same.
  for (const name of names) await runsIn(name, 'serve');
  for (const name of ['a#b?c%20d', names.join('')]) await runsIn(name, 'chat');
});

t.test('it is built again after a change, and only then', async (t) => {
  const { path, run } = await cloneWith(t, "console.log('first');");
  await run();
  const built = await stat(path('dist/parley.mjs'));
  t.equal((await run()).stdout, 'first\n');
  t.equal((await stat(path('dist/parley.mjs'))).ino, built.ino, 'the same bundle');
  await writeFile(path('src/cli/cli.ts'), "console.log('second');");
  const later = built.mtimeMs / 1000 + 1;
  await utimes(path('src/cli/cli.ts'), later, later);
  t.equal((await run()).stdout, 'second\n');
});

/** Positions of a program that may hold characters beyond ASCII; `@` is a backtick. */
const characters = String.raw`
const tag = (parts: TemplateStringsArray): string => parts.join();
const seen = [tag@é · 😀@, tag@\· \\·@, @–@, '÷', /^[×·]$/.source.length, ['×', '·', 'Ã', 'Â'].map((one) => /^[×·]$/.test(one)), /^[😀-😂]$/u.test('😁'), /^\·$/.test('·'), { 'ключ': 1 }['ключ'], (/* · */ 2)];
console.log(JSON.stringify(seen));`.replaceAll('@', '`');

t.test('characters beyond ASCII are what the source has, wherever they stand in it', async (t) => {
  const { path, run } = await cloneWith(t, characters);
  const said = (await run(['chat'])).stdout;
  const seen = JSON.parse(said);
  t.same([seen[0], seen[1], ...seen.slice(5)], ['é · 😀', '· \\·', [true, true, false, false], true, true, 1, 2]);
  // The two may differ only in the spelling of a regular expression.
  const served = JSON.parse((await run(['serve'])).stdout);
  t.same(served.toSpliced(4, 1), seen.toSpliced(4, 1), 'the server runs from another form of the program');
  t.notMatch(await readFile(path('dist/server.cjs'), 'latin1'), /[^\0-\x7f]/, 'which is ASCII alone, as it is read');
});

/** Prints for each script that it runs whether V8 rejected the cached code: 'undefined' where none was offered. */
const tellsTaken = `import vm from 'node:vm'; import { syncBuiltinESMExports } from 'node:module'; const { Script } = vm;
vm.Script = class extends Script { constructor(...of) { super(...of); console.log('rejected', this.cachedDataRejected); } }; syncBuiltinESMExports();`;

t.test(
  'what V8 compiled is kept by a process that runs for a while, and the next start takes it, unless it is damaged',
  async (t) => {
    const { path, run } = await cloneWith(
      t,
      "if (process.argv[3] === 'stay') process.stdin.resume(); else console.log('runs');",
    );
    const env = {
      PATH: process.env['PATH'],
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellsTaken)}`,
    };
    const start = async (): Promise<string> => (await run(['serve'], env)).stdout;
    t.equal(await start(), 'rejected undefined\nruns\n');
    t.equal(await start(), 'rejected undefined\nruns\n', 'one that ends at once keeps nothing');

    const kept = async (): Promise<string> => {
      const stays = spawn(process.execPath, [path('src/install/start.mjs'), 'serve', 'stay'], {
        env,
        stdio: ['pipe', 'ignore', 'inherit'],
      });
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

    await writeFile(
      path('src/cli/cli.ts'),
      (await readFile(path('src/cli/cli.ts'), 'utf8')).replace("'runs'", "'goes'"),
    );
    const later = (await stat(path('dist/parley.mjs'))).mtimeMs / 1000 + 1;
    await utimes(path('src/cli/cli.ts'), later, later);
    t.equal(await start(), 'rejected undefined\ngoes\n', 'another text of the same length');
  },
);

/**
 * Prints the mark of what V8 takes as compiled for it, and the most that its young generation had while much lived in
 * it, in MB.
 */
const tellsYoung = `import { cachedDataVersionTag, getHeapSpaceStatistics } from 'node:v8';
  let most = 0;
  for (let round = 0, held: object[] = []; round < 40; round++, held = []) {
    while (held.length < 100_000) held.push({ round });
    most = Math.max(most, ...getHeapSpaceStatistics().filter((space) => space.space_name === 'new_space').map((space) => space.space_size));
  }
  console.log(cachedDataVersionTag(), most / 2 ** 20);`;

t.test(
  'the flags of `npm start` bound the young generation, and V8 takes what was compiled without them',
  async (t) => {
    const { path, run } = await cloneWith(t, tellsYoung);
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      scripts: { start: string };
    };
    const flags = scripts.start.split(' ').filter((word) => word.startsWith('--'));
    const [tag, unbounded] = (await run(['serve'])).stdout.split(' ') as [string, string];
    t.ok(Number(unbounded) > 16, `${unbounded} MB without a bound`);
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, path('src/install/start.mjs'), 'serve']);
    const [tagged, bounded] = stdout.split(' ') as [string, string];
    t.equal(tagged, tag);
    t.ok(Number(bounded) <= 16, `${bounded} MB in two halves of 8`);
  },
);

t.test('a build that fails says so in its last line and ends with 1', async (t) => {
  const { run } = await cloneWith(t, 'const broken = (');
  const { code, stdout, stderr } = await run();
  t.same([code, stdout], [1, '']);
  t.match(stderr, /src\/cli\/cli\.ts:1:.*\nparley: the build failed\.\n$/s);
});

t.test('without the optional packages it is built all the same, and says what is missing', async (t) => {
  const folder = await temporaryFolder(t);
  for (const name of ['package.json', 'package-lock.json', 'src', 'machines'])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await utimes(join(folder, 'package-lock.json'), 1, 1);
  const { optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  const left = new Set(Object.keys(optionalDependencies).map((name) => name.split('/')[0]!));
  await linkPackages(join(folder, 'node_modules'), (name) => !left.has(name) && !name.startsWith('.'));
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), '');
  const found = await new Promise<string>((resolve) => {
    const env = { PATH: process.env['PATH'], PORT: '0' };
    execFile(
      process.execPath,
      [join(folder, 'src/install/start.mjs'), 'doctor', '--store', 'memory:'],
      { cwd: folder, env },
      (_, stdout, stderr) => resolve(stdout + stderr),
    );
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

t.test(
  'a start takes no development packages away, though a new lockfile has added one',
  { skip: process.platform === 'win32' && 'npm is no script there' },
  async (t) => {
    const { path, run } = await cloneWith(t, '');
    const manifest = JSON.parse(await readFile(path('package.json'), 'utf8'));
    await writeFile(
      path('package.json'),
      JSON.stringify({ ...manifest, devDependencies: { ...manifest.devDependencies, 'not-there-yet': '1.0.0' } }),
    );
    const { mtimeMs } = await stat(join(root, 'node_modules/.package-lock.json'));
    await utimes(path('package-lock.json'), mtimeMs / 1000 + 1, mtimeMs / 1000 + 1);
    await mkdir(path('bin'));
    await writeFile(path('bin/npm'), `#!/bin/sh\necho "$@" > '${path('asked')}'\n`, { mode: 0o755 });
    await run([], { PATH: `${path('bin')}:${process.env['PATH']}` });
    t.match(await readFile(path('asked'), 'utf8'), /^ci --include=dev /);
  },
);

t.test(
  'a build adds the development packages and replaces none of those that a server runs on',
  { skip: process.platform === 'win32' && 'npm is no script there' },
  async (t) => {
    const { path, env } = await staleClone(t);
    for (const name of ['src/install/build.mjs', 'src/install/pack-client.mjs'])
      await copyFile(join(root, name), path(name));
    await writeFile(path('node_modules/.package-lock.json'), '');
    await writeFile(
      path('package.json'),
      JSON.stringify({
        ...JSON.parse(await readFile(path('package.json'), 'utf8')),
        devDependencies: { 'not-there-yet': '1.0.0' },
      }),
    );
    await writeFile(path('bin/npm'), `#!/bin/sh\necho "$@" > '${path('asked')}'\nexit 1\n`, { mode: 0o755 });
    const ended = await new Promise((resolve) =>
      execFile(process.execPath, [path('src/install/build.mjs')], { env }, (error, _, stderr) =>
        resolve([error?.code, stderr]),
      ),
    );
    t.same(ended, [
      1,
      'parley: adding the development packages (npm install)\nparley: npm install failed: it gave no reason\n',
    ]);
    t.match(await readFile(path('asked'), 'utf8'), /^install --no-save --include=dev /);
  },
);

/**
 * A clone whose packages are older than its lockfile, and an npm that says in `asked` that it was, waits for `go` to be
 * written to, and has them current then.
 */
async function staleClone(t: Owner): Promise<Clone & { readonly env: NodeJS.ProcessEnv }> {
  const clone = await cloneWith(t, "console.log('runs');");
  const { path } = clone;
  await rm(path('node_modules'));
  await linkPackages(path('node_modules'), (name) => !name.startsWith('.'));
  await mkdir(path('bin'));
  await promisify(execFile)('mkfifo', [path('go')]);
  await writeFile(path('bin/npm'), '#!/bin/sh\necho asked >> asked\ncat go\necho > node_modules/.package-lock.json\n', {
    mode: 0o755,
  });
  return { ...clone, env: { PATH: `${path('bin')}:${process.env['PATH']}` } };
}

t.test(
  'one of several starts at once installs the packages, and the others wait and say so',
  { skip: process.platform === 'win32' && 'npm is no script there' },
  async (t) => {
    const { path, env } = await staleClone(t);
    const start = () => {
      const child = spawn(process.execPath, [path('src/install/start.mjs')], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.teardown(() => child.kill('SIGKILL'));
      const said = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text));
      return { child, said, begun: once(child.stderr, 'data'), ended: once(child, 'close') };
    };
    const first = start();
    await first.begun;
    t.equal(first.said.stderr, 'parley: installing packages (npm ci)\n');
    const others = [start(), start()];
    for (const { begun, said } of others) {
      await begun;
      t.equal(
        said.stderr,
        `parley: waiting for process ${first.child.pid}, which installs packages (if it does not: remove ${path('dist/installing')})\n`,
      );
    }
    await writeFile(path('go'), '');
    for (const { ended, said } of [first, ...others]) {
      t.same(await ended, [0, null]);
      t.equal(said.stdout, 'runs\n');
    }
    t.equal(await readFile(path('asked'), 'utf8'), 'asked\n');
    t.same(
      (await readdir(path('dist'))).filter((name) => name.includes('installing')),
      [],
      'and nothing is left of it',
    );
  },
);

t.test(
  'an install skips a process that died while it installed',
  { skip: process.platform === 'win32' && 'npm is no script there' },
  async (t) => {
    const { path, run, env } = await staleClone(t);
    const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(dead, 'exit');
    await mkdir(path('dist/installing'), { recursive: true });
    await writeFile(path(`dist/installing/${dead.pid}`), '');
    const [ran] = await Promise.all([run([], env), writeFile(path('go'), '')]);
    t.same(ran, { code: 0, stdout: 'runs\n', stderr: 'parley: installing packages (npm ci)\n' });
  },
);

t.test(
  'an install skips a process that has the id of one that died while it installed',
  { skip: process.platform !== 'linux' && 'when a process began is not known there' },
  async (t) => {
    const { path, run, env } = await staleClone(t);
    await mkdir(path('dist/installing'), { recursive: true });
    await writeFile(path(`dist/installing/${process.pid}-1`), '');
    const [ran] = await Promise.all([run([], env), writeFile(path('go'), '')]);
    t.same(ran, { code: 0, stdout: 'runs\n', stderr: 'parley: installing packages (npm ci)\n' });
  },
);

t.test('a Node older than package.json wants is refused', async (t) => {
  const { path, run } = await cloneWith(t, "console.log('runs');");
  const want = async (version: number[]): Promise<unknown> => {
    const manifest = JSON.parse(await readFile(path('package.json'), 'utf8'));
    await writeFile(path('package.json'), JSON.stringify({ ...manifest, engines: { node: `>=${version.join('.')}` } }));
    const { code, stdout, stderr } = await run();
    return [code, stdout, stderr];
  };
  const [major, minor, patch] = process.versions.node.split('.').map(Number) as [number, number, number];
  const newer = [
    [major, minor, patch + 1],
    [major, minor + 1, 0],
    [major + 1, 0, 0],
  ];
  for (const version of newer) {
    t.same(await want(version), [
      1,
      '',
      `parley: Node ${version.join('.')} or newer is needed; this is ${process.versions.node}.\n`,
    ]);
  }
  for (const version of [
    [major, minor, patch],
    [major - 1, minor + 1, patch + 1],
  ])
    t.same(await want(version), [0, 'runs\n', '']);
});

t.test('`npm start` hands SIGTERM on to the server, which drains and ends with 0', async (t) => {
  const { PATH, HOME } = process.env;
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH, HOME, PORT: '0', PARLEY_STORE: 'memory:' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => npm.kill('SIGKILL'));
  let printed = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!printed.includes('"listening"') && (printed += text).includes('"listening"')) npm.kill('SIGTERM');
    else printed += text;
  });
  t.same(await once(npm, 'close'), [0, null]);
  t.match(printed, /"msg":"ended"/);
});

t.test(
  'a server without a reader of its output continues, and takes two signals at once as one request to drain',
  async (t) => {
    const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
    server.child.stdout!.destroy();
    for (let i = 0; i < 3; i++) t.equal((await fetch(`${server.url}/healthz`)).status, 200);
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    t.same(await once(server.child, 'exit'), [0, null]);
  },
);

t.test('a server continues with unread output', async (t) => {
  const [port, { PATH, HOME }] = [await freePort(), process.env];
  const server = spawn(process.execPath, [join(root, 'src/install/start.mjs'), 'serve'], {
    cwd: root,
    env: { PATH, HOME, PORT: String(port), PARLEY_STORE: 'memory:' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.teardown(() => server.kill('SIGKILL'));
  server.stdout.destroy();
  const ended = once(server, 'exit');
  await until(
    async () => server.exitCode !== null || (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null))?.ok,
  );
  server.kill('SIGTERM');
  t.same([server.exitCode, await ended], [null, [0, null]], 'it serves until it is to end');
});
