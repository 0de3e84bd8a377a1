/** Other versions of Node, as npm has them as packages, with what parley would be installed with under them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import type { Owner } from './folders.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The packages that the bundle leaves outside, and that are the same for every Node. */
const shared = ['lmdb', 'msgpackr'];

/** How long an installation may take, in milliseconds. */
const installMs = 60_000;

export interface OtherNode {
  /** The program. */
  readonly program: string;
  /** Lays the built command beside the packages for this Node, for as long as the test lasts: its path. */
  command(t: Owner): string;
}

/** The packages of a version: Node itself, and the HTTP engine's native part where parley names one for it. */
function packagesOf(version: string): string[] {
  const engine = `@uwsjs/${process.platform}-${process.arch}-${version.split('.')[0]}`;
  const wanted = (manifest.optionalDependencies as Readonly<Record<string, string>>)[engine];
  return [`node-${process.platform}-${process.arch}@${version}`, ...(wanted === undefined ? [] : [`${engine}@${wanted}`])];
}

/** Installed once, beside the project's packages; or why it is not there. */
export function otherNode(version: string): OtherNode | string {
  const folder = join(root, 'node_modules', '.cache', `parley-node-${version}`);
  const packages = join(folder, 'node_modules');
  const program = join(packages, `node-${process.platform}-${process.arch}`, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--fetch-retries=0', '--loglevel=error'];
    const { status, stderr } = spawnSync('npm', [...args, ...packagesOf(version)], { encoding: 'utf8', timeout: installMs, shell: process.platform === 'win32' });
    if (status !== 0) return `npm has not installed Node ${version} (${/npm error code (\S+)/.exec(stderr ?? '')?.[1] ?? 'it gave no reason'})`;
  }
  for (const name of shared) if (!existsSync(join(packages, name))) symlinkSync(join(root, 'node_modules', name), join(packages, name), 'junction');
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (stdout?.trim() !== `v${version}`) return `Node ${version} does not run here`;
  return { program, command: (t) => commandIn(folder, t) };
}

/** A module finds its packages from where it lies, so the bundle is linked there and not run from its own place. */
function commandIn(folder: string, t: Owner): string {
  execFileSync(process.execPath, [join(root, 'src', 'start.mjs'), '--help'], { stdio: 'ignore' });
  const place = mkdtempSync(join(folder, 'dist-'));
  t.teardown(async () => rmSync(place, { recursive: true, force: true }));
  for (const name of readdirSync(join(root, 'dist'))) if (/\.(?:mjs|cjs)$/.test(name)) linkSync(join(root, 'dist', name), join(place, name));
  return join(place, 'parley.mjs');
}
