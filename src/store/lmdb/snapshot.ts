/**
 * One state of a folder, read and never written, while another process, its owner perhaps, goes on writing. LMDB keeps a
 * state of its own whole for a reader (the pages that this needs are not used again meanwhile, so the file may grow);
 * over it stands what the journal says beyond it, held in memory.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { RootDatabase, Transaction } from 'lmdb';
import { StoreUnavailable } from '../../store.ts';
import type { Readable } from '../embedded/dump.ts';
import type { Engine, Row } from '../engine.ts';
import { filesIn, nextKey, nextOf, replay, standingOf } from '../journal/replay.ts';
import { readSegment } from '../journal/segment.ts';
import type { SegmentFile } from '../journal/segment.ts';
import { Waiting } from '../journal/waiting.ts';
import { rowsOf } from './rows.ts';

interface State {
  readonly transaction: Transaction;
  readonly waiting: Waiting;
  /** The number of the first record that is not in it. */
  readonly next: number;
}

/** The database takes from the journal once in thousands of rows: that it does so at each of many looks in a row does not happen. */
const looksMax = 50;

export class LmdbSnapshot implements Readable, Engine {
  readonly name = 'lmdb';
  readonly #folder: string;
  readonly #files: typeof segmentsIn;
  #database: RootDatabase<Buffer, string> | null = null;
  #state: State | null = null;

  /** `files` reads the journal's files, where that is not done in the usual way. */
  constructor(folder: string, files = segmentsIn) {
    this.#folder = folder;
    this.#files = files;
  }

  async open(): Promise<void> {
    // Opened for reading, lmdb leaves an empty folder behind where there was none.
    if (!existsSync(join(this.#folder, 'data.mdb'))) throw new StoreUnavailable(`The folder ${this.#folder} holds no store.`);
    try {
      this.#database = open<Buffer, string>({ path: this.#folder, noSubdir: false, encoding: 'binary', readOnly: true });
      this.#state = look(this.#database, () => this.#files(this.#folder));
    } catch (error) {
      await this.#database?.close();
      throw new StoreUnavailable(`The folder ${this.#folder} cannot be opened as a store: ${(error as Error).message}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#reading.transaction.done();
    this.#state = null;
    await this.#database!.close();
  }

  mark(): string {
    return String(this.#reading.next);
  }

  get(key: string): Uint8Array | undefined {
    const { transaction, waiting } = this.#reading;
    const value = waiting.get(key);
    return value === undefined ? this.#database!.get(key, { transaction }) : (value ?? undefined);
  }

  range(from: string, to: string, reverse = false): Iterable<Row> {
    const { transaction, waiting } = this.#reading;
    return waiting.over(rowsOf(this.#database!, from, to, reverse, transaction), from, to, reverse);
  }

  write(): Promise<never> {
    return Promise.reject(new Error('This is only a look.'));
  }

  /** Whoever reads a snapshot writes what it reads somewhere, and waits there. */
  async pause(): Promise<void> {}

  get #reading(): State {
    if (this.#state === null) throw new Error('The store is not open.');
    return this.#state;
  }
}

/**
 * The journal's files go once the database has their rows, so they are read behind the database's own state; and if by
 * then it has taken more, a file may have gone in between, and both are read again. What the files say is taken apart
 * only then: that can take longer than their writer needs for the next ones.
 */
function look(database: RootDatabase<Buffer, string>, read: () => SegmentFile[]): State {
  for (let looks = 1; ; looks++) {
    database.resetReadTxn();
    const transaction = database.useReadTransaction();
    const beneath = (key: string): Uint8Array | undefined => database.get(key, { transaction });
    const from = standingOf(beneath);
    const files = unlessGone(read);
    database.resetReadTxn();
    if (files !== null && nextOf(database.get(nextKey)) === from.next) {
      const waiting = new Waiting();
      const { next } = replay(files, from, (entry) => waiting.apply(entry, beneath));
      return { transaction, waiting, next };
    }
    transaction.done();
    if (looks === looksMax) throw new Error('it is written to faster than it can be read');
  }
}

const segmentsIn = (folder: string): SegmentFile[] => filesIn(folder).map(readSegment);

/** Null if a file has gone. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
