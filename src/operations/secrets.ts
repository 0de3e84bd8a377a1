/**
 * An installation's secrets: from the settings, or generated once and kept in the data folder, readable for its owner
 * alone.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SettingError, type Config } from '../base/config.ts';
import type { Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { codePoints } from '../base/text.ts';
import { codeOfThrown } from '../base/thrown.ts';

export interface Secrets {
  readonly secret: string;
  readonly operatorToken: string;
}

/** A secret's file in the data folder, and the setting that it stands for. */
interface Kept {
  readonly name: string;
  readonly variable: string;
  readonly charactersMin: number;
  /** The advice on a file that is too short. */
  readonly advice: string;
}

const keptSecret: Kept = {
  name: 'secret',
  variable: 'PARLEY_SECRET',
  charactersMin: limits.secretCharactersMin,
  advice: 'restore its content, or remove it, and the next start makes a new one, which opens no stored credential',
};

const keptToken: Kept = {
  name: 'operator-token',
  variable: 'PARLEY_OPERATOR_TOKEN',
  charactersMin: limits.operatorTokenCharactersMin,
  advice: 'remove it, and the next start makes a new one',
};

export function readSecrets(config: Config, ids: Ids): Secrets {
  const settled = (given: string | null, kept: Kept): string => {
    if (given !== null) return given;
    // All processes on one Redis need the same secrets, so none of them can generate one.
    if (config.store.kind === 'redis')
      throw new SettingError(`${kept.variable} must be set with Redis, the same for every process.`);
    if (config.store.kind === 'memory') return ids.secret();
    keep(config.store.folder, kept.name, ids.secret());
    return read(config.store.folder, kept);
  };
  return { secret: settled(config.secret, keptSecret), operatorToken: settled(config.operatorToken, keptToken) };
}

/** The installation's secret, from the setting or its file, or null. Generates none. */
export function presentSecret({ secret, store }: Pick<Config, 'secret' | 'store'>): string | null {
  if (secret !== null || store.kind !== 'lmdb') return secret;
  return existsSync(join(store.folder, keptSecret.name)) ? read(store.folder, keptSecret) : null;
}

/** Stores the secret in a data folder that has none. */
export const keepSecret = (folder: string, secret: string): void => keep(folder, keptSecret.name, secret);

/** Creates the file with mode 600, unless there is one. */
function keep(folder: string, name: string, secret: string): void {
  try {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (codeOfThrown(error) !== 'EEXIST') throw error;
  }
}

/** The file's content. A generated secret has the right form, but its file may have been edited or replaced. */
function read(folder: string, { name, variable, charactersMin, advice }: Kept): string {
  let secret: string;
  try {
    secret = readFileSync(join(folder, name), 'utf8').trim();
  } catch (error) {
    throw new SettingError(
      `${variable} is not set, and ${name} in the data folder cannot be read (${codeOfThrown(error)}).`,
    );
  }
  if (codePoints(secret) >= charactersMin) return secret;
  throw new SettingError(
    `${variable} must have at least ${charactersMin} characters, and the file ${name} in the data folder has fewer: ${advice}.`,
  );
}
