/**
 * One state of a folder, for reading only, while another process, perhaps its owner, continues writing. LMDB keeps a
 * state intact for a reader (it does not reuse the pages of that state meanwhile, so the file may grow). Over it come
 * the newer records of the journal, held in memory.
 */
import { existsSync } from 'node:fs';
import { open } from 'lmdb';
import type { RootDatabase, Transaction } from 'lmdb';
import { StoreUnavailable } from '../store.ts';
import type { Readable } from '../embedded/dump.ts';
import type { Engine, Row } from '../engine.ts';
import { readJournalEnd } from '../journal/end.ts';
import { filesIn, journalStanding, refuseLosses, replay, unopened } from '../journal/replay.ts';
import { readSegment } from '../journal/segment.ts';
import type { SegmentFile } from '../journal/segment.ts';
import { WaitingRows } from '../journal/waiting.ts';
import { dataFile, lockFile, makePrivate } from './files.ts';
import { checkHeader } from './header.ts';
import { refuseSameProcessId } from './ownership.ts';
import { rangeRows } from './rows.ts';
import { codeOfThrown } from '../../base/thrown.ts';

interface State {
  readonly transaction: Transaction;
  readonly waiting: WaitingRows;
}

/**
 * The database takes rows from the journal once in thousands of rows, so it does not do so during each of many attempts
 * in a row.
 */
const looksMax = 50;

export interface SnapshotOptions {
  /** Reads the journal's files in place of the usual function. */
  readonly files?: typeof segmentsIn;
  /** The name of the file whose loss of records is accepted. */
  readonly acceptLoss?: string | null;
  /** Another folder that leads to the database, for a lock file that the folder itself shall not have. */
  readonly place?: string;
}

export class LmdbSnapshot implements Readable, Engine {
  readonly name = 'lmdb';
  readonly #folder: string;
  readonly #files: typeof segmentsIn;
  readonly #acceptLoss: string | null;
  readonly #place: string;
  #database: RootDatabase<Buffer, string> | null = null;
  #state: State | null = null;

  constructor(folder: string, { files = segmentsIn, acceptLoss = null, place = folder }: SnapshotOptions = {}) {
    this.#folder = folder;
    this.#files = files;
    this.#acceptLoss = acceptLoss;
    this.#place = place;
  }

  async open(): Promise<void> {
    // Even if lmdb opens only for reading, it creates a missing folder.
    if (!existsSync(dataFile(this.#folder))) throw new StoreUnavailable(`The folder ${this.#folder} holds no store.`);
    checkHeader(this.#folder);
    await refuseSameProcessId(this.#folder);
    makePrivate(lockFile(this.#place));
    try {
      this.#database = open<Buffer, string>({ path: this.#place, noSubdir: false, encoding: 'binary', readOnly: true });
      this.#state = look(this.#database, this.#folder, this.#files, this.#acceptLoss);
    } catch (error) {
      await this.#database?.close();
      throw unopened(this.#folder, error);
    }
  }

  async close(): Promise<void> {
    this.#reading.transaction.done();
    this.#state = null;
    await this.#database!.close();
  }

  get(key: string): Uint8Array | undefined {
    const { transaction, waiting } = this.#reading;
    const value = waiting.get(key);
    return value === undefined ? this.#database!.get(key, { transaction }) : (value ?? undefined);
  }

  range(from: string, to: string, reverse = false): Iterable<Row> {
    const { transaction, waiting } = this.#reading;
    return waiting.over(rangeRows(this.#database!, from, to, reverse, transaction), from, to, reverse);
  }

  write(): Promise<never> {
    return Promise.reject(new Error('A snapshot is read-only.'));
  }

  /**
   * A separate pause is not needed: a caller that reads a snapshot also writes the rows somewhere, and waits there.
   */
  async pause(): Promise<void> {}

  get #reading(): State {
    if (this.#state === null) throw new Error('The store is not open.');
    return this.#state;
  }
}

/**
 * The journal's files are removed once the database has their rows, so they are read after the database's own state. If
 * the database has taken more by then, a file may have been removed in between, and both are read again. The files are
 * parsed only after that, because parsing can take longer than their writer needs for the next ones.
 */
function look(
  database: RootDatabase<Buffer, string>,
  folder: string,
  read: typeof segmentsIn,
  acceptLoss: string | null,
): State {
  for (let looks = 1; ; looks++) {
    // Before all others: a later state has this record too.
    const end = readJournalEnd(folder);
    database.resetReadTxn();
    const transaction = database.useReadTransaction();
    const beneath = (key: string): Uint8Array | undefined => database.get(key, { transaction });
    const from = journalStanding(beneath, end);
    const files = unlessGone(() => read(folder));
    database.resetReadTxn();
    const to = journalStanding((key) => database.get(key), null);
    if (files !== null && to.next === from.next && to.open === from.open) {
      const waiting = new WaitingRows();
      const replayed = replay(files, from, (entry) => waiting.apply(entry, beneath));
      refuseLosses(replayed, acceptLoss);
      return { transaction, waiting };
    }
    transaction.done();
    if (looks === looksMax) throw new Error('it changes faster than it can be read');
  }
}

const segmentsIn = (folder: string): SegmentFile[] => filesIn(folder).map(readSegment);

/** Null if a file was removed meanwhile. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (codeOfThrown(error) === 'ENOENT') return null;
    throw error;
  }
}
