/** The provider and the load in C (`bench/native`), built where a compiler is there. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vocabulary } from '../text.ts';

/** Paths of the programs and of the file that each takes: a word a line, JSON-escaped. */
export interface Native {
  readonly provider: string;
  readonly load: string;
  readonly vocabulary: string;
}

const sources = fileURLToPath(new URL('../native', import.meta.url));
const folder = fileURLToPath(new URL('../../dist/bench', import.meta.url));
const filesOf = {
  provider: ['provider.c', 'frames.c', 'common.c'],
  load: [
    'load.c',
    'job.c',
    'turns.c',
    'streams.c',
    'connection.c',
    'response.c',
    'answer.c',
    'histogram.c',
    'common.c',
  ],
} as const;

const builtAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/**
 * Builds the programs that are older than their sources. Returns null without a compiler, or on another kernel than the
 * programs are for.
 */
export function buildNative(): Native | null {
  if (process.platform !== 'linux' || spawnSync('cc', ['--version']).status !== 0) return null;
  mkdirSync(folder, { recursive: true });
  const newest = Math.max(...readdirSync(sources).map((name) => builtAt(join(sources, name))));
  const [provider, load] = (['provider', 'load'] as const).map((name) => {
    const path = join(folder, name);
    if (builtAt(path) < newest) compile(filesOf[name], path);
    return path;
  }) as [string, string];
  const words = join(folder, 'vocabulary');
  writeFileSync(words, vocabulary.map((word) => `${JSON.stringify(word).slice(1, -1)}\n`).join(''));
  return { provider, load, vocabulary: words };
}

function compile(files: readonly string[], path: string): void {
  const made = `${path}.${process.pid}`;
  const { status, stderr } = spawnSync('cc', ['-O2', '-std=c11', '-Wall', '-Wextra', '-o', made, ...files], {
    cwd: sources,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The ruler does not build.\n${stderr}`);
  renameSync(made, path);
}
