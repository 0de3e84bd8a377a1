/** Servers whose program is changed on purpose, to show that a test finds it. */
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from '../folders.ts';

/** A place in the program, which must be there, and the code that replaces it. */
export type Change = readonly [place: RegExp, code: string];

/** The command of a server's program with some changes. */
export async function changedProgram(t: Owner, ...changes: readonly Change[]): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const folder = await temporaryFolder(t);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, 'dist'));
  for (const name of await readdir(join(root, 'dist')))
    if (name !== 'server.cjs' && name !== 'parley.mjs')
      await symlink(join(root, 'dist', name), join(folder, 'dist', name));
  let program = await readFile(join(root, 'dist', 'server.cjs'), 'latin1');
  for (const [place, code] of changes) {
    if (!place.test(program)) throw new Error(`the program has no ${String(place)}`);
    program = program.replace(place, code);
  }
  await writeFile(join(folder, 'dist', 'server.cjs'), program, 'latin1');
  await writeFile(join(folder, 'dist', 'parley.mjs'), await readFile(join(root, 'dist', 'parley.mjs')));
  return join(folder, 'dist', 'parley.mjs');
}
