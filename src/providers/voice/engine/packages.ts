/** Folders of the optional packages of the embedded voice. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);

export function isInstalled(name: string): boolean {
  try {
    packageFolder(name);
    return true;
  } catch {
    return false;
  }
}

/** The folder of an installed package; throws a sentence if it is not installed. */
export function packageFolder(name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    const path = join(folder, name);
    try {
      require.resolve(join(path, 'package.json'));
      return path;
    } catch {
      // Parent folder.
    }
  }
  throw new Error(`The package ${name} is not installed: run npm ci without --omit=optional.`);
}
