/**
 * Finds the tests that a change can reach, for `npm test -- --changed`. A file reaches its imports, and paths that it
 * names as text: a file beside it or from the root (`new URL('redis/', import.meta.url)`, `src/install/start.mjs`,
 * `README.md`), a folder with a slash at its end and so all in it. A file that sets up every test reaches all; tests of
 * the whole tree run with any change.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { PrepareError, root } from '../../src/install/prepare.mjs';

/** A change in one of these may change the outcome of any test. */
const setsUpAll = ['package-lock.json', 'tsconfig.json', '.npmrc', 'test/run.mjs', 'test/bundle.mjs', 'test/run/'];

/** Tests that read every file of the project. */
const ofTheTree = ['test/tidy.test.ts', 'test/readme.test.ts', 'test/lint.test.ts'];

/** A test file that runs every script of package.json. */
const runsScripts = 'test/development-commands.test.ts';

/** @returns {string[] | null} */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(Boolean) : null;
}

/**
 * The files that differ from where the branch left `main`: committed since, changed or new; and the commit compared
 * with.
 */
export function changedFiles() {
  if (git('rev-parse', 'HEAD') === null) throw new PrepareError('--changed needs git, and a commit to compare with.');
  const base = (
    git('merge-base', 'HEAD', 'main') ??
    git('merge-base', 'HEAD', 'origin/main') ??
    git('rev-parse', 'HEAD')
  )[0];
  /** @type {Set<string>} */
  const files = new Set([
    ...git('diff', '--name-only', '--no-renames', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]);
  return { base: base.slice(0, 7), files: [...files].toSorted() };
}

/**
 * Returns the test files that the changed files reach, each with the first that reaches it; and the changed files that
 * reach none.
 */
export function reachedBy(changed, tests, uses) {
  const common = changed.find((path) =>
    setsUpAll.some((each) => (each.endsWith('/') ? path.startsWith(each) : path === each)),
  );
  /** @type {Map<string, string>} */
  const reached = new Map();
  const idle = new Set(changed);
  for (const test of tests) {
    const used = closure(test, uses);
    const by = changed.filter((path) => used.has(path));
    for (const path of by) idle.delete(path);
    const why = common ?? by[0] ?? (changed.length > 0 && ofTheTree.includes(test) ? 'any change' : undefined);
    if (why !== undefined) reached.set(test, why);
  }
  return { reached, idle: common === undefined ? [...idle] : [] };
}

/** Returns the files that each source file of the project uses, committed or not. */
export async function readUses() {
  const all = [...git('ls-files'), ...git('ls-files', '--others', '--exclude-standard')];
  return usesOf(
    all,
    await importsOf(all.filter((path) => /\.(ts|mjs)$/.test(path) && !path.startsWith('bench/peers/'))),
  );
}

/** Returns the imports of each source file, as the bundler resolves them. */
async function importsOf(sources) {
  const { build } = await import('esbuild');
  const options = {
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    splitting: true,
    outdir: 'reached',
    logLevel: 'error',
  };
  const made = build({ ...options, absWorkingDir: root, entryPoints: sources });
  const { metafile } = await made.catch(() => {
    throw new PrepareError('see above.');
  });
  return new Map(
    Object.entries(metafile.inputs).map(([path, { imports }]) => [
      path,
      imports.filter(({ external }) => !external).map(({ path }) => path),
    ]),
  );
}

/** Imports and names of every file. */
function usesOf(all, imports) {
  const at = placesOf(all);
  const scripts = Object.values(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts);
  return new Map(
    [...imports].map(([path, imported]) => {
      // An import of package.json reads its version, and runs none of its scripts.
      const own = path === 'package.json' ? '' : readFileSync(join(root, path), 'utf8');
      const text = own + (path === runsScripts ? JSON.stringify(scripts.flatMap((line) => line.split(' '))) : '');
      const named = namesIn(text).flatMap((name) => [
        ...at(posix.join(posix.dirname(path), name)),
        ...at(posix.normalize(name)),
      ]);
      return [path, new Set([...imported, ...named])];
    }),
  );
}

/**
 * Returns the files at a path: the one there, all within a folder, whose path ends with a slash, or all that a
 * template's values could name.
 */
function placesOf(all) {
  const places = new Map(all.map((path) => [path, [path]]));
  for (const path of all) {
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      const folder = path.slice(0, end + 1);
      places.set(folder, [...(places.get(folder) ?? []), path]);
    }
  }
  return (path) => {
    if (!places.has(path)) places.set(path, path.includes('*') ? all.filter((each) => matches(each, path)) : []);
    return places.get(path);
  };
}

/** Whether a path is one of a template, in which a star stands for a value. */
const matches = (path, template) =>
  new RegExp(
    `^${template
      .split('*')
      .map((part) => part.replaceAll('.', '\\.'))
      .join('[^/]*')}$`,
  ).test(path);

/**
 * Returns the quoted strings that could be paths; in a template a star stands for each value. A template of values
 * alone names nothing.
 */
const namesIn = (text) =>
  [...text.matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g)]
    .map(([, , literal]) => literal.replace(/\$\{[^}]*\}/g, '*'))
    .filter(
      (name) =>
        /^[\w.@/*-]*\w[\w.@/*-]*$/.test(name) &&
        (name.includes('*') ? /\w\.\w+$|\*\.\w+$/.test(name) : /[./]/.test(name)),
    );

function closure(path, uses) {
  const seen = new Set([path]);
  for (const each of seen) for (const used of uses.get(each) ?? []) seen.add(used);
  return seen;
}
