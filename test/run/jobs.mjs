/** The jobs of a test run: a file whose outcome depends on the store runs on each store. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { PrepareError, root } from '../../src/install/prepare.mjs';
import { bundleTogether } from '../bundle.mjs';
import { oftenStrict, strictNames } from '../providers/strict/names.mjs';

/**
 * Tests of the API that run on Redis as well: they depend on more than the single steps of a store, which its contract
 * and the differential test hold to be the same on all. `PARLEY_TEST_STORE=redis` before a command does the same for
 * any other.
 */
const onRedis = new Set(
  ['crash', 'drain', 'expiry', 'idempotency', 'limits', 'resume', 'test-runs', 'webhook-events'].map(
    (name) => `test/api/${name}.test.ts`,
  ),
);

/**
 * Tests of tools that run at strict providers as well, where they ask for the synthetic one: each at one of two, or at
 * every one with `PARLEY_TEST_PROVIDERS=all` before the command. `PARLEY_TEST_PROVIDER=Mistral` does the same for any other
 * file.
 */
const onStrict = new Set([
  ...['tools', 'tool-results', 'tools-mcp', 'side-effects', 'openai', 'openai-history', 'responses'].map(
    (name) => `test/api/${name}.test.ts`,
  ),
  'test/client/tools.test.ts',
]);

const table = join(root, 'test', 'run', 'times.json');

/** Supposed of a file that was never measured: it may take long, so it does not begin last. */
const unmeasured = [20, 5];

/** The test files that an argument names: one file, or all within a folder. */
export function filesOf(argument) {
  const path = relative(root, resolve(root, argument)).replaceAll('\\', '/');
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  if (found?.isFile() && path.endsWith('.test.ts')) return [path];
  const files = found?.isDirectory()
    ? readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'))
    : [];
  if (files.length === 0) throw new PrepareError(`${argument}: no test file there`);
  return files.map((name) => join(path, name).replaceAll('\\', '/')).toSorted();
}

/** Modules of what must not be shared: processes, threads, and the heap, whose snapshot has all that the process loaded. */
const unshared = /^node:(?:child_process|cluster|worker_threads|v8)$|\/@tapjs\/redis\.mjs$/;

/** Modules that start servers, commands and browsers, which end with their test. */
const starters = [
  ...['test/process.ts', 'test/api/house.ts', 'test/cli/support.ts', 'test/store/redis-server.ts', 'test/browser.ts'],
];

/** Folders whose suites may share a process all the same, if they start nothing else. */
const served = [
  ...['test/api', 'test/cli', 'test/client', 'test/hostile', 'test/secrets', 'test/store'],
  ...['test/operations/doctor', 'test/operations/moving', 'test/pages/link', 'test/providers/voice'],
];

/** The engines of their servers, in turn. */
const engines = ['uws', 'node'];

/** Maximum number of files that share a process, so that both cores have some at the end. */
const sharingMax = 12;

/** Seconds, and of CPU time, of files that share none: what they would save is little, and others run beside them. */
const alone = [30, 8];

/**
 * Whether a file may share its process: it starts only servers, and changes nothing global. Loading Node, tap and the
 * source takes longer than most files run.
 */
function isSharing(file, inputs) {
  const reached = new Set([file]);
  const isServed = (path) => served.includes(dirname(file)) && starters.includes(path);
  // The source starts nothing as it is loaded.
  const isFollowed = (path) => !path.startsWith('src/') && !isServed(path);
  for (const path of reached)
    if (isFollowed(path)) for (const { path: used } of inputs[path]?.imports ?? []) reached.add(used);
  return (
    ![...reached].some((path) => unshared.test(path)) &&
    !/(?<!\/)\bprocess\.|'node:module'|^t\.(?!test\b)/m.test(readFileSync(join(root, file), 'utf8'))
  );
}

/**
 * Tests that parse the whole source, which one process does once. The first comes first: it watches what modules do as
 * they load.
 */
