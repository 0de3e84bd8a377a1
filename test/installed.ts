/** Servers of others that tests run, named as their packages are. */
import { spawnSync } from 'node:child_process';

/** Servers live where only an administrator's shell looks. */
export const environment = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };

const found = (server: string): boolean => spawnSync(server, ['-v'], { env: environment }).status === 0;

/** Why a server is not there to test on, or null. Where packages may be installed, it is installed. */
export function whyMissing(server: 'redis-server' | 'nginx' | 'haproxy'): string | null {
  if (found(server)) return null;
  if (process.getuid?.() === 0) spawnSync('apt-get', ['install', '-y', '--no-install-recommends', server], { stdio: 'ignore' });
  return found(server) ? null : `${server} is not installed and cannot be installed here`;
}
