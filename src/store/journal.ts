/**
 * A journal before a database. A batch is one record at the end of a file, and counts as committed from then on. The
 * database gets the rows later, thousands at a time, and only their last state: most rows of a turn are replaced or
 * removed by then, and it never sees rows that came and went. Rows that the database does not have yet are held in
 * memory over its own. After a crash the files are read again.
 *
 * Records are numbered without a gap, across files, and the database stores the number up to which it has every record.
 * A loss of power costs the newest records and never one in the middle: reading stops at the first missing record.
 */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, unlinkSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { limits } from '../base/limits.ts';
import { AppendedBytes, type Engine, type Row, type Write } from './engine.ts';
import { JournalEnd, readJournalEnd } from './journal/end.ts';
import {
  filesIn,
  journalStanding,
  nameEntry,
  nameKey,
  nextKey,
  openKey,
  refuseLosses,
  replay,
  segmentPath,
  unopened,
} from './journal/replay.ts';
import { readSegment, Segment, type JournalEntry } from './journal/segment.ts';
import { WaitingRows } from './journal/waiting.ts';

/** The database beneath. */
export interface Base extends Engine {
  /** Once this resolves, all writes are on the disk. */
  awaitFlush(): Promise<void>;
  /**
   * Throws if another process owns the database and its journal: a record that was written before this call is
   * acknowledged only after it.
   */
  verify?(): void;
  /** Whether the last process ended with its machine: what it had not flushed may be lost. */
  readonly lostPower?: boolean;
}

/** After a failure of the database, one in so many chances to write to it is used. */
const retryEvery = 64;
/**
 * Multiples of the bounds: the first may wait in the journal while the database is busy with earlier rows, the second
 * while it fails.
 */
const behindMax = 2;
const backlogMax = 8;

export interface JournalOptions {
  /** A batch counts as committed only once it is on the disk. */
  readonly flushes: boolean;
  /**
   * Makes a name for the database and its files, so that another database's files are refused; without it a name that
   * exists is kept.
   */
  readonly newName?: () => string;
  /** The name of the file whose loss of records is accepted, as the refusal to open named it. */
  readonly acceptLoss?: string | null;
  /** Reports in a sentence a loss that was accepted or mended. */
  readonly notify?: (sentence: string) => void;
  /** Number of rows and bytes that may wait before the database gets them, and number of rows in a transaction. */
  readonly bounds?: Readonly<Record<'journalRowsMax' | 'journalBytesMax' | 'journalChunkRows', number>>;
}

/**
 * Rows that are set aside for the database, the files that they are in, and the number of the first record after them.
 */
interface Sealed {
  readonly rows: WaitingRows;
  readonly files: readonly string[];
  readonly next: number;
}

export class JournaledEngine implements Engine {
  readonly name: string;
  readonly #base: Base;
  readonly #folder: string;
  readonly #flushes: boolean;
  readonly #newName: (() => string) | undefined;
  readonly #bounds: NonNullable<JournalOptions['bounds']>;
  readonly #acceptLoss: string | null;
  readonly #notify: (sentence: string) => void;
  readonly #end: JournalEnd;
  #segment: Segment | null = null;
  /** Files of an earlier process that could not be read to their ends. */
  #broken = new Set<string>();
  /** The earlier files, by path, whose rows still wait. */
  #files: string[] = [];
  #waiting = new WaitingRows();
  /** The rows that the database is writing now. */
  #sealed: Sealed | null = null;
  /** The number of the next record. */
  #next = 0;
  #name: string | null = null;
  #taking: Promise<boolean> | null = null;
  /** The last flush of a record; the record's rows then wait for the database. */
  #flushing: Promise<void> | null = null;
  /** Whether the database's last write failed, and how many chances to write there were since. */
  #failed = false;
  #asksSinceFailure = 0;

  constructor(
    base: Base,
    folder: string,
    { flushes, newName, acceptLoss = null, notify = () => {}, bounds = limits }: JournalOptions,
  ) {
    this.name = base.name;
    this.#base = base;
    this.#folder = folder;
    this.#end = new JournalEnd(folder);
    this.#flushes = flushes;
    this.#newName = newName;
    this.#acceptLoss = acceptLoss;
    this.#notify = notify;
    this.#bounds = bounds;
  }

