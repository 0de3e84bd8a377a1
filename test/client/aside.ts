/**
 * Packages that a test tries the client with and that are too large for every installation: installed when they are
 * wanted, and kept.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { patient } from '../run/speed.mjs';

const cache = fileURLToPath(new URL('../../node_modules/.cache/parley-aside', import.meta.url));

export interface Aside {
  /** Reason why it is not there, or null. */
  readonly why: string | null;
  readonly folder: string;
  /** The file that an import of it loads; null without it. */
  readonly entry: string | null;
}

/** Installs it unless it is there already. Without a registry, or with PARLEY_OFFLINE=1, it says so. */
export async function installedAside(name: string, version: string): Promise<Aside> {
  const home = join(cache, `${name.replace('/', '+')}@${version}`);
  const folder = join(home, 'node_modules', ...name.split('/'));
  if (!existsSync(join(folder, 'package.json')) && process.env['PARLEY_OFFLINE'] !== '1') {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), '{"private":true}');
    spawnSync('npm', ['install', `${name}@${version}`, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: home,
      stdio: 'ignore',
      timeout: patient(120_000),
    });
  }
  if (!existsSync(join(folder, 'package.json')))
    return { why: `${name} ${version} is not installed and cannot be installed here`, folder, entry: null };
  const { resolve } = createRequire(join(home, 'package.json'));
  let entry: string | null = null;
  try {
    entry = resolve(name);
  } catch {
    // A package of programs alone has nothing to import.
  }
  return { why: null, folder, entry };
}
