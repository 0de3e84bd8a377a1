/**
 * Bundles the test files once: loaded by tsx one by one, the modules of a test file cost half a second of CPU time before its
 * first assertion, and there are more than a hundred. `node --import=tsx FILE` runs a single one without this.
 */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrepareError, root } from '../src/prepare.mjs';

/** Beside the packages, which the bundles import by name; of its own for each run, since several may run at a time. */
const folder = join(root, 'node_modules', '.cache', `parley-tests-${process.pid}`);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Every module goes on thinking that it is where its source is: tests start programs and read files beside them. */
const inPlace = {
  name: 'in place',
  setup({ onLoad }) {
    onLoad({ filter: /\.(?:ts|mjs)$/ }, async ({ path }) => ({
      loader: path.endsWith('.ts') ? 'ts' : 'js',
      contents: `const moduleUrl = ${JSON.stringify(pathToFileURL(path).href)}, moduleFile = ${JSON.stringify(path)}; ${await readFile(path, 'utf8')}`,
    }));
  },
};

/** Resolves with the bundles' paths in the project, in the order of the files. */
export async function bundle(files) {
  const { build } = await import('esbuild');
  const made = build({
    absWorkingDir: root,
    entryPoints: files,
    outdir: folder,
    outbase: root,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    keepNames: true,
    define: { 'import.meta.url': 'moduleUrl', 'import.meta.filename': 'moduleFile' },
    plugins: [inPlace],
    logLevel: 'error',
  });
  await made.catch(() => {
    throw new PrepareError('see above.');
  });
  return files.map((file) => relative(root, join(folder, file.replace(/\.ts$/, '.mjs'))));
}

/** A text that names bundles, with them named as they lie beneath the project. */
export const inSource = (text) => text.replaceAll(`${relative(root, folder).replaceAll('\\', '/')}/`, '');
