/** The secrets of an installation: from the settings, else made once and kept in the data folder, for the owner alone. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Ids } from './ids.ts';

export interface Secrets {
  readonly secret: string;
  readonly operatorToken: string;
}

export function readSecrets(config: Config, ids: Ids): Secrets {
  const kept = (given: string | null, name: string) => given ?? (config.store.kind === 'lmdb' ? keep(config.store.folder, name, ids) : ids.secret());
  return { secret: kept(config.secret, 'secret'), operatorToken: kept(config.operatorToken, 'operator-token') };
}

/** The file's content; a file that is not there yet is made with mode 600. */
function keep(folder: string, name: string, ids: Ids): string {
  const path = join(folder, name);
  try {
    writeFileSync(path, `${ids.secret()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
