/**
 * Bundles the test files once: loaded by tsx one by one, the modules of a test file cost half a second of CPU time
 * before its first assertion, and there are more than a hundred. `node --import=tsx FILE` runs a single one without
 * this.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PrepareError, root } from '../src/install/prepare.mjs';

/**
 * The folder is next to the packages, which the bundles import by name; each run has another, since several may run at
 * a time.
 */
const folder = join(root, 'node_modules', '.cache', `parley-tests-${process.pid}`);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/**
 * Packages that many files load: tap alone is 300 modules, 150 ms of CPU time in each of 200 processes. Each becomes
 * one module, with a name that tap takes for its own where it looks for the line of a test. They are not bundled with
 * the files: Node reads the map of a module whenever it loads one, and theirs is large.
 */
const modules = [
  'tap',
  'typebox',
  'typebox/compile',
  'xstate',
  'xstate/graph',
  'fast-check',
  'ws',
  'commander',
  'eventsource-parser',
];
/** Packages written for CommonJS, whose exports are known only when they run. */
const commonJs = ['redis', 'ajv/dist/2020.js', 'prom-client'];
const packages = [...modules, ...commonJs];
const nameOf = (name) => `@tapjs/${name.replaceAll('/', '-')}`;
const packageFolder = join(folder, 'node_modules');

const namedExports = {
  name: 'named exports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^/ }, ({ path, kind }) =>
      kind === 'entry-point' && commonJs.includes(path) ? { path, namespace: 'named' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'named' }, ({ path }) => {
      const names = Object.keys(createRequire(join(root, 'package.json'))(path)).filter(
        (name) => /^[A-Za-z_]\w*$/.test(name) && name !== 'default',
      );
      return { resolveDir: root, contents: `export { ${names.join(', ')} } from ${JSON.stringify(path)};` };
    });
  },
};

const asModules = {
  name: 'packages as modules',
  setup({ onResolve }) {
    const filter = new RegExp(`^(?:${packages.join('|')})$`);
    onResolve({ filter }, ({ path }) => ({ path: moduleOf(path), external: true }));
  },
};

/** Keeps each module's URL at its source's place: tests start programs and read files next to them. */
const inPlace = {
  name: 'in place',
  setup({ onLoad }) {
    onLoad({ filter: /\.(?:ts|mjs)$/ }, async ({ path }) => ({
      loader: path.endsWith('.ts') ? 'ts' : 'js',
      contents: `const moduleUrl = ${JSON.stringify(pathToFileURL(path).href)}, moduleFile = ${JSON.stringify(path)}; ${await readFile(path, 'utf8')}`,
    }));
  },
};

const common = {
  absWorkingDir: root,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'error',
};

/** Returns the URL at which the bundles find a package. */
export const moduleOf = (name) => pathToFileURL(join(packageFolder, `${nameOf(name)}.mjs`)).href;

export async function bundlePackages(names = packages) {
  const { build } = await import('esbuild');
  await build({
    ...common,
    entryPoints: Object.fromEntries(names.map((name) => [nameOf(name), name])),
    outdir: packageFolder,
    chunkNames: '@tapjs/[name]-[hash]',
    plugins: [namedExports],
    // The replacement is explained in that file.
    alias: { 'async-hook-domain': fileURLToPath(new URL('./run/domain.mjs', import.meta.url)) },
    // Packages written for CommonJS ask for Node's own modules by `require`, which a module does not have.
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
    },
  });
}

/** Resolves with the bundles' paths in the project, in the order of the files. */
export const bundle = async (files) => (await bundleWithInputs(files)).bundles;

/** The same, with each module and what it imports, as esbuild names them. */
export async function bundleWithInputs(files) {
  const { build } = await import('esbuild');
  const ofFiles = build({
    ...common,
    entryPoints: files,
    outdir: folder,
    outbase: root,
    packages: 'external',
    sourcemap: 'linked',
    sourcesContent: false,
    define: { 'import.meta.url': 'moduleUrl', 'import.meta.filename': 'moduleFile' },
    plugins: [asModules, inPlace],
    metafile: true,
  });
  const [{ metafile }] = await Promise.all([ofFiles, bundlePackages()]).catch(() => {
    throw new PrepareError('see above.');
  });
  return {
    bundles: files.map((file) => relative(root, join(folder, file.replace(/\.ts$/, '.mjs')))),
    inputs: metafile.inputs,
  };
}

/**
 * Writes a module that runs several bundled files, each as a test of its name, one after the other: its path in the
 * project.
 */
export function bundleTogether(name, members) {
  const path = join(folder, `${name.replaceAll('/', '-')}.together.mjs`);
  const files = members.map(({ file, bundle }) => [file, pathToFileURL(join(root, bundle)).href]);
  writeFileSync(
    path,
    `import t from ${JSON.stringify(moduleOf('tap'))};
const test = t.test.bind(t);
// Each file may have something to do at the end.
process.setMaxListeners(0);
for (const [file, bundle] of ${JSON.stringify(files)}) {
  await test(file, async (of) => {
    t.test = of.test.bind(of);
    await import(bundle);
  });
}
`,
  );
  return relative(root, path);
}

/** A text that names bundles, with them named as they lie beneath the project. */
export const inSource = (text) => text.replaceAll(`${relative(root, folder).replaceAll('\\', '/')}/`, '');
