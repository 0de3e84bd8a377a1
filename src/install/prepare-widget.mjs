/**
 * Bundles the widget's loader into dist/widget: one script, its style in it as text, with copies that were compressed
 * here.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forBrowsers, withCopies, write } from './prepare-pages.mjs';

/** Builds it where there is one to build. Rejects as the build does. */
export async function buildWidget(root) {
  const source = join(root, 'src', 'pages', 'widget');
  if (!existsSync(source)) return;
  const { build, transform } = await import('esbuild');
  const { code: style } = await transform(readFileSync(join(source, 'style.css'), 'utf8'), {
    loader: 'css',
    minify: true,
    target: forBrowsers.target,
  });
  const folder = join(root, 'dist', 'widget');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { widget: 'src/pages/widget/main.ts' },
    outdir: folder,
    ...forBrowsers,
    format: 'iife',
    define: { style: JSON.stringify(style.trim()) },
    charset: 'utf8',
  });
  write(folder, outputFiles.flatMap(withCopies));
}
