/** An installation's secrets: from the settings, or generated once and kept in the data folder, readable for its owner alone. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SettingError, type Config } from './config.ts';
import type { Ids } from './ids.ts';
import { limits } from './limits.ts';

export interface Secrets {
  readonly secret: string;
  readonly operatorToken: string;
}

export function readSecrets(config: Config, ids: Ids): Secrets {
  const settled = (given: string | null, variable: string, name: string): string => {
    if (given !== null) return given;
    // All processes on one Redis need the same secrets, so none of them can generate one.
    if (config.store.kind === 'redis') throw new SettingError(`${variable} must be set with Redis, the same for every process.`);
    return config.store.kind === 'lmdb' ? kept(config.store.folder, name, () => ids.secret()) : ids.secret();
  };
  return {
    secret: settled(config.secret, 'PARLEY_SECRET', 'secret'),
    operatorToken: config.operatorToken ?? longEnough(settled(null, 'PARLEY_OPERATOR_TOKEN', 'operator-token')),
  };
}

/** A generated secret has the right form, but its file may have been edited. */
function longEnough(token: string): string {
  const least = limits.operatorTokenCharactersMin;
  if (token.length >= least) return token;
  throw new SettingError(`PARLEY_OPERATOR_TOKEN must have at least ${least} characters, and the file operator-token in the data folder has fewer: remove it, and the next start makes a new one.`);
}

/** The installation's secret, from the setting or its file; null if there is none. Generates none. */
export function presentSecret({ secret, store }: Pick<Config, 'secret' | 'store'>): string | null {
  if (secret !== null || store.kind !== 'lmdb') return secret;
  const path = join(store.folder, 'secret');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

/** Stores the secret in a data folder that has none. */
export const keepSecret = (folder: string, secret: string): void => void kept(folder, 'secret', () => secret);

/** The file's content; a missing file is created with mode 600. */
function kept(folder: string, name: string, make: () => string): string {
  const path = join(folder, name);
  try {
    writeFileSync(path, `${make()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