const parsing = ['test/linear/expressions.test.ts', 'test/lifecycle.test.ts', 'test/tidy.test.ts'];

/** Groups of files that share a process: tests that parse the source, and files of one folder, a few at a time. */
function groupsOf(all, inputs, times) {
  const ofSource = parsing.filter((file) => all.includes(file));
  const files = ofSource.length > 1 ? all.filter((file) => !ofSource.includes(file)) : all;
  const isLong = (file) => times[file]?.some((seconds, index) => seconds >= alone[index]);
  const groups = [{ name: 'test/ on the source', files: ofSource, env: {} }];
  for (const folder of new Set(files.map((file) => dirname(file)))) {
    const sharing = files.filter((file) => dirname(file) === folder && !isLong(file) && isSharing(file, inputs));
    const count = Math.ceil(sharing.length / sharingMax);
    for (let index = 0; index < count; index++)
      groups.push({
        name: `${folder}/ ${index + 1} of ${count}`,
        files: sharing.filter((_, place) => place % count === index),
        env: { PARLEY_TEST_EDGE: engines[index % 2] },
      });
  }
  return groups.filter(({ files }) => files.length > 1);
}

/** Tests of tools at strict providers, in a process for each provider: every file at one of two, or at all. */
function strictGroupsOf(files) {
  const ofTools = files.filter((file) => onStrict.has(file));
  const isAll = process.env['PARLEY_TEST_PROVIDERS'] === 'all';
  const names = isAll ? strictNames : oftenStrict;
  return names
    .map((strict, index) => ({
      name: `test/api/ at ${strict}`,
      files: ofTools.filter((_, place) => isAll || place % names.length === index),
      env: { PARLEY_TEST_PROVIDER: strict, PARLEY_TEST_EDGE: engines[index % 2] },
    }))
    .filter(({ files }) => files.length > 0);
}

/** The jobs of the files, whose bundles are given in the same order, with what each module imports. */
export function jobsOf(files, { bundles, inputs }) {
  const times = JSON.parse(readFileSync(table, 'utf8'));
  const job = (name, bundle, more) => {
    const [seconds, cpuSeconds] = times[name] ?? unmeasured;
    return { name, bundle, env: {}, seconds, cpuSeconds, ...more };
  };
  const bundleOf = (file) => bundles[files.indexOf(file)];
  const groups = groupsOf(files, inputs, times);
  const shared = new Set(groups.flatMap(({ files }) => files));
  return [
    ...[...groups, ...strictGroupsOf(files)].map(({ name, files, env }) =>
      job(
        name,
        bundleTogether(
          name,
          files.map((file) => ({ file, bundle: bundleOf(file) })),
        ),
        { files, env },
      ),
    ),
    ...files.filter((file) => !shared.has(file)).map((file) => job(file, bundleOf(file))),
    ...files
      .filter((file) => onRedis.has(file))
      .map((file) => job(`${file} on Redis`, bundleOf(file), { env: { PARLEY_TEST_STORE: 'redis' } })),
  ];
}

/**
 * Writes down how long each took, for the order of later runs; what did not run keeps its times. A run of all files
 * removes the rows of jobs that no longer exist.
 */
export function keepTimes(taken, jobs, { isWhole }) {
  const names = new Set(jobs.map(({ name }) => name));
  const exists = (name) => (isWhole ? names.has(name) : existsSync(join(root, name.split(' ')[0])));
  const before = Object.entries(JSON.parse(readFileSync(table, 'utf8'))).filter(([name]) => exists(name));
  const rows = Object.entries({ ...Object.fromEntries(before), ...taken }).toSorted(([, [a]], [, [b]]) => b - a);
  writeFileSync(
    table,
    `{\n${rows.map(([name, times]) => `  ${JSON.stringify(name)}: [${times.map((time) => time.toFixed(1)).join(', ')}]`).join(',\n')}\n}\n`,
  );
}
