/**
 * Which process owns a folder, and whether it still lives. A process id alone comes round again, so the moment of the
 * process's start stands beside it (Linux; elsewhere the id must do). A process within another container is not
 * seen and counts as dead: two containers must not share a folder.
 */
import { readFileSync } from 'node:fs';

export interface Owner {
  readonly pid: number;
  /** Boot of the machine and start of the process since then; empty where the system does not tell. */
  readonly started: string;
}

/** The row of the store that names its owner. */
export const ownerKey = 'owner';

/** The owner that the row names, if that process lives. */
export function livingOwner(row: Uint8Array | undefined): Owner | null {
  const owner = row === undefined ? null : (JSON.parse(Buffer.from(row).toString()) as Owner);
  return owner !== null && isAlive(owner) ? owner : null;
}

export const thisProcess = (): Owner => ({ pid: process.pid, started: startOf(process.pid) });

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Anything but "no such process" means that there is one, of another user perhaps.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startOf(owner.pid) === owner.started;
}

/** The start of a process that has ended and that its parent has not noticed yet. */
const dead = 'dead';

function startOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in brackets and may hold anything; the state follows it, and the start is the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? dead : `${boot}:${fields[19]}`;
  } catch {
    return '';
  }
}
