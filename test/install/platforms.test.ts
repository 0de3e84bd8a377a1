/**
 * The start on other platforms, as far as Linux can imitate them: Windows' way to the server, Windows' variables,
 * missing native parts, and the name of another platform.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import t from 'tap';
import manifest from '../../package.json' with { type: 'json' };
import { openHouse } from '../api/house.ts';
import { begin, synthetic } from '../api/talk.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { cloneWith, linkPackages, root } from './clone.ts';

/** The files that cmd runs in place of a program of this name: those in the working folder come before `Path`. */
async function findAsCmd(name: string, env: Readonly<Record<string, string>>): Promise<string> {
  const endings = ['', ...env['PATHEXT']!.toLowerCase().split(';')];
  for (const folder of [root, ...env['Path']!.split(delimiter)])
    for (const each of await readdir(folder))
      if (endings.some((ending) => each.toLowerCase() === `${name}${ending}`)) return join(folder, each);
  throw new Error(`${name} is not in ${env['Path']}`);
}

/** The commands of a batch file without variables, quotes and operators, which would need cmd itself. */
async function commandsOf(file: string): Promise<string[][]> {
  const lines = (await readFile(file, 'utf8')).split(/\r?\n/).filter((line) => line !== '');
  const commands = lines.filter((line) => !/^@rem /i.test(line)).map((line) => line.replace(/^@/, ''));
  for (const command of commands) if (/[%^&|<>()"'!]/.test(command)) throw new Error(`cmd would read ${command}`);
  return commands.map((command) => command.split(' '));
}

t.test('cmd finds its own file for the line of `npm start`, and the server with the same flags', async (t) => {
  const [word, ...rest] = manifest.scripts.start.split(' ');
  const found = await findAsCmd(word!, { Path: '/nonexistent', PATHEXT: '.COM;.EXE;.BAT;.CMD' });
  t.equal(found, join(root, 'exec.cmd'));
  t.same(await commandsOf(found), [rest.slice(rest.indexOf('node'))]);
  t.match(manifest.scripts.build, /^node(?: [\w./-]+)+$/);
});

t.test('the server of Windows’ file answers without a shell, PATH and HOME', async (t) => {
  const folder = await temporaryFolder(t);
  await symlink(process.execPath, join(folder, 'node.EXE'));
  const env = {
    Path: folder,
    PATHEXT: '.COM;.EXE;.BAT;.CMD',
    USERPROFILE: folder,
    TEMP: folder,
    PORT: '0',
    PARLEY_STORE: 'memory:',
    PARLEY_EDGE: 'node',
  };
  const [[program, ...words]] = (await commandsOf(join(root, 'exec.cmd'))) as [string[]];
  const server = spawn(await findAsCmd(program!, env), words, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => server.kill('SIGKILL'));
  const ended = once(server, 'close');
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      const found = /http:\/\/[\w.:]+/.exec(printed);
      if (found !== null && printed.includes('"listening"')) resolve(found[0]);
    });
    ended.then(() => reject(new Error(`The server ended before it listened.\n${printed}`)), reject);
  });
  t.equal((await fetch(`${url}/readyz`)).status, 200);
  server.kill('SIGTERM');
  t.same(await ended, [0, null]);
});

/** A word for Node that gives it the name of another platform before the command is loaded. */
const asPlatform = (platform: string, arch: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(
    `for (const [name, value] of Object.entries(${JSON.stringify({ platform, arch })})) Object.defineProperty(process, name, { value });`,
  )}`;

t.test('npm is called with one line on Windows, where it is a script of the shell', async (t) => {
  const { path, run } = await cloneWith(t, '');
  const later = Date.now() / 1000 + 60;
  await utimes(path('package-lock.json'), later, later);
  await mkdir(path('bin'));
  await writeFile(path('bin/npm'), '#!/bin/sh\necho "$# $1" >&2\nexit 1\n', { mode: 0o755 });
  // Node calls it as `cmd /d /s /c "LINE"`.
  await writeFile(path('bin/cmd'), `#!/bin/sh\nline=\${4#\\"}\nexec sh -c "\${line%\\"}"\n`, { mode: 0o755 });
  const env = { PATH: `${path('bin')}:${process.env['PATH']}`, comspec: 'cmd' };
  const { code, stderr } = await run(['serve'], env, [process.execPath, asPlatform('win32', 'x64')]);
  t.equal(code, 1);
  t.notMatch(stderr, /DEP0190/);
  t.match(stderr, /parley: npm ci failed: /);
});

/** The built command beside copies of its packages with native parts, without those that `isWanted` leaves out. */
async function commandWithout(t: Owner, isWanted: (name: string) => boolean): Promise<string> {
  execFileSync(process.execPath, [join(root, 'src/install/start.mjs'), '--help'], { stdio: 'ignore' });
  const folder = await temporaryFolder(t);
  const native = ['lmdb', '@lmdb', 'msgpackr', 'msgpackr-extract', '@msgpackr-extract'];
  const copied = [...native, 'node-gyp-build-optional-packages'].filter(isWanted);
  await linkPackages(join(folder, 'node_modules'), (name) => isWanted(name) && !copied.includes(name));
  // A linked package finds its own packages at its own place, where nothing is hidden.
  for (const name of copied)
    await cp(join(root, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true });
  await mkdir(join(folder, 'dist'));
  for (const name of await readdir(join(root, 'dist')))
    if (/\.(?:mjs|cjs|css|ico)$/.test(name)) await cp(join(root, 'dist', name), join(folder, 'dist', name));
  return join(folder, 'dist', 'parley.mjs');
}

t.test('without native builds of engine and packer a server runs turns on node:http, and says so once', async (t) => {
  const command = await commandWithout(t, (name) => !/^@uwsjs$|msgpackr-extract$/.test(name));
  const env = { PARLEY_STORE: 'lmdb:./data', PARLEY_EDGE: '', PARLEY_LOG: 'info' };
  const house = await openHouse(t, { command, env });
  const { stream } = await begin(house, (await synthetic(house, 'tokens=3')).id);
  t.equal((await stream.rest()).at(-1)!.event, 'turn.completed');
  t.same(await house.stop(), { code: 0, signal: null });
  const lines = house.stdout().split('\n');
  const told = lines.filter((line) => line.includes('uWebSockets.js'));
  t.equal(told.length, 1);
  t.match(JSON.parse(told[0]!), { msg: 'uWebSockets.js does not load here: node:http serves instead' });
  t.match(house.stdout(), /\(lmdb, node\)/);
});

for (const [platform, arch] of [
  ['darwin', 'arm64'],
  ['win32', 'x64'],
  ['linux', 'arm64'],
] as const)
  t.test(`under the name of ${platform} ${arch} a server runs turns on node:http and names the platform`, async (t) => {
    const house = await openHouse(t, {
      nodeWords: [asPlatform(platform, arch)],
      env: { PARLEY_EDGE: '', PARLEY_LOG: 'info' },
    });
    const { stream } = await begin(house, (await synthetic(house, 'tokens=3')).id);
    t.equal((await stream.rest()).at(-1)!.event, 'turn.completed');
    await house.stop();
    t.match(house.stdout(), `uWebSockets.js does not load on ${platform} ${arch} with Node ${process.version}.`);
  });
