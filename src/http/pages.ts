/** Pages as the build left them next to the bundle, and the headers of the console's pages (contract 9). */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ResponseHeaders } from '../base/edge.ts';
import { readStaticFiles, type StaticFile } from '../base/static-files.ts';

/** Allows nothing inline, nothing from other origins, no text that becomes script, and no frame around the page. */
export const pagesPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The headers of every page and of every file that belongs to it. */
const common: ResponseHeaders = {
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The page names the files of one build and must never be older than the server. */
export const pageHeaders: ResponseHeaders = {
  ...common,
  'cache-control': 'no-store',
  'content-security-policy': pagesPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

/** A file's name has the digest of its content. */
export const assetHeaders: ResponseHeaders = { ...common, 'cache-control': 'public, max-age=31536000, immutable' };

export interface PageFiles {
  /** The one HTML file. */
  readonly page: StaticFile | undefined;
  /** Scripts and styles by their paths below `/console/`. */
  readonly files: ReadonlyMap<string, StaticFile>;
}

let known: PageFiles | null = null;

/** Read once, at the first request for one: a start does not wait for them. */
export function pages(): PageFiles {
  if (known === null) {
    const files = new Map(readStaticFiles(builtFolder('console', 'index.html')));
    const page = files.get('index.html');
    files.delete('index.html');
    known = { page, files };
  }
  return known;
}

/**
 * Finds a folder of built pages by a file in it: beside the bundle; a process that runs from the sources looks where
 * the build puts the bundle.
 */
export function builtFolder(name: string, file: string): string {
  const [beside, built] = [`./${name}/`, `../../dist/${name}/`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return existsSync(beside! + file) ? beside! : built!;
}
