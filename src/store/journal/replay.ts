/** The rows of a folder's journal that its database may not have: for the process that opens the folder, and for readers. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { goesOn, recordsIn } from './segment.ts';
import type { JournalEntry, Found, SegmentFile } from './segment.ts';

/** The database's row with the number of the first record that it may not have. */
export const nextKey = 'journal-next';

/** The database's row with its name, which its journal's files contain too, so that another database's files are not applied. */
export const nameKey = 'journal-of';

export const nextOf = (stored: Uint8Array | undefined): number => (stored === undefined ? 0 : Number(Buffer.from(stored).toString()));

export const segmentPath = (folder: string, first: number): string => join(folder, `journal-${String(first).padStart(15, '0')}`);

const fileName = /^journal-(\d{15})$/;

/** The journal's files, oldest first. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => fileName.test(name))
    .sort()
    .map((name) => join(folder, name));

export interface Replayed {
  /** The number of the first record that does not exist. */
  readonly next: number;
  /** Files with whole records after a missing or damaged one: this is a loss, not the end of an interrupted write. */
  readonly broken: readonly string[];
}

/** The facts about its journal in a database's rows. */
export interface JournalStanding {
  /** The number of the first record that the database may not have. */
  readonly next: number;
  /** Null if no version that gives names has opened the database. */
  readonly name: string | null;
}

export const journalStanding = (get: (key: string) => Uint8Array | undefined): JournalStanding => {
  const name = get(nameKey);
  return { next: nextOf(get(nextKey)), name: name === undefined ? null : Buffer.from(name).toString() };
};

/** The name of the database, in the first record of a file. */
export const nameEntry = (name: string): JournalEntry => ({ key: nameKey, offset: 0, pieces: [Buffer.from(name)] });

/** Throws if a file belongs to another database. A file without a name was written by a version that gave none. */
function refuseForeign(file: string, { records }: Found, { name }: JournalStanding): void {
  const borne = records[0]?.entries.find(({ key }) => key === nameKey)?.pieces?.[0];
  if (borne === undefined || Buffer.from(borne).toString() === name) return;
  throw new Error(`${basename(file)} belongs to another store than the data.mdb beside it; bring each back to its own`);
}

/** Applies the records from a number on, as far as they follow each other. */
export function replay(files: readonly SegmentFile[], standing: JournalStanding, apply: (entry: JournalEntry) => void): Replayed {
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

/** If a file has its first record, the records with that number or a later one in the file before were refused when they were written. */
function refusedFrom(path: string | undefined, found: Found | undefined): number {
  const first = Number(path?.slice(-15));
  return found?.records[0]?.number === first ? first : Infinity;
}
