/**
 * The files of an LMDB environment. LMDB gives them the modes that the umask leaves, so they are made here first, for
 * their owner alone: they hold conversations, also where others may enter the folder.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The file in the folder that holds all data. */
export const dataFile = (folder: string): string => join(folder, 'data.mdb');

/** The file beside the data that all processes share which have the store open. */
export const lockFile = (folder: string): string => join(folder, 'lock.mdb');

const ownerOnly = 0o600;

/**
 * Creates the file if it is missing. Leaves a failure to LMDB, which opens the file next and says what is wrong with
 * it.
 */
export function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', ownerOnly));
  } catch {
    // The file exists, or cannot be created.
  }
}

/**
 * Makes the file, or takes it from everybody but its owner. An existing file is not opened for that: closing it would
 * release the locks that LMDB has on it in this process.
 */
export function keepPrivate(file: string): void {
  makePrivate(file);
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, ownerOnly);
  } catch {
    // Another user's file, which the doctor names.
  }
}
