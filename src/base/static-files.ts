/** Files that are served unchanged, with copies that were compressed beforehand. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { etagOf } from './etag.ts';

/** Content codings, the preferred one first. */
export const codings = ['br', 'gzip'] as const;
export type Coding = (typeof codings)[number];
const endings: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };

export interface StaticFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** The same content in other codings, compressed beforehand. */
  readonly coded: Readonly<Partial<Record<Coding, Uint8Array>>>;
  /** The tag of the content, in any coding. */
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

export const staticFile = (type: string, bytes: Uint8Array, coded: StaticFile['coded'] = {}): StaticFile => ({
  type,
  bytes,
  coded,
  etag: etagOf(bytes),
});

/**
 * The files of a folder and of those below it, by their paths in it with slashes. `NAME.br` and `NAME.gz` are NAME,
 * compressed. Throws on an ending without a type.
 */
export function readStaticFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = new Set(names.map(({ parentPath, name }) => join(parentPath, name)));
  const read = (path: string): Uint8Array | undefined => (paths.has(path) ? readFileSync(path) : undefined);
  const files = new Map<string, StaticFile>();
  for (const path of paths) {
    if (Object.values(endings).includes(extname(path))) continue;
    const type = types[extname(path)];
    if (type === undefined) throw new Error(`${path} has no content type`);
    const coded = Object.fromEntries(
      codings.map((coding) => [coding, read(path + endings[coding])]).filter(([, bytes]) => bytes !== undefined),
    ) as StaticFile['coded'];
    files.set(relative(folder, path).replaceAll('\\', '/'), staticFile(type, read(path)!, coded));
  }
  return files;
}
