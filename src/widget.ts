/** The widget's loader, as the build left it beside the bundle. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readStaticFiles, type StaticFile } from './static-files.ts';

let known: StaticFile | undefined;

/** Read once, at the first request for it; undefined in a build without it. */
export function widgetLoader(): StaticFile | undefined {
  // Beside the bundle; for what runs from the sources, where the build puts the bundle.
  const folder = ['./widget/', '../dist/widget/'].map((path) => fileURLToPath(new URL(path, import.meta.url))).find(existsSync);
  known ??= folder === undefined ? undefined : readStaticFiles(folder).get('widget.js');
  return known;
}
