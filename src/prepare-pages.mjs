/**
 * Bundles the console's pages into dist/console: modules and styles with hashed names, the one HTML file that names them, and of each
 * file copies that were compressed here, once, so that no request waits for that.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Where the pages are served. */
const base = '/console/';

/** The files to write, as esbuild returns them; none where there are no pages to build. Rejects as the build does. */
export async function buildPages(root) {
  const source = join(root, 'src', 'web');
  if (!existsSync(source)) return;
  const { build } = await import('esbuild');
  const folder = join(root, 'dist', 'console');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'src/web/main.tsx', style: 'src/web/style.css' },
    outdir: folder,
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
  });
  const named = (path) => relative(folder, join(root, path)).replaceAll('\\', '/');
  const entry = (ending) => Object.entries(metafile.outputs).find(([path, { entryPoint }]) => entryPoint?.endsWith(ending) && path.endsWith(ending === '.css' ? '.css' : '.js'));
  const [script, { imports }] = entry('main.tsx');
  const first = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => named(path));
  const page = html({ style: named(entry('.css')[0]), script: named(script), first });
  // The style's entry has an empty module beside it, which nothing loads.
  const files = outputFiles.filter(({ contents }) => contents.length > 0).map(({ path, contents }) => ({ path, contents }));
  write(folder, [...files, { path: join(folder, 'index.html'), contents: Buffer.from(page) }].flatMap(withCopies));
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
