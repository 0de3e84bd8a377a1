/** What `npm test` makes of a file: nothing that goes wrong in one may look as if all was well. And in which order files run. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { bundlePackages, moduleOf } from '../bundle.mjs';
import { temporaryFolder } from '../folders.ts';
import { runFile } from './file.mjs';
import { runAll } from './pool.mjs';

interface Example {
  readonly source: string;
  /** Assertions passed, failed and skipped. */
  readonly counts: readonly [number, number, number];
  /** What its lines say, in order. */
  readonly lines: readonly RegExp[];
  /** It has to run out of time, which the others must not on a machine that is busy. */
  readonly brief?: true;
}

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
  'a file that skips itself': { source: `t.plan(0, 'no Redis'); process.exit(0);`, counts: [0, 0, 1], lines: [/^skipped example: no Redis$/] },
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
  'an end before the tests are over': { source: `t.test('a', async (t) => { t.ok(1); process.exit(0); });`, counts: [1, 1, 0], lines: [/test unfinished/] },
  'an end with a code of its own': { source: `t.ok(1); process.on('exit', () => { process.exitCode = 3; });`, counts: [1, 1, 0], lines: [/it ended with 3/] },
  'an end by a signal': { source: `t.ok(1); process.kill(process.pid, 'SIGKILL');`, counts: [1, 1, 0], lines: [/it ended with SIGKILL/] },
  'a test that waits for what never comes': { source: `t.test('a', async (t) => { t.ok(1); await new Promise(() => {}); });`, counts: [1, 1, 0], lines: [/a > test unfinished/] },
  'a file that has run out of time': {
    source: `t.test('a', async (t) => { t.ok(1); setTimeout(() => process.exit(), 1e5); await new Promise(() => {}); });`,
    counts: [1, 1, 0],
    lines: [/a > timeout!/],
    brief: true,
  },
  'a file that does not notice the time': { source: `t.ok(1); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`, counts: [1, 1, 0], lines: [/it ended with SIGKILL/], brief: true },
};

await bundlePackages(['tap']);

for (const [name, { source, counts, lines, brief }] of Object.entries(examples)) {
  t.test(name, async (t) => {
    const folder = await temporaryFolder(t);
    const bundle = join(folder, 'example.mjs');
    await writeFile(bundle, `import t from ${JSON.stringify(moduleOf('tap'))};\n${source}\n`);
    const said = await runFile({ name: 'example', bundle, env: {} }, { ...(brief ? { timeoutSeconds: 2, hangSeconds: 10 } : { timeoutSeconds: 60, hangSeconds: 90 }), stderr: 'ignore' });
    t.same([said.passed, said.failed, said.skipped], counts, said.lines.join('\n'));
    t.equal(said.lines.length, lines.length);
    for (const [index, line] of lines.entries()) t.match(said.lines[index], line);
  });
}

t.test('the longest files begin, beside what leaves the cores room, and each runs once', async (t) => {
  const job = (name: string, seconds: number, cpuSeconds: number) => ({ name, seconds, cpuSeconds });
  const running = new Map<string, () => void>();
  const begun: string[] = [];
  const jobs = [job('short', 1, 1), job('work', 20, 20), job('waits', 60, 6), job('wide', 10, 30), job('waits too', 50, 5), job('more work', 15, 15)];
  const over = runAll(
    jobs,
    ({ name }: { name: string }) => {
      begun.push(name);
      return new Promise<void>((resolve) => running.set(name, resolve));
    },
    2,
    { expected: 0, took: 0 },
  );
  const end = async (name: string): Promise<string[]> => {
    running.get(name)!();
    running.delete(name);
    await new Promise(setImmediate);
    return [...running.keys()];
  };
  t.same([...running.keys()], ['waits', 'waits too', 'work'], 'two that wait beside one that works; another would be too much');
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
    2,
    { expected: 0, took: 0 },
  );
  const end = async (name: string, cpuSeconds: number): Promise<string> => {
    ends.get(name)!(cpuSeconds);
    await new Promise(setImmediate);
    return begun.join('');
  };
  t.equal(begun.join(''), 'abc');
  t.equal(await end('a', 12), 'abc', 'twice as slow: the two that run are enough');
  t.equal(await end('b', 12), 'abc', 'and one is, beside which another would be too much');
  t.equal(await end('c', 12), 'abcd');
  t.equal(await end('d', 1), 'abcdef', 'one that was quick makes room');
  for (const name of ['e', 'f', 'g']) await end(name, 6);
  await over;
});
