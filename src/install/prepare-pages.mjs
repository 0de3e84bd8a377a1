/**
 * Bundles the pages: the console's into dist/console, the public link's into dist/link. Writes modules and styles with
 * hashed names, the files that name them, and compressed copies of each file, so that no request waits for compression.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** The one module of the client that no browser loads. */
const unused = './node-socket.ts';

/** Path of the console's pages. */
const base = '/console/';

/** The build options of all code that runs in a browser. */
export const forBrowsers = {
  write: false,
  bundle: true,
  minify: true,
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17.5'],
  legalComments: 'none',
  logLevel: 'error',
};

/** Builds the pages that are there. Rejects as a build does. */
export async function buildPages(root) {
  await Promise.all([buildConsole(root), buildLink(root)]);
}

async function buildConsole(root) {
  if (!existsSync(join(root, 'src', 'pages', 'console'))) return;
  const folder = join(root, 'dist', 'console');
  const named = { entryNames: 'assets/[name]-[hash]', chunkNames: 'assets/[name]-[hash]' };
  // Apart, as the link's.
  const calls = await bundled(root, folder, {
    entryPoints: { calls: 'src/pages/console/parts/calls.ts' },
    external: [unused],
    ...named,
  });
  const built = await bundled(root, folder, {
    entryPoints: {
      main: 'src/pages/console/main.tsx',
      style: 'src/pages/console/style.css',
      worklet: 'src/client/call-worklet.ts',
    },
    external: ['./calls-*.js'],
    define: { callModule: JSON.stringify(`./${basename(calls.entry('parts/calls.ts'))}`) },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    ...named,
  });
  const page = html({
    style: built.entry('style.css'),
    script: built.entry('main.tsx'),
    first: built.first('main.tsx'),
    worklet: built.entry('call-worklet.ts'),
  });
  write(
    folder,
    [...joined(built, calls), { path: join(folder, 'index.html'), contents: Buffer.from(page) }].flatMap(withCopies),
  );
}

/**
 * Builds the link's files. The server makes the pages, for each language, and reads the names of the files from
 * `built.json`.
 */
async function buildLink(root) {
  const source = join(root, 'src', 'pages', 'link');
  if (!existsSync(source)) return;
  const folder = join(root, 'dist', 'link');
  const languages = readdirSync(join(root, 'src', 'pages', 'words')).map((name) => name.replace(/\.ts$/, ''));
  const common = { entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]', charset: 'utf8' };
  // Apart, so that what both share makes no pieces of the page's own script; it knows the module's name.
  const calls = await bundled(root, folder, {
    entryPoints: { call: 'src/pages/link/call.ts' },
    external: [unused],
    ...common,
  });
  const refused = await bundled(root, folder, { entryPoints: { refused: 'src/pages/link/refused.ts' }, ...common });
  const built = await bundled(root, folder, {
    entryPoints: {
      main: 'src/pages/link/main.ts',
      style: 'src/pages/link/style.css',
      worklet: 'src/client/call-worklet.ts',
    },
    external: [unused, './call-*.js'],
    define: { callModule: JSON.stringify(`./${calls.entry('link/call.ts')}`) },
    ...common,
  });
  const names = {
    script: built.entry('main.ts'),
    style: built.entry('style.css'),
    // The client asks nothing of the link before it has this module.
    first: [...built.first('main.ts'), built.entry('client/visit.ts')],
    words: Object.fromEntries(languages.map((language) => [language, built.entry(`words/${language}.ts`)])),
    worklet: built.entry('call-worklet.ts'),
    refused: refused.entry('link/refused.ts'),
  };
  write(folder, [
    ...joined(built, calls, refused).flatMap(withCopies),
    { path: join(folder, 'built.json'), contents: Buffer.from(JSON.stringify(names)) },
  ]);
}

/** The files of several builds, each once. */
const joined = (...builds) => [
  ...new Map(builds.flatMap(({ files }) => files).map((file) => [file.path, file])).values(),
];

/** The files as esbuild returns them, and the names in the folder by their sources. */
async function bundled(root, folder, options) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    outdir: folder,
    ...forBrowsers,
    splitting: true,
    format: 'esm',
    metafile: true,
    ...options,
  });
  const named = (path) => relative(folder, join(root, path)).replaceAll('\\', '/');
  const output = (ending) =>
    Object.entries(metafile.outputs).find(
      ([path, { entryPoint }]) =>
        entryPoint?.endsWith(`/${ending}`) && path.endsWith(ending.endsWith('.css') ? '.css' : '.js'),
    );
  return {
    // A style's entry has an empty module beside it, which nothing loads.
    files: outputFiles.filter(({ contents }) => contents.length > 0).map(({ path, contents }) => ({ path, contents })),
    entry: (ending) => named(output(ending)[0]),
    /** Modules that it imports at once. */
    first: (ending) =>
      output(ending)[1]
        .imports.filter(({ kind }) => kind === 'import-statement')
        .map(({ path }) => named(path)),
  };
}

const html = ({ style, script, first, worklet }) => `<!doctype html>
<html lang="en" data-voice="${base}${worklet}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>parley</title>
<link rel="icon" href="/favicon.ico">
<link rel="stylesheet" href="${base}${style}">
${first.map((path) => `<link rel="modulepreload" href="${base}${path}">\n`).join('')}<script type="module" src="${base}${script}"></script>
</head>
<body><div id="page"></div><noscript>The console needs JavaScript. The command line does the same: parley --help.</noscript></body>
</html>
`;

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** A file, and its copies as they are sent. */
export function withCopies({ path, contents }) {
  return [
    { path, contents },
    { path: `${path}.br`, contents: brotliCompressSync(contents, quality) },
    { path: `${path}.gz`, contents: gzipSync(contents, { level: 9 }) },
  ];
}

/**
 * Written beside and renamed, the page that names the others last; files of earlier builds are removed, since running
 * servers have read theirs.
 */
export function write(folder, files) {
  const paths = new Set(files.map(({ path }) => path));
  for (const { path, contents } of files) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = join(dirname(path), `.${process.pid}.${basename(path)}`);
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !paths.has(path)) rmSync(path, { force: true });
  }
}
