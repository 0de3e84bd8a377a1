/** A small disk of a test's own, to fill. */
import { spawnSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type Owner } from './folders.ts';

const mounted = (folder: string, size: string): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', folder]).status === 0;
const unmount = (folder: string): unknown => spawnSync('umount', ['-l', folder]);

let reason: string | null | undefined;

/** Returns the reason why no small disk can be made here, or null: it takes a file system that can be mounted. */
export function lackingDisk(): string | null {
  if (reason === undefined) {
    const tried = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/tmp']);
    reason =
      process.getuid?.() === 0 && tried.status === 0 ? null : 'only an administrator may mount a small disk to fill';
  }
  return reason;
}

/** The folder of a disk of so many bytes, as `mount` names them. */
export async function smallDisk(t: Owner, size: string): Promise<string> {
  const folder = await temporaryFolder(t);
  if (!mounted(folder, size)) throw new Error('The small disk cannot be mounted.');
  process.once('exit', () => unmount(folder));
  t.teardown(async () => unmount(folder));
  return folder;
}

/** The file that takes all the room. */
export const ballastOf = (folder: string): string => join(folder, 'ballast');

/** Takes all the room that is left, to the last byte. */
export async function fill(folder: string): Promise<void> {
  const file = await open(ballastOf(folder), 'a');
  try {
    for (const size of [1024 * 1024, 4096, 1]) {
      const bytes = Buffer.alloc(size);
      while ((await file.write(bytes).catch(() => null)) !== null);
    }
  } finally {
    await file.close();
  }
}
