/**
 * Builds the package `parley-client` into dist/client: one module for each entry, its declarations, and what a package
 * needs beside them. Not part of a start: the declarations want the compiler, a development package.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newest, PrepareError, root } from './prepare.mjs';

const source = join(root, 'src', 'client');
const target = join(root, 'dist', 'client');
const stamped = join(target, 'package.json');

/** The package's entries, by the name under which they are imported. */
const entries = {
  '.': '../client/index.ts',
  './conversation': '../client/conversation.ts',
  './ai': '../client/ai.ts',
  './call': '../client/call.ts',
  './browser-call': '../client/browser-call.ts',
  './call-worklet': '../client/call-worklet.ts',
  './microphone': '../client/microphone.ts',
  './microphone-worklet': '../client/microphone-worklet.ts',
};

/** The name of an entry's module, without its ending. */
const moduleOf = (path) => path.replace(/^.*\/|\.ts$/g, '');

export async function buildClient() {
  const files = ['package.json', 'package-lock.json', 'LICENSE', 'src/install/pack-client.mjs'].map(
    (name) => statSync(join(root, name)).mtimeMs,
  );
  const sources = newest(source, Math.max(...files));
  if (existsSync(stamped) && statSync(stamped).mtimeMs >= sources) return;
  // Made beside and exchanged when it is whole.
  const made = `${target}.${process.pid}`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  try {
    await modules(made);
    declarations(made);
    papers(made);
    const stamp = (Math.ceil(sources) + 1) / 1000;
    utimesSync(join(made, 'package.json'), stamp, stamp);
    rmSync(target, { recursive: true, force: true });
    renameSync(made, target);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function modules(folder) {
  const { build } = await import('esbuild');
  const bundle = (paths) =>
    build({
      entryPoints: Object.fromEntries(
        paths.map((path) => [moduleOf(path), fileURLToPath(new URL(path, import.meta.url))]),
      ),
      outdir: folder,
      bundle: true,
      splitting: true,
      chunkNames: '[name]-[hash]',
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      target: 'es2022',
      // Names stay, for stack traces; who bundles an application minifies them there. Node prints the line of an
      // uncaught error.
      minifyWhitespace: true,
      minifySyntax: true,
      lineLimit: 160,
      sourcemap: 'linked',
      legalComments: 'none',
      logLevel: 'error',
    });
  // Apart, so that what both share makes no pieces of the main entry; errors are recognised across copies.
  const apart = Object.values(entries).filter((path) => path.endsWith('call.ts'));
  const rest = Object.values(entries).filter((path) => !apart.includes(path));
  await Promise.all([bundle(rest), bundle(apart)]).catch(() => {
    throw new PrepareError('the build of the client failed.');
  });
}

/** The sources import each other by their own names; their declarations go by the modules'. */
function declarations(folder) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', source, '--outDir', folder], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new PrepareError(`the client's types are wrong.\n${stdout}`);
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.d.ts'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    writeFileSync(join(folder, name), text.replace(/((?:from|import)\s*\(?'\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
}

function papers(folder) {
  const { version, license, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const exported = Object.fromEntries(
    Object.entries(entries).map(([name, path]) => [
      name,
      { types: `./${moduleOf(path)}.d.ts`, default: `./${moduleOf(path)}.js` },
    ]),
  );
  const about = {
    name: 'parley-client',
    version,
    description: `The client of parley. ${description}`,
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { ...exported, './package.json': './package.json' },
    types: './index.d.ts',
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  // The modules include the parser.
  copyFileSync(
    join(dirname(fileURLToPath(import.meta.resolve('eventsource-parser'))), '..', 'LICENSE'),
    join(folder, 'LICENSE-eventsource-parser'),
  );
  copyFileSync(join(source, 'README.md'), join(folder, 'README.md'));
}
