/** What a folder's journal says beyond what its database has: for whoever opens the folder, and for whoever only looks at it. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { goesOn, recordsIn } from './segment.ts';
import type { Entry, Found, SegmentFile } from './segment.ts';

/** Where the database keeps the number of the first record that it may not have. */
export const nextKey = 'journal-next';

/** Where the database keeps the name that its journal's files bear too, so that no other's are taken for its own. */
export const nameKey = 'journal-of';

export const nextOf = (stored: Uint8Array | undefined): number => (stored === undefined ? 0 : Number(Buffer.from(stored).toString()));

export const pathOf = (folder: string, first: number): string => join(folder, `journal-${String(first).padStart(15, '0')}`);

const fileName = /^journal-(\d{15})$/;

/** The journal's files, the oldest first. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => fileName.test(name))
    .sort()
    .map((name) => join(folder, name));

export interface Replayed {
  /** The number of the first record that there is not. */
  readonly next: number;
  /** Files with whole records behind one that is missing or damaged: not the end of a write that was cut, but a loss. */
  readonly broken: readonly string[];
}

/** What a database says of its journal. */
export interface Standing {
  /** The number of the first record that it may not have. */
  readonly next: number;
  /** Null where it has been opened by no version that gives one. */
  readonly name: string | null;
}

export const standingOf = (get: (key: string) => Uint8Array | undefined): Standing => {
  const name = get(nameKey);
  return { next: nextOf(get(nextKey)), name: name === undefined ? null : Buffer.from(name).toString() };
};

/** The name of its database, as the first record of a file bears it. */
export const nameEntry = (name: string): Entry => ({ key: nameKey, offset: 0, pieces: [Buffer.from(name)] });

/** Throws where a file is another database's. One without a name is of a version that gave none. */
function refuseForeign(file: string, { records }: Found, { name }: Standing): void {
  const borne = records[0]?.entries.find(({ key }) => key === nameKey)?.pieces?.[0];
  if (borne === undefined || Buffer.from(borne).toString() === name) return;
  throw new Error(`${basename(file)} belongs to another store than the data.mdb beside it; bring each back to its own`);
}

/** Applies the records from a number on, as far as they follow each other. */
export function replay(files: readonly SegmentFile[], standing: Standing, apply: (entry: Entry) => void): Replayed {
  const found = files.map(recordsIn);
  for (const [index, { path }] of files.entries()) refuseForeign(path, found[index]!, standing);
  const broken: string[] = [];
  let { next } = standing;
  for (const [index, { path }] of files.entries()) {
    const segment = found[index]!;
    const end = refusedFrom(files[index + 1]?.path, found[index + 1]);
    const kept = segment.records.filter(({ number }) => number < end);
    for (const { number, entries } of kept) {
      if (number !== next) continue;
      next++;
      for (const entry of entries) if (entry.key !== nameKey) apply(entry);
    }
    if (kept.some(({ number }) => number > next) || goesOn(segment, next)) broken.push(path);
  }
  return { next, broken };
}

/** A file that holds its first record shows that those from there on in the file before were refused when they were written. */
function refusedFrom(path: string | undefined, found: Found | undefined): number {
  const first = Number(path?.slice(-15));
  return found?.records[0]?.number === first ? first : Infinity;
}
