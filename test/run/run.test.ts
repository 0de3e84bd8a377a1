/** The report of `npm test` on a file: no failure in one may look like success. And the order in which files run. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { root } from '../../src/install/prepare.mjs';
import { bundlePackages, bundleTogether, moduleOf } from '../bundle.mjs';
import { temporaryFolder } from '../folders.ts';
import { oftenStrict, strictNames } from '../providers/strict/names.mjs';
import { runFile } from './file.mjs';
import { jobsOf } from './jobs.mjs';
import { runAll, secondsOf } from './pool.mjs';

interface Example {
  readonly source: string;
  /** Assertions passed, failed and skipped. */
  readonly counts: readonly [number, number, number];
  /** The lines of its output, in order. */
  readonly lines: readonly RegExp[];
  /** True if its time ends as soon as it has made a file `begun` in its folder. */
  readonly isLate?: true;
}

const begins = `(await import('node:fs')).writeFileSync(new URL('begun', import.meta.url), '');`;

const examples: Readonly<Record<string, Example>> = {
  'assertions in subtests count, and what is skipped is told with its reason': {
    source: `t.ok(1); t.test('a', async (t) => { t.ok(1); await t.test('b', async (t) => { t.ok(1); }); }); t.test('c', { skip: 'no c' }, () => {});`,
    counts: [3, 0, 1],
    lines: [/^skipped example > c: no c$/],
  },
  'a failure is told by its whole name, with where it is': {
    source: `t.test('a', async (t) => { t.ok(1); await t.test('b', async (t) => { t.equal(1, 2, 'one is two'); }); });`,
    counts: [1, 1, 0],
    lines: [/^not ok example > a > b > one is two\n[^]*example\.mjs:2/],
  },
  'a file that skips itself': {
    source: `t.plan(0, 'no Redis'); process.exit(0);`,
    counts: [0, 0, 1],
    lines: [/^skipped example: no Redis$/],
  },
  'a file without an assertion': { source: '', counts: [0, 1, 0], lines: [/it made no assertion/] },
  'a file that does not load': { source: `t.ok(`, counts: [0, 1, 0], lines: [/it ended with 1/] },
  'a throw between tests': { source: `t.ok(1); throw new Error('boo');`, counts: [1, 1, 0], lines: [/boo/] },
  'a promise that rejects with nobody waiting': {
    source: `t.test('a', (t) => { t.ok(1); Promise.reject(new Error('lost')); setImmediate(() => t.end()); });`,
    counts: [1, 1, 0],
    lines: [/lost/],
  },
  'a throw with nobody waiting belongs to the test that runs, and those after it run': {
    source: `t.test('a', async (t) => { t.ok(1); await t.test('b', (t) => { t.ok(1); setImmediate(() => { throw new Error('lost'); }); }); }); t.test('c', async (t) => { t.ok(1); });`,
    counts: [3, 1, 0],
    lines: [/example > a > b > lost/],
  },
  'an end before the tests are over': {
    source: `t.test('a', async (t) => { t.ok(1); process.exit(0); });`,
    counts: [1, 1, 0],
    lines: [/test unfinished/],
  },
  'an end with a code of its own': {
    source: `t.ok(1); process.on('exit', () => { process.exitCode = 3; });`,
    counts: [1, 1, 0],
    lines: [/it ended with 3/],
  },
  'an end by a signal': {
    source: `t.ok(1); process.kill(process.pid, 'SIGKILL');`,
    counts: [1, 1, 0],
    lines: [/it ended with SIGKILL/],
  },
  'a test that waits for what never comes': {
    source: `t.test('a', async (t) => { t.ok(1); await new Promise(() => {}); });`,
    counts: [1, 1, 0],
    lines: [/a > test unfinished/],
  },
  'a file that has run out of time': {
    source: `t.test('a', async (t) => { t.ok(1); setTimeout(() => process.exit(), 1e6); ${begins} await new Promise(() => {}); });`,
    counts: [1, 1, 0],
    lines: [/a > timeout!/],
    isLate: true,
  },
  'a file that does not notice the time': {
    source: `t.ok(1); ${begins} Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
    counts: [1, 1, 0],
    lines: [/it ended with SIGKILL/],
    isLate: true,
  },
};

await bundlePackages(['tap']);

const quiet = { graceSeconds: 5, stderr: 'ignore' };
/** A machine that is never idle. */
const watchIdle = () => () => {};
const never = (): Promise<void> => new Promise(() => {});

/** Resolves once a file is there. */
async function made(path: string, signal: AbortSignal): Promise<void> {
  while (!existsSync(path)) await delay(50, undefined, { signal });
}

for (const [name, { source, counts, lines, isLate }] of Object.entries(examples)) {
  t.test(name, async (t) => {
    const folder = await temporaryFolder(t);
    const bundle = join(folder, 'example.mjs');
    await writeFile(bundle, `import t from ${JSON.stringify(moduleOf('tap'))};\n${source}\n`);
    const said = await runFile(
      { name: 'example', bundle, env: {} },
      { ...quiet, over: isLate ? (signal) => made(join(folder, 'begun'), signal) : never },
    );
    t.same([said.passed, said.failed, said.skipped], counts, said.lines.join('\n'));
    t.equal(said.lines.length, lines.length);
    for (const [index, line] of lines.entries()) t.match(said.lines[index], line);
  });
}

t.test('files that share a process are told apart', async (t) => {
  const sources = {
    'right.test.ts': `t.test('a', async (t) => t.ok(1)); await t.test('b', async (t) => t.ok(1));`,
    'wrong.test.ts': `t.test('a', async (t) => { await t.test('b', async (t) => t.equal(1, 2, 'one is two')); });`,
    'empty.test.ts': '',
    'thrown.test.ts': `t.test('a', async (t) => t.ok(1)); throw new Error('boo');`,
  };
  const members = [];
  const folder = await temporaryFolder(t);
  for (const [file, source] of Object.entries(sources)) {
    const bundle = join(folder, file.replace('.ts', '.mjs'));
    await writeFile(bundle, `import t from ${JSON.stringify(moduleOf('tap'))};\n${source}\n`);
    members.push({ file, bundle: relative(root, bundle) });
  }
  const said = await runFile(
    {
      name: 'several',
      bundle: bundleTogether('several', members),
      env: { PARLEY_TEST_EDGE: 'uws' },
      files: Object.keys(sources),
    },
    { ...quiet, over: never },
  );
  t.same([said.passed, said.failed, said.skipped], [3, 3, 0], said.lines.join('\n'));
  for (const [index, line] of [
    /^not ok wrong\.test\.ts > a > b > one is two\n/,
    /^not ok empty\.test\.ts\n.*it made no assertion/,
    /^not ok thrown\.test\.ts > boo\n/,
  ].entries()) {
    t.match(said.lines[index], line);
    t.match(said.lines[index], /\n    PARLEY_TEST_EDGE=uws$/);
  }
});

t.test('files of a folder that start no process and change nothing of their own share one', async (t) => {
  const together = ['test/base/ids.test.ts', 'test/base/text.test.ts'];
  const files = [
    ...together,
    'test/base/log.test.ts',
    'test/base/json.test.ts',
    'test/turn/log.test.ts',
    'test/api/crash.test.ts',
  ];
  const starts = { imports: [{ path: 'test/base/starter.ts' }] };
  const inputs = {
    'test/base/json.test.ts': starts,
    'test/api/crash.test.ts': starts,
    'test/base/starter.ts': { imports: [{ path: 'node:child_process' }] },
  };
  const jobs = jobsOf(files, { bundles: files.map((file) => file.replace('.ts', '.mjs')), inputs });
  t.same(
    jobs.map(({ name }) => name),
    ['test/base/ 1 of 1', ...files.slice(2), 'test/api/crash.test.ts on Redis'],
  );
  t.same(jobs[0]!.files, together);
});

t.test('tests that parse the source share a process, and one alone does not', async (t) => {
  const parsing = ['test/linear/expressions.test.ts', 'test/lifecycle.test.ts', 'test/tidy.test.ts'];
  const namesOf = (files: readonly string[]) =>
    jobsOf(files, { bundles: files.map((file) => file.replace('.ts', '.mjs')), inputs: {} }).map(({ name, files }) => [
      name,
      files,
    ]);
  t.same(namesOf(parsing.toReversed()), [['test/ on the source', parsing]]);
  t.same(namesOf([parsing[2]!]), [[parsing[2], undefined]]);
});

t.test(
  'suites that start no more than servers share a process, with the engines in turn; on Redis each has its own',
  async (t) => {
    const suite = (name: string): string => `test/api/${name}.test.ts`;
    const served = [
      'abort',
      'chat',
      'crash',
      'end',
      'errors',
      'exports',
      'fields',
      'heads',
      'history',
      'lists',
      'order',
      'smoke',
      'usage',
    ].map(suite);
    const files = [...served, suite('proxies'), 'test/providers/voice/socket.test.ts'];
    const house = { path: 'test/api/house.ts' };
    const starter = { path: 'node:child_process' };
    const inputs = Object.fromEntries([
      ...files.map((file) => [file, { imports: file === suite('proxies') ? [house, starter] : [house] }]),
      [house.path, { imports: [starter] }],
    ]);
    const jobs = jobsOf(files, { bundles: files.map((file) => file.replace('.ts', '.mjs')), inputs });
    t.same(
      jobs.map(({ name, env }) => [name, env]),
      [
        ['test/api/ 1 of 2', { PARLEY_TEST_EDGE: 'uws' }],
        ['test/api/ 2 of 2', { PARLEY_TEST_EDGE: 'node' }],
        [suite('proxies'), {}],
        ['test/providers/voice/socket.test.ts', {}],
        [`${suite('crash')} on Redis`, { PARLEY_TEST_STORE: 'redis' }],
      ],
    );
    t.same(new Set(jobs.slice(0, 2).flatMap(({ files }) => files)), new Set(served));
  },
);

t.test('each test of tools runs at a strict provider as well, at all of them on request', async (t) => {
  const files = ['test/api/chat.test.ts', 'test/api/tools.test.ts', 'test/client/tools.test.ts'];
  const inputs = Object.fromEntries(files.map((file) => [file, { imports: [{ path: 'node:child_process' }] }]));
  const { PARLEY_TEST_PROVIDERS: before } = process.env;
  t.teardown(
    () =>
      void (before === undefined
        ? delete process.env['PARLEY_TEST_PROVIDERS']
        : (process.env['PARLEY_TEST_PROVIDERS'] = before)),
  );
  const ofTools = files.slice(1);
  for (const [which, names, filesAt] of [
    ['often', oftenStrict, (index: number) => [ofTools[index]]],
    ['all', strictNames, () => ofTools],
  ] as const) {
    process.env['PARLEY_TEST_PROVIDERS'] = which;
    const jobs = jobsOf(files, { bundles: files.map((file) => file.replace('.ts', '.mjs')), inputs }).filter(
      ({ env }) => 'PARLEY_TEST_PROVIDER' in env,
    );
    t.same(
      jobs.map(({ env }) => env['PARLEY_TEST_PROVIDER']),
      names,
    );
    for (const [index, { files: of }] of jobs.entries()) t.same(of, filesAt(index));
  }
});

t.test('the longest files begin, beside what leaves the cores room, and each runs once', async (t) => {
  const job = (name: string, seconds: number, cpuSeconds: number) => ({ name, seconds, cpuSeconds });
  const running = new Map<string, () => void>();
  const begun: string[] = [];
  const jobs = [
    job('short', 1, 1),
    job('work', 20, 20),
    job('waits', 60, 6),
    job('wide', 10, 30),
    job('waits too', 50, 5),
    job('more work', 15, 15),
  ];
  const over = runAll(
    jobs,
    ({ name }: { name: string }) => {
      begun.push(name);
      return new Promise<void>((resolve) => running.set(name, resolve));
    },
    { cores: 2, watchIdle },
  );
  const end = async (name: string): Promise<string[]> => {
    running.get(name)!();
    running.delete(name);
    await new Promise(setImmediate);
    return [...running.keys()];
  };
  t.same(
    [...running.keys()],
    ['waits', 'waits too', 'work'],
    'two that wait beside one that works; another would be too much',
  );
  t.same(await end('work'), ['waits', 'waits too', 'more work']);
  t.same(await end('more work'), ['waits', 'waits too', 'short']);
  t.same(await end('short'), ['waits', 'waits too']);
  t.same(await end('waits'), ['waits too'], 'what fills both cores waits until it is alone');
  t.same(await end('waits too'), ['wide']);
  await end('wide');
  await over;
  t.same(begun.toSorted(), jobs.map(({ name }) => name).toSorted());
});

t.test('where files take more than they did, fewer run abreast', async (t) => {
  const begun: string[] = [];
  const ends = new Map<string, (cpuSeconds: number) => void>();
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const jobs = names.map((name, index) => ({ name, seconds: 10 - index / 10, cpuSeconds: 6 }));
  const over = runAll(
    jobs,
    ({ name }: { name: string }) => {
      begun.push(name);
      return new Promise<number>((resolve) => ends.set(name, resolve));
    },
    { cores: 2, watchIdle },
  );
  const end = async (name: string, cpuSeconds: number): Promise<string> => {
    ends.get(name)!(cpuSeconds);
    await new Promise(setImmediate);
    return begun.join('');
  };
  t.equal(begun.join(''), 'abc');
  t.equal(await end('a', 12), 'abc', 'twice as slow: the two that run are enough');
  t.equal(await end('b', 12), 'abcd');
  t.equal(await end('c', 12), 'abcde');
  t.equal(await end('d', 1), 'abcdef', 'one that was quick makes room, and not for two');
  for (const name of ['e', 'f', 'g']) await end(name, 6);
  await over;
});

t.test('a slow machine runs fewer files abreast from the start', async (t) => {
  const begun: string[] = [];
  const jobs = ['a', 'b', 'c'].map((name) => ({ name, seconds: 10, cpuSeconds: 6 }));
  const ends: (() => void)[] = [];
  const over = runAll(
    jobs,
    ({ name }: { name: string }) => (begun.push(name), new Promise<void>((resolve) => ends.push(resolve))),
    { slowness: 3, cores: 2, watchIdle },
  );
  t.same(begun, ['a']);
  while (begun.length < 3 || ends.length > 0) {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  await over;
});

t.test('an idle core begins one more file with each look, except one that fills a core', async (t) => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  let isWatched = true;
  let look: (idleCores: number) => void = () => {};
  const job = (name: string, cpuSeconds: number) => ({ name, seconds: 10, cpuSeconds });
  const jobs = [job('a', 15), job('b', 15), job('c', 5), job('d', 5), job('e', 5)];
  const over = runAll(
    jobs,
    ({ name }: { name: string }) => (begun.push(name), new Promise<void>((resolve) => ends.push(resolve))),
    {
      cores: 1.5,
      watchIdle(call: (idleCores: number) => void) {
        look = call;
        return () => (isWatched = false);
      },
    },
  );
  t.same(begun, ['a']);
  look(0.1);
  t.same(begun, ['a'], 'a tenth of a core is too little');
  look(0.5);
  t.same(begun, ['a', 'c']);
  look(0.5);
  t.same(begun, ['a', 'c', 'd']);
  while (begun.length < jobs.length || ends.length > 0) {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  t.equal(await over, (0.1 + 0.5 + 0.5) / 3, 'the mean of the looks');
  t.equal(isWatched, false);
});

t.test('a run is expected to take as long as its work on all cores, and no less than its longest file', async (t) => {
  const job = (seconds: number, cpuSeconds: number) => ({ seconds, cpuSeconds });
  t.equal(secondsOf([job(100, 10), job(20, 20)], 1, 2), 100);
  t.equal(secondsOf([job(100, 90), job(100, 90)], 2, 2), 200);
  t.equal(secondsOf([], 1, 2), 0);
});
