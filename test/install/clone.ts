/** Clones of this project whose command is a stub, for tests of the way to it. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryFolder, type Owner } from '../folders.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Clone {
  readonly path: (name: string) => string;
  /** Runs `start.mjs` with these arguments to its end, in this Node unless `node` has the words of another. */
  readonly run: (
    args?: string[],
    env?: NodeJS.ProcessEnv,
    node?: readonly string[],
  ) => Promise<{ code: unknown; stdout: string; stderr: string }>;
}

/** Makes a folder with the packages of this clone, but for some. */
export async function linkPackages(folder: string, isWanted: (name: string) => boolean): Promise<void> {
  await mkdir(folder);
  for (const name of await readdir(join(root, 'node_modules')))
    if (isWanted(name)) await symlink(join(root, 'node_modules', name), join(folder, name));
}

/**
 * The packages of the clones. The client of Redis would take three quarters of each build, and none of them uses it.
 */
const packages = join(await temporaryFolder(t), 'node_modules');
await linkPackages(packages, (name) => name !== 'redis');
await mkdir(join(packages, 'redis'));
for (const [name, text] of Object.entries({ 'package.json': '{}', 'index.js': '' }))
  await writeFile(join(packages, 'redis', name), text);

/** A clone whose command is `command`. */
export async function cloneWith(t: Owner, command: string): Promise<Clone> {
  const folder = await temporaryFolder(t);
  const path = (name: string): string => join(folder, name);
  for (const name of ['src/install', 'src/cli', 'src/store/redis']) await mkdir(path(name), { recursive: true });
  await mkdir(path('src/providers/voice/engine'), { recursive: true });
  await mkdir(path('machines'));
  for (const name of [
    'package.json',
    'package-lock.json',
    'src/install/start.mjs',
    'src/install/prepare.mjs',
    'src/install/turns.mjs',
    'src/install/load.mjs',
  ])
    await copyFile(join(root, name), path(name));
  await utimes(path('package-lock.json'), 1, 1);
  await symlink(packages, path('node_modules'));
  await writeFile(path('src/cli/cli.ts'), command);
  await writeFile(path('src/providers/voice/engine/main.ts'), '');
  const run: Clone['run'] = (args = [], env = { PATH: process.env['PATH'] }, [node, ...flags] = [process.execPath]) =>
    new Promise((resolve) => {
      execFile(node!, [...flags, path('src/install/start.mjs'), ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  return { path, run };
}
