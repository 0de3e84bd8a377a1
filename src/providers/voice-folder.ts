/** Checks at the start the folder that `PARLEY_VOICE_FOLDER` names. */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { SettingError } from '../base/config.ts';
import { codeOfThrown } from '../base/thrown.ts';

/** Reason for which the folder's contents cannot be listed; null if they can. */
export function voiceFolderProblem(folder: string): string | null {
  const path = resolve(folder);
  try {
    readdirSync(path);
    return null;
  } catch (error) {
    const code = codeOfThrown(error);
    return code === 'ENOTDIR' ? `${path} is not a folder` : `${path} cannot be read (${code})`;
  }
}

/** Throws a `SettingError` if the variable is set to something other than a readable folder. */
export function checkVoiceFolder(folder: string | null): void {
  const problem = folder === null ? null : voiceFolderProblem(folder);
  if (problem !== null) throw new SettingError(`PARLEY_VOICE_FOLDER must be a folder that can be read: ${problem}.`);
}
