/** The helpers that run as processes of their own, made JavaScript: a loader for TypeScript would count as theirs. */
import { build } from 'esbuild';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../dist/bench', import.meta.url));
const made = new Map<string, Promise<string>>();

/** The path of the program that a source file of the benchmarks becomes. */
export function built(source: URL): Promise<string> {
  const file = fileURLToPath(source);
  let path = made.get(file);
  if (path === undefined) made.set(file, (path = make(file)));
  return path;
}

async function make(file: string): Promise<string> {
  const outfile = join(folder, basename(file).replace(/ts$/, 'mjs'));
  await build({ entryPoints: [file], outfile, bundle: true, platform: 'node', target: 'node20', format: 'esm', packages: 'external', logLevel: 'warning' });
  return outfile;
}
