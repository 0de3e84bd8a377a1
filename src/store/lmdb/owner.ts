/**
 * The process that owns a folder, and whether it is still alive. Process ids are reused, so the time of the process's start is stored
 * as well (Linux only; elsewhere the id must do). A process in another container cannot be seen and counts as dead: two containers
 * must not share a folder.
 */
import { readFileSync } from 'node:fs';

export interface Owner {
  readonly pid: number;
  /** The machine's boot and the process's start since then; empty where the system does not report them. */
  readonly started: string;
}

/** The store's row that names its owner. */
export const ownerKey = 'owner';

/** The owner in the row, if that process is alive. */
export function livingOwner(row: Uint8Array | undefined): Owner | null {
  const owner = row === undefined ? null : (JSON.parse(Buffer.from(row).toString()) as Owner);
  return owner !== null && isAlive(owner) ? owner : null;
}

export const thisProcess = (): Owner => ({ pid: process.pid, started: startOf(process.pid) });

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any error but "no such process" means that the process exists, perhaps of another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startOf(owner.pid) === owner.started;
}

/** Stands for the start of a process that has ended while its parent has not waited for it yet. */
const dead = 'dead';

function startOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in brackets and may contain anything; the state follows it, and the start is the 20th field from the state on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? dead : `${boot}:${fields[19]}`;
  } catch {
    return '';
  }
}
