/**
 * The rows of a folder's journal that its database may not have: for the process that opens the folder, and for
 * readers.
 */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { StoreUnavailable } from '../store.ts';
import type { NotedEnd } from './end.ts';
import { goesOn, isDamaged, recordsIn } from './segment.ts';
import type { JournalEntry, Found, SegmentFile } from './segment.ts';
import { messageOfThrown } from '../../base/thrown.ts';

/** The database's row with the number of the first record that it may not have. */
export const nextKey = 'journal-next';

/**
 * The database's row with the same number while the database is open. An earlier version leaves it behind with an
 * earlier number.
 */
export const openKey = 'journal-open';

/**
 * The database's row with its name, which its journal's files contain too, so that another database's files are not
 * applied.
 */
export const nameKey = 'journal-of';

export const nextOf = (stored: Uint8Array | undefined): number =>
  stored === undefined ? 0 : Number(Buffer.from(stored).toString());

export const segmentPath = (folder: string, first: number): string =>
  join(folder, `journal-${String(first).padStart(15, '0')}`);

const fileName = /^journal-(\d{15})$/;

/** The journal's files, oldest first. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => fileName.test(name))
    .sort()
    .map((name) => join(folder, name));

/** A file that shows a loss of records, which is not the end of an interrupted write. */
export interface Loss {
  readonly path: string;
  /** The fault of the file, as the end of a sentence. */
  readonly reason: string;
  /** Whether a loss of power explains it: what was newest when the power went, and nothing else. */
  readonly isOfNewest: boolean;
}

export interface Replayed {
  /** The number of the first record that does not exist. */
  readonly next: number;
  readonly losses: readonly Loss[];
}

/** The facts about its journal in a database's rows. */
export interface JournalStanding {
  /** The number of the first record that the database may not have. */
  readonly next: number;
  /** Null if no version that gives names has opened the database. */
  readonly name: string | null;
  /** Whether the database was not closed, and so needs the file that begins at `next`. */
  readonly open: boolean;
  /** The number of the first record that nobody has written, as far as it was noted. */
  readonly end: number;
}

export const journalStanding = (
  get: (key: string) => Uint8Array | undefined,
  end: NotedEnd | null,
): JournalStanding => {
  const [stored, open] = [get(nameKey), get(openKey)];
  const next = nextOf(get(nextKey));
  const name = stored === undefined ? null : Buffer.from(stored).toString();
  return {
    next,
    name,
    open: open !== undefined && nextOf(open) === next,
    end: end?.name === (name ?? '') ? end.next : 0,
  };
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
export function replay(
  files: readonly SegmentFile[],
  standing: JournalStanding,
  apply: (entry: JournalEntry) => void,
): Replayed {
  const segments = files.map(recordsIn);
  for (const [index, { path }] of files.entries()) refuseForeign(path, segments[index]!, standing);
  const losses: Loss[] = [];
  if (standing.open && !files.some(({ path }) => firstOf(path) === standing.next))
    losses.push({ path: segmentPath('', standing.next), reason: 'is missing', isOfNewest: false });
  const isOfNewest = files.some(({ path }) => firstOf(path) <= standing.next);
  let { next } = standing;
  for (const [index, { path }] of files.entries()) {
    const segment = segments[index]!;
    const end = refusedFrom(files[index + 1]?.path, segments[index + 1]);
    const records = segment.records.filter(({ number }) => number < end);
    for (const { number, entries } of records) {
      if (number !== next) continue;
      next++;
      for (const entry of entries) if (entry.key !== nameKey) apply(entry);
    }
    const beyond = records.find(({ number }) => number > next);
    if (beyond !== undefined)
      losses.push({
        path,
        reason: `continues at record ${beyond.number}, and what is before it ends at record ${next - 1}`,
        isOfNewest,
      });
    else if (goesOn(segment, next))
      losses.push({ path, reason: `is damaged at record ${next}, and records follow it`, isOfNewest });
    else if (next < end && isDamaged(segment, next))
      losses.push({ path, reason: `is damaged at its last record, ${next}`, isOfNewest });
  }
  const last = files.at(-1)?.path ?? segmentPath('', standing.next);
  if (next < standing.end && losses.length === 0)
    losses.push({
      path: last,
      reason: `was cut before record ${next}, and had record ${standing.end - 1}`,
      isOfNewest: true,
    });
  return { next, losses };
}

const firstOf = (path: string): number => Number(path.slice(-15));

/**
 * Throws unless nothing is lost, or the first loss is the accepted one (the name of its file) or one that a loss of
 * power explains.
 */
export function refuseLosses({ losses: [loss] }: Replayed, accepted: string | null, lostPower = false): void {
  if (loss === undefined || (lostPower && loss.isOfNewest)) return;
  const name = basename(loss.path);
  if (name !== accepted)
    throw new RecordsLost(
      `${name} ${loss.reason}: records are lost, as in a copy that was made while the server ran`,
      name,
    );
}

/** The journal and the database beside it are not whole. */
export class RecordsLost extends Error {
  /** The name of the file that shows the loss. */
  readonly file: string;

  constructor(message: string, file: string) {
    super(message);
    this.file = file;
  }
}

/** Whether the message of LMDB's error reports pages that are not as it wrote them. */
const isDamage = (message: string): boolean => /^MDB_(?:CORRUPTED|PAGE_NOTFOUND|INVALID|PANIC|BAD_TXN)\b/.test(message);

/** An error of opening a folder, in one sentence. */
export function unopened(folder: string, error: unknown): StoreUnavailable {
  const reason = messageOfThrown(error);
  const message =
    error instanceof RecordsLost
      ? `The folder ${folder} is not whole: ${reason}. Bring back a whole copy of the folder, or start with PARLEY_ACCEPT_LOSS=${error.file} to do without what is lost.`
      : isDamage(reason)
        ? `The file ${join(folder, 'data.mdb')} is damaged (${reason}). Bring back the last good copy of the folder, or name an empty folder.`
        : `The folder ${folder} cannot be opened as a store: ${reason}`;
  return new StoreUnavailable(message, { cause: error });
}

/**
 * If a file has its first record, the records with that number or a later one in the file before were refused when they
 * were written.
 */
function refusedFrom(path: string | undefined, found: Found | undefined): number {
  const first = path === undefined ? NaN : firstOf(path);
  return found?.records[0]?.number === first ? first : Infinity;
}
