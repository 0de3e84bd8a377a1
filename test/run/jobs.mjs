/** Which files run, and how often: a file whose outcome the store has a say in runs on each store. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { PrepareError, root } from '../../src/prepare.mjs';

/** Those of the API that run on Redis as well; any other runs alike with `PARLEY_TEST_STORE=redis` before its command. */
const onRedis = new Set(
  [
    ...['abort', 'chat', 'crash', 'credentials', 'desk', 'desk-trials', 'drain', 'end', 'expiry', 'idempotency', 'limits', 'link-settings', 'lists', 'provider', 'resume'],
    ...['tenants', 'usage'],
  ].map((name) => `test/api/${name}.test.ts`),
);

const table = join(root, 'test', 'run', 'times.json');

/** Of a file that nobody has measured, or that takes no time worth a line. */
const short = [1, 1];

/** The test files that an argument names: one file, or all within a folder. */
export function filesOf(argument) {
  const path = relative(root, resolve(root, argument)).replaceAll('\\', '/');
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  if (found?.isFile() && path.endsWith('.test.ts')) return [path];
  const files = found?.isDirectory() ? readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts')) : [];
  if (files.length === 0) throw new PrepareError(`${argument}: no test file there`);
  return files.map((name) => join(path, name).replaceAll('\\', '/')).toSorted();
}

/** The jobs of the files, whose bundles are given in the same order. */
export function jobsOf(files, bundles) {
  const times = JSON.parse(readFileSync(table, 'utf8'));
  return files.flatMap((file, index) => {
    const names = onRedis.has(file) ? [file, `${file} on Redis`] : [file];
    return names.map((name) => {
      const [seconds, cpuSeconds] = times[name] ?? short;
      return { name, bundle: bundles[index], env: name === file ? {} : { PARLEY_TEST_STORE: 'redis' }, seconds, cpuSeconds };
    });
  });
}

/** Writes down how long each took, for the order of later runs. */
export function keepTimes(taken) {
  const rows = Object.entries(taken).filter(([, [seconds]]) => seconds >= short[0]).toSorted(([, [a]], [, [b]]) => b - a);
  writeFileSync(table, `{\n${rows.map(([name, times]) => `  ${JSON.stringify(name)}: [${times.map((time) => time.toFixed(1)).join(', ')}]`).join(',\n')}\n}\n`);
}
