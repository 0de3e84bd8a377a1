/**
 * Bundles the pages: the console's into dist/console, the public link's into dist/link. Modules and styles with hashed names, what names
 * them, and of each file copies that were compressed here, once, so that no request waits for that.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Where the console's pages are served. */
const base = '/console/';

/** What all that runs in a browser is built with. */
export const forBrowsers = {
  write: false,
  bundle: true,
  minify: true,
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17.5'],
  legalComments: 'none',
  logLevel: 'error',
};

/** Builds what there is to build. Rejects as a build does. */
export async function buildPages(root) {
  await Promise.all([buildConsole(root), buildLink(root)]);
}

async function buildConsole(root) {
  if (!existsSync(join(root, 'src', 'web'))) return;
  const folder = join(root, 'dist', 'console');
  const built = await bundled(root, folder, {
    entryPoints: { main: 'src/web/main.tsx', style: 'src/web/style.css' },
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
  const page = html({ style: built.entry('style.css'), script: built.entry('main.tsx'), first: built.first('main.tsx') });
  write(folder, [...built.files, { path: join(folder, 'index.html'), contents: Buffer.from(page) }].flatMap(withCopies));
}

/** The link's pages are made by the server, for each language: it reads here what they name. */
async function buildLink(root) {
  const source = join(root, 'src', 'link', 'page');
  if (!existsSync(source)) return;
  const folder = join(root, 'dist', 'link');
  const languages = readdirSync(join(root, 'src', 'link', 'words')).map((name) => name.replace(/\.ts$/, ''));
  const built = await bundled(root, folder, {
    entryPoints: { main: 'src/link/page/main.ts', style: 'src/link/page/style.css', worklet: 'src/client/microphone-worklet.ts' },
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    charset: 'utf8',
    // Of the client, what no browser loads.
    external: ['./node-socket.ts'],
  });
  const names = {
    script: built.entry('main.ts'),
    style: built.entry('style.css'),
    // The client asks nothing of the link before it has this module.
    first: [...built.first('main.ts'), built.entry('client/visit.ts')],
    words: Object.fromEntries(languages.map((language) => [language, built.entry(`words/${language}.ts`)])),
    worklet: built.entry('microphone-worklet.ts'),
  };
  write(folder, [...built.files.flatMap(withCopies), { path: join(folder, 'built.json'), contents: Buffer.from(JSON.stringify(names)) }]);
}

/** The files as esbuild returns them, and the names in the folder by their sources. */
async function bundled(root, folder, options) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({ absWorkingDir: root, outdir: folder, ...forBrowsers, splitting: true, format: 'esm', metafile: true, ...options });
  const named = (path) => relative(folder, join(root, path)).replaceAll('\\', '/');
  const output = (ending) => Object.entries(metafile.outputs).find(([path, { entryPoint }]) => entryPoint?.endsWith(`/${ending}`) && path.endsWith(ending.endsWith('.css') ? '.css' : '.js'));
  return {
    // A style's entry has an empty module beside it, which nothing loads.
    files: outputFiles.filter(({ contents }) => contents.length > 0).map(({ path, contents }) => ({ path, contents })),
    entry: (ending) => named(output(ending)[0]),
    /** Modules that it imports at once. */
    first: (ending) => output(ending)[1].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => named(path)),
  };
}

const html = ({ style, script, first }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>parley</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5" fill="#5b6ae0"/></svg>')}">
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

/** Written beside and renamed, the page that names the others last; what an earlier build left is removed, since servers that run have read theirs. */
export function write(folder, files) {
  const kept = new Set(files.map(({ path }) => path));
  for (const { path, contents } of files) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = join(dirname(path), `.${process.pid}.${basename(path)}`);
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(path)) rmSync(path, { force: true });
  }
}