  async open(): Promise<void> {
    await this.#base.open();
    try {
      this.#readLeft();
      // From here on the database needs the file of its next record.
      this.#openSegment();
      // Writes the records of an earlier process to the database.
      if (this.#files.length > 0) await this.#take();
      if (this.#name === null && this.#newName !== undefined) await this.#christen(this.#newName());
      if (!journalStanding((key) => this.#base.get(key), null).open) await this.#base.write(standingRows(this.#next));
      this.#end.open(this.#next, this.#name);
    } catch (error) {
      this.#end.close();
      this.#segment?.close();
      this.#segment = null;
      await this.#base.close();
      throw unopened(this.#folder, error);
    }
  }

  /** Rows that the database does not accept stay in the files, for the next process that opens it. */
  async close(): Promise<void> {
    await this.#taking;
    while ((this.#sealed !== null || this.#waiting.size > 0) && (await this.#relieve()));
    const segment = this.#segment;
    const empty = this.#sealed === null && this.#waiting.size === 0;
    this.#segment?.close();
    this.#segment = null;
    if (empty && segment !== null && (await this.#leaves())) {
      unlinkSync(segment.path);
      this.#end.remove();
    }
    this.#end.close();
    await this.#base.close();
  }

  /** Notes that the database needs no file any more; resolves with whether that is stored. */
  async #leaves(): Promise<boolean> {
    try {
      await this.#base.write([[openKey, null]]);
      this.#base.verify?.();
      return true;
    } catch {
      // The file stays, as after a crash.
      return false;
    }
  }

  get(key: string): Uint8Array | undefined {
    let value = this.#waiting.get(key);
    if (value === undefined) value = this.#sealed?.rows.get(key);
    return value === undefined ? this.#base.get(key) : (value ?? undefined);
  }

  range(from: string, to: string, reverse: boolean): Iterable<Row> {
    let rows: Iterable<Row> = this.#base.range(from, to, reverse);
    for (const newer of [this.#sealed?.rows, this.#waiting])
      if (newer !== undefined) rows = newer.over(rows, from, to, reverse);
    return rows;
  }

  async write(rows: Iterable<Write>, fresh?: ReadonlySet<string>): Promise<void> {
    await this.#roomMade();
    const entries: JournalEntry[] = [];
    if (this.#segment === null || this.#segment.torn) this.#openSegment();
    for (const write of rows) entries.push(this.#entry(write));
    for (;;) {
      const segment = this.#append(entries);
      if (this.#flushes) await (this.#flushing = segment.awaitFlush());
      // Only afterwards: a process that has taken the folder since then has read the record.
      this.#base.verify?.();
      if (segment.isLinked) break;
      await this.#mend();
    }
    this.#end.note(++this.#next);
    for (const entry of entries) this.#apply(entry, fresh?.has(entry.key));
    if (this.#full(1) && this.#taking === null && this.#asks()) void this.#relieve();
  }

  #append(entries: readonly JournalEntry[]): Segment {
    const segment = this.#segment!;
    segment.append(
      this.#next,
      segment.bytes > 0 || this.#name === null ? entries : [...entries, nameEntry(this.#name)],
    );
    return segment;
  }

  /** Somebody removed the file: its rows are in memory alone. The database gets them, and a new file begins. */
  async #mend(): Promise<void> {
    const lost = this.#segment!;
    this.#segment = null;
    lost.close();
    this.#openSegment();
    while (this.#sealed !== null || this.#waiting.size > 0)
      if (!(await (this.#taking ?? this.#relieve()))) throw refuses();
    this.#notify(
      `The file ${basename(lost.path)} was removed from the folder ${this.#folder} while it was in use. Its records are in the database: nothing is lost.`,
    );
  }

  pause(): Promise<void> {
    return this.#base.pause();
  }

  /** Tries a failed database again even if nothing is written: otherwise its recovery would stay unnoticed. */
  async sound(): Promise<void> {
    if (!this.#failed) return;
    // The rows of a record that is being flushed do not wait yet: without this, its file would be removed without them.
    let flushing: Promise<void> | null;
    do {
      flushing = this.#flushing;
      try {
        await flushing;
      } catch {
        // The record's writer reports this error.
      }
    } while (flushing !== this.#flushing);
    if (this.#failed && !(await (this.#taking ?? this.#relieve()))) throw refuses();
  }

  #entry([key, change]: Write): JournalEntry {
    if (change instanceof AppendedBytes)
      return { key, offset: this.#waiting.lengthOf(key) ?? this.get(key)?.length ?? 0, pieces: change.pieces };
    return { key, offset: 0, pieces: change === null ? null : [change] };
  }

  #apply(entry: JournalEntry, fresh?: boolean): void {
    this.#waiting.apply(entry, (key) => this.get(key), fresh);
  }

  #full(times: number): boolean {
    const { journalRowsMax, journalBytesMax } = this.#bounds;
    return this.#waiting.size >= times * journalRowsMax || (this.#segment?.bytes ?? 0) >= times * journalBytesMax;
  }

  /** Makes the writer wait while the database is behind; throws once too much waits for a database that fails. */
  async #roomMade(): Promise<void> {
    if (this.#taking !== null && this.#full(behindMax)) await this.#taking;
    while (this.#full(backlogMax)) {
      const taking = this.#taking ?? (this.#asks() ? this.#relieve() : null);
      if (taking === null || !(await taking)) throw refuses();
    }
  }

  /** Whether to try the database now: after a failure only seldom, because each attempt writes all of the rows. */
  #asks(): boolean {
    return !this.#failed || this.#asksSinceFailure++ % retryEvery === 0;
  }

  /** Writes the rows set aside, or else all waiting rows, to the database; resolves with whether that succeeded. */
  #relieve(): Promise<boolean> {
    this.#taking = this.#take().then(
      () => {
        this.#failed = false;
        return true;
      },
      () => {
        if (!this.#failed) this.#asksSinceFailure = 1;
        this.#failed = true;
        return false;
      },
    );
    return this.#taking.finally(() => (this.#taking = null));
  }

  async #take(): Promise<void> {
    this.#sealed ??= this.#seal();
    const { rows, files, next } = this.#sealed;
    // The database's own writes may reach the disk before the files do; after a loss of power half of a batch would
    // then be stored without the record.
    if (!this.#flushes) await this.#flushFiles(files);
    for (const chunk of rows.chunks(this.#bounds.journalChunkRows)) await this.#base.write(chunk);
    await this.#base.write(standingRows(next));
    await this.#base.awaitFlush();
    this.#sealed = null;
    for (const file of files) {
      // A process that has taken the folder may not have read the files yet.
      this.#base.verify?.();
      await this.#discard(file);
    }
  }

  /** Keeps a file that could not be read to its end under another name: it may be the only copy of something. */
  #discard(file: string): Promise<void> {
    return this.#broken.delete(file) ? rename(file, this.#rejected(file)) : rm(file, { force: true });
  }

  #rejected(file: string): string {
    return join(this.#folder, `rejected-${basename(file)}`);
  }

  /** Asynchronous, because a disk is slow. A file that somebody removed is on no disk, and its rows are in memory. */
  async #flushFiles(files: readonly string[]): Promise<void> {
    for (const path of files) await withFile(path, 'r+', (file) => file.datasync()).catch(unlessGone);
    await withFile(this.#folder, 'r', (folder) => folder.sync());
  }

  /** Sets aside the rows that wait; later records go to another file. */
  #seal(): Sealed {
    if (this.#segment !== null) this.#openSegment();
    const rows = this.#waiting;
    this.#waiting = new WaitingRows();
    return { rows, files: this.#files.splice(0), next: this.#next };
  }

  #openSegment(): void {
    const before = this.#segment;
    const path = segmentPath(this.#folder, this.#next);
    // A file without a record has the same name as the file to be created.
    if (before !== null && before.first === this.#next) {
      if (!before.torn) return;
      before.close();
      this.#segment = null;
    }
    // The file is replaced in one step: the database needs a file of this name.
    const segment = new Segment(join(this.#folder, 'journal-new'), this.#next);
    try {
      this.#base.verify?.();
      segment.moveTo(path);
      if (this.#flushes) this.#flushFolder();
    } catch (error) {
      segment.remove();
      throw error;
    }
    if (this.#segment !== null) {
      this.#segment.close();
      this.#files.push(this.#segment.path);
    }
    this.#segment = segment;
  }

  /** Flushes the folder's entry as well: after a loss of power a file must be found, not only its contents. */
  #flushFolder(): void {
    const folder = openSync(this.#folder, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  }

  /**
   * The database's name is on the disk before any file has it: so no file can exist beside a database that does not
   * know the name.
   */
  async #christen(name: string): Promise<void> {
    await this.#base.write([[nameKey, Buffer.from(name)]]);
    await this.#base.awaitFlush();
    this.#name = name;
  }

  /** Reads the rows that an earlier process left in its files; they wait for the database. */
  #readLeft(): void {
    const standing = journalStanding((key) => this.#base.get(key), readJournalEnd(this.#folder));
    const files = filesIn(this.#folder);
    const replayed = replay(files.map(readSegment), standing, (entry) => this.#apply(entry));
    refuseLosses(replayed, this.#acceptLoss, !this.#flushes && this.#base.lostPower);
    const { next, losses } = replayed;
    this.#name = standing.name;
    this.#next = next;
    this.#broken = new Set(losses.map(({ path }) => path));
    for (const { path, reason } of losses)
      this.#notify(`${basename(path)} ${reason}. The store starts without what is lost.`);
    // The first file of this process takes the place of one without a record.
    const reused = segmentPath(this.#folder, next);
    if (this.#broken.delete(reused) && existsSync(reused)) copyFileSync(reused, this.#rejected(reused));
    this.#files = files.filter((path) => path !== reused);
  }
}

/** The rows of a database that is open and has every record before this one. */
const standingRows = (next: number): Write[] => [nextKey, openKey].map((key) => [key, Buffer.from(String(next))]);

const unlessGone = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};

const refuses = (): Error => new Error('The database rejects the records that wait in the journal.');

export async function withFile(
  path: string,
  flags: 'r' | 'r+',
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}
