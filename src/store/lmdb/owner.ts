/**
 * The process that owns a folder, and whether it is still alive. Process ids are reused, so the time of the process's
 * start belongs to its identity (Linux only; elsewhere the id must do). A process id means something within one
 * namespace of ids alone: a process in another container may have the same one.
 */
import { codeOfThrown } from '../../base/thrown.ts';
import { readFileSync, readlinkSync } from 'node:fs';

export interface Owner {
  readonly pid: number;
  /** The machine's boot and the process's start since then; empty where the system does not report them. */
  readonly started: string;
}

/** An owner as the folder's file `owner` describes it. */
export interface OwnerRecord extends Owner {
  /** A random value that distinguishes one ownership from the next. */
  readonly id: string;
  /** The machine's boot; empty where the system does not report it. All containers on one kernel share it. */
  readonly boot: string;
  /** The namespace of process ids; empty where the system has none. */
  readonly namespace: string;
  /** The file's inode. A copy of the file has another one. */
  readonly inode: number;
  /** Whether the owner holds a lock of the system on the file. */
  readonly locked: boolean;
}

/** The database's row that names its owner, for versions that know no file `owner`. */
export const ownerKey = 'owner';

/** The row of this version has the ownership's id as well. */
const ownerIn = (row: Uint8Array): Owner & { readonly id?: string } => JSON.parse(Buffer.from(row).toString());

/** The owner in the row that an earlier version left, if that process is alive. */
export function livingOwner(row: Uint8Array | undefined): Owner | null {
  const owner = row === undefined ? null : ownerIn(row);
  return owner !== null && owner.id === undefined && isAlive(owner) ? owner : null;
}

/** Whether the row is of this ownership. */
export const isOf = (row: Uint8Array | undefined, id: string): boolean => row !== undefined && ownerIn(row).id === id;

export const thisProcess = (): Owner => ({ pid: process.pid, started: startOf(process.pid) });

/** Whether a process of this namespace is alive. */
export function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any error but "no such process" means that the process exists, perhaps of another user.
    if (codeOfThrown(error) === 'ESRCH') return false;
  }
  return startOf(owner.pid) === owner.started;
}

export const bootId = (): string => textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());

export const pidNamespace = (): string => textOf(() => readlinkSync('/proc/self/ns/pid'));

/** Stands for the start of a process that has ended while its parent has not waited for it yet. */
const dead = 'dead';

function startOf(pid: number): string {
  return textOf(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in brackets and may contain anything; the state follows it, and the start is the
    // 20th field from the state on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? dead : `${bootId()}:${fields[19]}`;
  });
}

function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
