/**
 * Containers as far as a folder is concerned: a server in a new mount namespace and a new process namespace, in which
 * it is process 1.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ChildProcess } from 'node:child_process';

/** Each ends with the process before it, which a process 1 would not do by itself. */
const container = [
  '/usr/bin/setpriv',
  '--pdeathsig',
  'KILL',
  '/usr/bin/unshare',
  '--mount',
  '--pid',
  '--fork',
  '--mount-proc',
  '--kill-child',
] as const;

/** A container without the program that takes the system's locks: there the lease alone decides. */
const lockless = [...container, '/usr/bin/env', 'PATH=/nonexistent'] as const;

export const containers = { container, lockless };

let reason: string | null | undefined;

/** Returns the reason why no namespaces can be made here, or null. */
export function lackingContainers(): string | null {
  if (reason !== undefined) return reason;
  const [program, ...words] = container;
  const made = spawnSync(program, [...words, '/usr/bin/env', 'true']);
  return (reason =
    made.status === 0 ? null : 'mount and process namespaces need root and the programs setpriv and unshare');
}

/** Sends a signal to the server in a container: `unshare` passes none on. */
export function signalWithin({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  const inner = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  process.kill(Number(inner), signal);
}
