/**
 * Programs of others that tests run, named as their packages are, and their installation: once for a run, before the
 * files run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { root } from '../../src/install/prepare.mjs';

/** Servers live where only an administrator's shell looks. */
export const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/** Another run may install at the same time. */
const patiently = ['-o', 'DPkg::Lock::Timeout=600'];

/** The library that gives a process another clock. */
export const faketime = () =>
  ['x86_64-linux-gnu', 'aarch64-linux-gnu', '.']
    .map((machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));

const answers =
  (...args) =>
  (program) =>
    spawnSync(program, args, { env: environment, stdio: 'ignore' });

/** Servers do not all end well when they are asked for their help: they are there if they start at all. */
const starts = (program) => answers('-h')(program).error === undefined;

/** A browser that is installed at this moment is there before its libraries are. */
const opens = (program) => answers('--version')(program).status === 0;

const programs = {
  'redis-server': starts,
  nginx: starts,
  haproxy: starts,
  slowhttptest: starts,
  'chromium-headless-shell': opens,
  chromium: opens,
  libfaketime: () => faketime() !== undefined,
  ffmpeg: starts,
  python3: starts,
};

/** Programs too large to be installed for a test. */
const large = ['ffmpeg', 'python3'];

/** A browser with windows will do where the one without is not to be had. */
const instead = { 'chromium-headless-shell': 'chromium' };

export const isThere = (program) => programs[program](program);

/**
 * Returns the programs that test files name, themselves or in a module that they reach; `inputs` has each module's
 * imports.
 */
export function programsOf(files, inputs) {
  const reached = new Set(files);
  for (const path of reached)
    for (const { path: used, external } of inputs[path]?.imports ?? []) if (!external) reached.add(used);
  const texts = [...reached]
    .filter((path) => inputs[path]?.imports.some(({ path: used }) => used === 'test/installed.ts'))
    .map((path) => readFileSync(join(root, path), 'utf8'));
  return Object.keys(programs).filter(
    (program) => !large.includes(program) && texts.some((text) => text.includes(`'${program}'`)),
  );
}

/**
 * Installs those that are missing, where packages may be installed; returns those that were installed and those that
 * are missing still.
 */
export async function installPrograms(wanted) {
  const missing = wanted.filter((program) => !isThere(program) && !Object.values(instead).includes(program));
  if (missing.length > 0 && process.getuid?.() === 0) {
    await apt(missing);
    // A package that the distribution does not have keeps the others from being installed with it.
    for (const program of missing) {
      if (!isThere(program)) await apt([program]);
      if (!isThere(program) && program in instead) await apt([instead[program]]);
    }
  }
  const [installed, lacking] = [missing.filter(isThere), missing.filter((program) => !isThere(program))];
  return { installed, lacking };
}

async function apt(packages) {
  const child = spawn('apt-get', [...patiently, 'install', '-y', '--no-install-recommends', ...packages], {
    env: { ...environment, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: 'ignore',
  });
  // Elsewhere there is no such program.
  await Promise.race([once(child, 'close'), once(child, 'error')]).catch(() => {});
}
