/**
 * Prepares a clone to run: checks the version of Node, installs the packages, builds the bundle. Each is made only
 * when it is missing or stale, and a check that finds nothing to do reads a few file times. Plain JavaScript that loads
 * nothing but Node itself, since on a fresh clone there is nothing else.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inTurn } from './turns.mjs';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const inRoot = (...names) => join(root, ...names);
const bundle = inRoot('dist', 'parley.mjs');
const commands = inRoot('dist', 'commands.mjs');
const server = inRoot('dist', 'server.cjs');
const installing = inRoot('dist', 'installing');
const loader = new URL('./load.mjs', import.meta.url);

/** Location of the built command, as `import` expects it. */
export const bundleUrl = pathToFileURL(bundle).href;

/** Packages of the embedded voice and of traces. A bundle must build where they are not installed. */
const optional = [
  'onnxruntime-node',
  'llama-tokenizer-js',
  '@bjorn3/browser_wasi_shim',
  '@evan/opus',
  'wasm-media-encoders',
  '@opentelemetry/*',
];

/** Files in the folder of the script that requires them. */
const redisFile = './redis.cjs';
const openidFile = './openid-client.cjs';

/** Parts of prom-client, from the root: in place of the whole package. */
const promClient = './src/install/prom-client.cjs';

/** Packages left outside the bundle: they load native parts from beside themselves. The rest starts faster inside. */
const unbundled = ['lmdb', 'msgpackr', ...optional];

/** Something that the person at the terminal can mend: one line, without a stack. */
export class PrepareError extends Error {}

const manifest = () => JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
const installed = (names) =>
  Object.keys(names).every((name) => existsSync(inRoot('node_modules', name, 'package.json')));

/** Refuses a Node older than package.json's `engines` says. */
export function checkNode() {
  const running = process.versions.node;
  const wanted = manifest().engines.node;
  const numbers = (version) =>
    version
      .replace(/[^\d.]/g, '')
      .split('.')
      .map(Number);
  const [have, need] = [numbers(running), numbers(wanted)];
  const place = need.findIndex((number, index) => number !== have[index]);
  if (place >= 0 && have[place] < need[place])
    throw new PrepareError(`Node ${wanted.replace('>=', '')} or newer is needed; this is ${running}.`);
}

/**
 * Installs the packages when they are missing or older than the lockfile. The development packages come along when
 * asked for, or when they were there before, so that starting the server never takes a developer's tools away. One
 * process does so at a time, and those that waited for it find the packages there.
 */
export async function install({ development }) {
  if (isInstalled(development)) return;
  const waits = (holder) =>
    process.stderr.write(
      `parley: waiting for process ${holder}, which installs packages (if it does not: remove ${installing})\n`,
    );
  await inTurn(installing, waits, () => isInstalled(development) || installAnew(development)).catch((error) => {
    // A clone that may not be written to.
    throw error.code === undefined ? error : new PrepareError(`no packages can be installed: ${error.message}`);
  });
}

function isInstalled(development) {
  const { devDependencies } = manifest();
  return isCurrent() && (!development || installed(devDependencies));
}

/** Whether the packages of a server are there, as the lockfile has them. */
function isCurrent() {
  return (
    modified(inRoot('node_modules', '.package-lock.json')) >= modified(inRoot('package-lock.json')) &&
    installed(manifest().dependencies)
  );
}

async function installAnew(development) {
  // A server may run on the packages that are there: `npm ci` would take them away first.
  if (development && isCurrent())
    return runNpm('adding the development packages', 'install', '--no-save', '--include=dev');
  const { devDependencies } = manifest();
  // One of them is enough: those that a new lockfile has added cannot be there yet.
  const all = development || Object.keys(devDependencies).some((name) => installed({ [name]: '' }));
  return runNpm('installing packages', 'ci', all ? '--include=dev' : '--omit=dev');
}

async function runNpm(doing, command, ...options) {
  const { spawnSync } = await import('node:child_process');
  process.stderr.write(`parley: ${doing} (npm ${command})\n`);
  const args = [
    command,
    ...options,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ];
  // Windows runs npm in a shell, which takes one line.
  const isScript = process.platform === 'win32';
  const npm = spawnSync(isScript ? ['npm', ...args].join(' ') : 'npm', isScript ? [] : args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    shell: isScript,
  });
  if (npm.status !== 0) throw new PrepareError(`npm ${command} failed: ${npm.error?.message ?? reasonOf(npm.stderr)}`);
}

/** npm reports a failure in many lines: the first few name it, the last ones only its log file. */
function reasonOf(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim());
  return (
    lines
      .filter((line) => line !== '' && !/^(errno|syscall|A complete log)\b/.test(line))
      .slice(0, 2)
      .join(', ') || 'it gave no reason'
  );
}

