/**
 * The folder's file `owner`: who owns the folder, and the owner's beat, a number that rises for as long as it lives.
 * The file has one size for ever, so that it is replaced in one write and needs no room on a full disk. The system's
 * lock on it (flock) is held by the open file, ends with the process that opened it, however that ends, and is seen
 * from every container on the same kernel.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { OwnerRecord } from './owner.ts';
import { codeOfThrown } from '../../base/thrown.ts';

/** `held`: by this process; `busy`: by another one; `none`: this system has no such lock, or no program to take it. */
export type Lock = 'held' | 'busy' | 'none';

/** The file's content. */
export interface OwnerLook {
  /** Null if the file is new or cannot be read. */
  readonly record: OwnerRecord | null;
  readonly isNew: boolean;
  /** The file's own inode, which differs from the record's in a copy. */
  readonly inode: number;
  readonly beat: number;
}

const recordBytes = 512;
const beatDigits = 15;
const fileBytes = recordBytes + 1 + beatDigits + 1;

export const ownerPath = (folder: string): string => join(folder, 'owner');

export class OwnerFile {
  #path: string;
  readonly #descriptor: number;
  #beat = 0;

  private constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
  }

  /** Opens the folder's file, and creates it if it is missing. */
  static open(folder: string): OwnerFile {
    const path = ownerPath(folder);
    return new OwnerFile(path, openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600));
  }

  /** Opens a file that is to replace the folder's. */
  static create(folder: string, id: string): OwnerFile {
    const path = `${ownerPath(folder)}-${id}`;
    return new OwnerFile(path, openSync(path, 'wx+', 0o600));
  }

  /** Opens the folder's file for reading, or null. */
  static openToRead(folder: string): OwnerFile | null {
    const path = ownerPath(folder);
    try {
      return new OwnerFile(path, openSync(path, 'r'));
    } catch (error) {
      if (codeOfThrown(error) === 'ENOENT') return null;
      throw error;
    }
  }

  get path(): string {
    return this.#path;
  }

  get inode(): number {
    return fstatSync(this.#descriptor).ino;
  }

  /**
   * Whether a path still leads to this file. The path is opened for it, because a network's file system then asks its
   * server.
   */
  isAt(path: string): boolean {
    try {
      const there = openSync(path, 'r');
      try {
        const [own, other] = [fstatSync(this.#descriptor), fstatSync(there)];
        return own.ino === other.ino && own.dev === other.dev;
      } finally {
        closeSync(there);
      }
    } catch {
      return false;
    }
  }

  /** Whether any name leads to this file. */
  get isLinked(): boolean {
    return fstatSync(this.#descriptor).nlink > 0;
  }

  look(): OwnerLook {
    return lookAt(this.#descriptor);
  }

  write(record: OwnerRecord): void {
    this.#beat = 0;
    const text = JSON.stringify(record).padEnd(recordBytes);
    writeSync(this.#descriptor, `${text}\n${padded(0)}\n`, 0, 'latin1');
  }

  beat(): void {
    writeSync(this.#descriptor, padded(++this.#beat), recordBytes + 1, 'latin1');
  }

  /** Puts this file in the place of the folder's. */
  replace(folder: string): void {
    renameSync(this.#path, ownerPath(folder));
    this.#path = ownerPath(folder);
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }

  /** Tries to take the system's lock, or to find whether another process holds it. */
  lock(kind: 'exclusive' | 'shared' = 'exclusive'): Promise<Lock> {
    return lockOf(this.#descriptor, kind);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Removes the files that a process made to replace `owner`, and did not live to use. */
export function removeLeftReplacements(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith('owner-')) rmSync(join(folder, name), { force: true });
}

const padded = (beat: number): string => String(beat).padStart(beatDigits, '0');

function lookAt(descriptor: number): OwnerLook {
  const { ino: inode, size } = fstatSync(descriptor);
  const bytes = Buffer.alloc(fileBytes);
  readSync(descriptor, bytes, 0, fileBytes, 0);
  return {
    record: recordOf(bytes),
    isNew: size === 0,
    inode,
    beat: Number(bytes.toString('latin1', recordBytes + 1, recordBytes + 1 + beatDigits)),
  };
}

function recordOf(bytes: Buffer): OwnerRecord | null {
  try {
    return JSON.parse(bytes.toString('latin1', 0, recordBytes)) as OwnerRecord;
  } catch {
    return null;
  }
}

/** Exit code of the program `flock` if another process holds the lock. */
const heldElsewhere = 1;

/**
 * Node offers no lock of the system. The program `flock` (util-linux, busybox) locks the open file that it inherits,
 * and the lock stays with this process when the program ends.
 */
function lockOf(descriptor: number, kind: 'exclusive' | 'shared'): Promise<Lock> {
  return new Promise((resolve) => {
    const program = spawn('flock', [kind === 'shared' ? '-sn' : '-xn', '3'], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
    });
    program.on('error', () => resolve('none'));
    program.on('exit', (code) => resolve(code === 0 ? 'held' : code === heldElsewhere ? 'busy' : 'none'));
  });
}

/** The device and inode that a path leads to; null if nothing is there. */
export function placeOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
