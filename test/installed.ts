/** Programs of others that tests run, named as their packages are. */
import { spawnSync } from 'node:child_process';

/** Servers live where only an administrator's shell looks. */
export const environment = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };

/** Files run several abreast, and each may find a program missing. */
const patiently = ['-o', 'DPkg::Lock::Timeout=120'];

type Program = 'redis-server' | 'nginx' | 'haproxy' | 'slowhttptest' | 'chromium' | 'chromium-headless-shell';

/** Servers do not all end well when they are asked for their help. A browser does, but not before its libraries are installed. */
function found(program: string): boolean {
  if (program.startsWith('chromium')) return spawnSync(program, ['--version']).status === 0;
  return spawnSync(program, ['-h'], { env: environment }).error === undefined;
}

/** Why a program is not there to test with, or null. Where packages may be installed, it is installed. */
export function whyMissing(program: Program): string | null {
  if (found(program)) return null;
  if (process.getuid?.() === 0) spawnSync('apt-get', [...patiently, 'install', '-y', '--no-install-recommends', program], { stdio: 'ignore' });
  return found(program) ? null : `${program} is not installed and cannot be installed here`;
}

/** Why a program is not there to test with, or null. Unlike servers and the browser, tools that are large are not installed for a test. */
export const whyAbsent = (program: 'ffmpeg' | 'python3'): string | null => (found(program) ? null : `${program} is not installed`);
