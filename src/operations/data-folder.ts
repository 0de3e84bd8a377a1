/** The folder that an embedded installation lives in, for its owner alone. */
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SettingError } from '../base/config.ts';
import { codeOfThrown } from '../base/thrown.ts';

/** Makes it where it is not there yet; throws a `SettingError` if it cannot be used. */
export function makeDataFolder(folder: string): void {
  try {
    make(resolve(folder));
    // The slash refuses a file.
    accessSync(`${folder}/`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new SettingError(`PARLEY_STORE names a folder that cannot be used (${codeOfThrown(error)}): ${folder}.`);
  }
}

/**
 * Folder by folder, because `mkdir` with `recursive` never returns where the file system makes no folders, as beneath
 * /proc.
 */
function make(path: string): void {
  if (existsSync(path)) return;
  make(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}
