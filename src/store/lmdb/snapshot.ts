/**
 * One state of an LMDB environment, read and never written: LMDB keeps it whole for its reader while another process,
 * the owner perhaps, goes on writing. The pages that it needs are not used again meanwhile, so the file may grow.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { RootDatabase, Transaction } from 'lmdb';
import { StoreUnavailable } from '../../store.ts';
import type { Readable } from '../embedded/dump.ts';
import type { Row } from '../engine.ts';

export class LmdbSnapshot implements Readable {
  readonly name = 'lmdb';
  readonly #folder: string;
  #opened: { readonly database: RootDatabase<Buffer, string>; readonly transaction: Transaction; readonly mark: string } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<void> {
    // Opened for reading, lmdb leaves an empty folder behind where there was none.
    if (!existsSync(join(this.#folder, 'data.mdb'))) throw new StoreUnavailable(`The folder ${this.#folder} holds no store.`);
    try {
      const database = open<Buffer, string>({ path: this.#folder, noSubdir: false, encoding: 'binary', readOnly: true });
      // The name first: if a commit comes in between, it names an earlier state than the one that is read, and nobody goes on with it.
      const mark = lastCommit(database);
      database.resetReadTxn();
      this.#opened = { database, transaction: database.useReadTransaction(), mark };
    } catch (error) {
      throw new StoreUnavailable(`The folder ${this.#folder} cannot be opened as a store: ${(error as Error).message}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    const { database, transaction } = this.#reading;
    this.#opened = null;
    transaction.done();
    await database.close();
  }

  mark(): string {
    return this.#reading.mark;
  }

  get(key: string): Uint8Array | undefined {
    const { database, transaction } = this.#reading;
    return database.get(key, { transaction });
  }

  *range(from: string, to: string): Generator<Row> {
    const { database, transaction } = this.#reading;
    for (const { key, value } of database.getRange({ start: from, end: to, transaction })) yield [key, value];
  }

  /** Whoever reads a snapshot writes what it reads somewhere, and waits there. */
  async pause(): Promise<void> {}

  get #reading() {
    if (this.#opened === null) throw new Error('The store is not open.');
    return this.#opened;
  }
}

const lastCommit = (database: RootDatabase<Buffer, string>): string => String((database.getStats() as { lastTxnId: number }).lastTxnId);
