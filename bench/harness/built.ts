/**
 * Builds the helpers that run as separate processes into JavaScript: the time of a TypeScript loader would count as
 * theirs.
 */
import { build } from 'esbuild';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const made = new Map<string, Promise<string>>();

/**
 * The path of the program that a source file of the benchmarks becomes: beside the product, since files that its
 * modules read from beside themselves are there.
 */
export function built(source: URL): Promise<string> {
  const file = fileURLToPath(source);
  let path = made.get(file);
  if (path === undefined) made.set(file, (path = make(file)));
  return path;
}

async function make(file: string): Promise<string> {
  const outfile = join(dist, `bench-${basename(file).replace(/ts$/, 'mjs')}`);
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}
