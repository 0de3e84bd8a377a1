/** What a folder's journal says beyond what its database has: for whoever opens the folder, and for whoever only looks at it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { records } from './segment.ts';
import type { Entry } from './segment.ts';

/** Where the database keeps the number of the first record that it may not have. */
export const nextKey = 'journal-next';

export const nextOf = (stored: Uint8Array | undefined): number => (stored === undefined ? 0 : Number(Buffer.from(stored).toString()));

export const pathOf = (folder: string, first: number): string => join(folder, `journal-${String(first).padStart(15, '0')}`);

const fileName = /^journal-(\d{15})$/;

/** The journal's files, the oldest first. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => fileName.test(name))
    .sort()
    .map((name) => join(folder, name));

/** Applies the records from a number on, as far as they follow each other: the number of the first one that there is not. */
export function replay(files: readonly string[], from: number, apply: (entry: Entry) => void): number {
  const firsts = files.map((file) => Number(file.slice(-15)));
  let next = from;
  for (const [index, file] of files.entries()) {
    for (const { number, entries } of records(file)) {
      // A record at or beyond the next file's first was refused when it was written.
      if (number > next || number >= (firsts[index + 1] ?? Infinity)) break;
      if (number < next) continue;
      next++;
      for (const entry of entries) apply(entry);
    }
  }
  return next;
}
