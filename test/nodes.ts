/** Other versions of Node, as npm has them as packages, with what parley would be installed with under them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { inTurn } from '../src/install/turns.mjs';
import type { Owner } from './folders.ts';
import { patient } from './run/speed.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The packages that the bundle leaves outside, and that are the same for every Node. */
const shared = ['lmdb', 'msgpackr'];

/** The versions of Node that are kept up, the recommended one first. */
const versions = ['24.21.0', '22.23.3', '20.20.2', '26.10.0'] as const;

const major = (version: string): string => version.split('.')[0]!;

/** The versions beside the one that runs the tests: each is 100 MB to fetch, so only the first is used in each run. */
export const otherVersions = versions.filter((each) => major(each) !== major(process.versions.node));

/** Milliseconds that an installation may take. */
const installMs = patient(60_000);

export interface OtherNode {
  /** The program. */
  readonly program: string;
  /** Lays the built command beside the packages for this Node, for as long as the test lasts: its path. */
  command(t: Owner): string;
}

interface Package {
  readonly name: string;
  readonly version: string;
}

/** The packages of a version: the HTTP engine's native part where parley names one for it, and Node itself. */
function packagesOf(version: string): Package[] {
  const engine = `@uwsjs/${process.platform}-${process.arch}-${version.split('.')[0]}`;
  const wanted = (manifest.optionalDependencies as Readonly<Record<string, string>>)[engine];
  return [
    ...(wanted === undefined ? [] : [{ name: engine, version: wanted }]),
    { name: `node-${process.platform}-${process.arch}`, version },
  ];
}

/**
 * Unpacks what npm has fetched. `npm install` would take twice the CPU time, for packages that have no dependencies.
 */
function unpack(folder: string, { name, version }: Package): void {
  const archive = join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  const [unfinished, place] = [`${archive}.unpacked`, join(folder, 'node_modules', name)];
  mkdirSync(unfinished, { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', unfinished]);
  mkdirSync(dirname(place), { recursive: true });
  // An earlier attempt may have ended half-way.
  rmSync(place, { recursive: true, force: true });
  renameSync(join(unfinished, 'package'), place);
  for (const done of [unfinished, archive]) rmSync(done, { recursive: true });
}

/** Installed once, beside the project's packages; or why it is not there. */
export function otherNode(version: string): Promise<OtherNode | string> {
  const folder = join(root, 'node_modules', '.cache', `parley-node-${version}`);
  // Another file of the same run may want it at the same time.
  return inTurn(
    `${folder}-installing`,
    () => {},
    async () => nodeIn(folder, version),
  );
}

function nodeIn(folder: string, version: string): OtherNode | string {
  const packages = join(folder, 'node_modules');
  const program = join(
    packages,
    `node-${process.platform}-${process.arch}`,
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  );
  if (!existsSync(program)) {
    mkdirSync(packages, { recursive: true });
    const wanted = packagesOf(version);
    const args = [
      'pack',
      '--pack-destination',
      folder,
      '--no-progress',
      '--fetch-retries=0',
      '--loglevel=error',
      ...wanted.map(({ name, version }) => `${name}@${version}`),
    ];
    const { status, stderr } = spawnSync('npm', args, {
      encoding: 'utf8',
      timeout: installMs,
      shell: process.platform === 'win32',
    });
    if (status !== 0)
      return `npm has not fetched Node ${version} (${/npm error code (\S+)/.exec(stderr ?? '')?.[1] ?? 'it gave no reason'})`;
    for (const each of wanted) unpack(folder, each);
  }
  for (const name of shared)
    if (!existsSync(join(packages, name)))
      symlinkSync(join(root, 'node_modules', name), join(packages, name), 'junction');
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (stdout?.trim() !== `v${version}`) return `Node ${version} does not run here`;
  return { program, command: (t) => commandIn(folder, t) };
}

/** A module finds its packages from where it lies, so the bundle is linked there and not run from its own place. */
function commandIn(folder: string, t: Owner): string {
  execFileSync(process.execPath, [join(root, 'src', 'install', 'start.mjs'), '--help'], { stdio: 'ignore' });
  const place = mkdtempSync(join(folder, 'dist-'));
  t.teardown(async () => rmSync(place, { recursive: true, force: true }));
  for (const name of readdirSync(join(root, 'dist')))
    if (/\.(?:mjs|cjs|css|ico)$/.test(name)) linkSync(join(root, 'dist', name), join(place, name));
  return join(place, 'parley.mjs');
}