/** Bundles the command into dist/ when a source file or the lockfile is newer than the last build. */
export async function build() {
  const sources = newest(inRoot('src'), newest(inRoot('machines'), modified(inRoot('package-lock.json'))));
  if (modified(bundle) >= sources) return;
  const { buildSync } = await import('esbuild');
  let outputs;
  try {
    // The pages are built by esbuild's own process while this one waits for the bundles.
    const pages = existsSync(inRoot('src', 'pages', 'console'))
      ? Promise.all([
          import('./prepare-pages.mjs').then(({ buildPages }) => buildPages(root)),
          import('./prepare-widget.mjs').then(({ buildWidget }) => buildWidget(root)),
        ])
      : null;
    pages?.catch(() => {});
    outputs = [modules, script, redisScript, openidScript].flatMap((how) => buildSync(how).outputFiles);
    await pages;
  } catch {
    throw new PrepareError('the build failed.');
  }
  for (const [, , to] of beside) mkdirSync(join(dirname(bundle), to), { recursive: true });
  // The bundle is as old as its newest source, so that a file edited during the build counts as newer. Rounded up: a
  // file's time is finer than ours.
  const stamp = (Math.ceil(sources) + 1) / 1000;
  // Writes each file under another name and renames it, so that a process that starts meanwhile reads the old bundle
  // or the new one: chunks come before the scripts that load them; the file whose date shows the bundle's age comes
  // last. Chunks of earlier builds stay for processes that still run them.
  const entries = outputs.filter(({ path }) => path === commands);
  const parts = outputs
    .filter(({ path }) => path !== commands)
    .map((file) => (file.path === server ? { path: server, contents: asciiOf(file.text) } : file));
  for (const { path, contents } of [
    ...texts(),
    ...parts,
    ...entries,
    { path: bundle, contents: readFileSync(loader) },
  ]) {
    const unfinished = join(dirname(path), `.${process.pid}.${basename(path)}`);
    writeFileSync(unfinished, contents);
    utimesSync(unfinished, stamp, stamp);
    renameSync(unfinished, path);
  }
}

/**
 * The same script without a character beyond ASCII, as `load.mjs` reads it. esbuild escapes such characters in
 * strings, but leaves tagged templates and regular expressions, since `String.raw` and `source` would show the
 * difference.
 */
export const asciiOf = (script) =>
  script.replace(/\\[\0-\x7f]|\\?[^\0-\x7f]/g, (found) => {
    const unit = found.charCodeAt(found.length - 1);
    return unit < 0x80 ? found : `\\u${unit.toString(16).padStart(4, '0')}`;
  });

/**
 * Files that a module reads from beside itself, and so from beside the bundle: their folder, how their names end, and
 * where they go.
 */
const beside = [
  [inRoot('src', 'pages'), 'palette.css', '.'],
  [inRoot('src', 'pages'), 'favicon.ico', '.'],
  [inRoot('src', 'store', 'redis', 'steps'), '.lua', 'steps'],
  [inRoot('src', 'store', 'redis', 'steps', 'includes'), '.lua', join('steps', 'includes')],
];

const texts = () =>
  beside.flatMap(([folder, ending, to]) => {
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(ending)) : [];
    return names.map((name) => ({ path: join(dirname(bundle), to, name), contents: readFileSync(join(folder, name)) }));
  });

const common = {
  absWorkingDir: root,
  outdir: dirname(bundle),
  write: false,
  bundle: true,
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  external: unbundled,
  alias: { 'prom-client': promClient },
  logLevel: 'error',
};

/** Modules: a command loads only those that it needs. */
const modules = {
  ...common,
  entryPoints: { commands: 'src/cli/cli.ts', voice: 'src/providers/voice/engine/main.ts' },
  outExtension: { '.js': '.mjs' },
  chunkNames: 'chunk-[hash]',
  splitting: true,
  format: 'esm',
  // Packages written for CommonJS ask for Node's own modules by `require`, which a module does not have.
  banner: {
    js: "import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);",
  },
};

/**
 * The same as one script, whose value is a function of its imports, so that `load.mjs` can keep V8's compiled code of
 * it.
 */
const script = {
  ...common,
  entryPoints: { server: 'src/cli/cli.ts' },
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // A script has no `import`; it loads modules outside the bundle by `require`.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'urlOfBundle' },
  banner: {
    js: "(function (require, __filename) { 'use strict'; const urlOfBundle = require('node:url').pathToFileURL(__filename).href, module = { exports: {} };",
  },
  footer: { js: '})' },
  // Half of the script would be the client of Redis and the packages of MCP, in memory also where none is used.
  alias: { ...common.alias, redis: redisFile, 'openid-client': openidFile },
  external: [...unbundled, redisFile, openidFile, '@modelcontextprotocol/server'],
};

/** The client of Redis for `script`, which requires it when the store is one. */
const redisScript = { ...common, entryPoints: { redis: 'redis' }, outExtension: { '.js': '.cjs' }, format: 'cjs' };

/** The client of OpenID Connect likewise, whose package has modules alone: not every Node requires those. */
const openidScript = {
  ...common,
  entryPoints: { 'openid-client': 'openid-client' },
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
};

/** The newest modification time in a folder, folders included, because a file taken away changes only its folder. */
export function newest(folder, least) {
  let time = Math.max(least, modified(folder));
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    time = entry.isDirectory() ? newest(path, time) : Math.max(time, modified(path));
  }
  return time;
}

/**
 * Runs all of it. A fault that a person can mend ends the process with one line; any other is a defect and keeps its
 * stack.
 */
export async function prepare({ development }) {
  try {
    checkNode();
    await install({ development });
    await build();
  } catch (error) {
    giveUp(error);
  }
}

export function giveUp(error) {
  if (!(error instanceof PrepareError)) throw error;
  process.stderr.write(`parley: ${error.message}\n`);
  process.exit(1);
}
