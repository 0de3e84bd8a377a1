/**
 * The embedded default: an LMDB environment in a folder, with a journal before it (see `journal.ts`). It belongs to one process at
 * a time. A row names the owner; it is compared and set in one LMDB write transaction (LMDB's own lock keeps two openers apart,
 * and the system frees it when its holder dies). The row counts for as long as the process that it names is alive: see
 * `lmdb/owner.ts`.
 *
 * A step that resolved survives the death of the process. With `flushed` it also survives a loss of power, at the price of a wait
 * for the disk. With `committed` the system writes to the disk in its own time, in order, so that a loss of power costs the newest
 * steps and never mixes old with new.
 */
import { open } from 'lmdb';
import type { RootDatabase } from 'lmdb';
import { atTurnEnd } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Store } from './store.ts';
import { StoreUnavailable } from './store.ts';
import { EmbeddedStore } from './embedded.ts';
import { AppendedBytes, applyChange, type Row, type Write } from './engine.ts';
import { JournaledEngine, type Base } from './journal.ts';
import { dataFile, keepPrivate, lockFile } from './lmdb/files.ts';
import { checkHeader } from './lmdb/header.ts';
import { livingOwner, ownerKey, thisProcess } from './lmdb/owner.ts';
import type { Owner } from './lmdb/owner.ts';
import { rangeRows } from './lmdb/rows.ts';

export interface LmdbOptions {
  /** When a step counts as done: once it is committed to the system, or once it is on the disk. */
  readonly durability?: 'committed' | 'flushed';
  /** Names the store, so that another store's journal is refused. */
  readonly ids?: Ids;
}

export class LmdbEngine implements Base {
  readonly name = 'lmdb';
  readonly #folder: string;
  #opened: RootDatabase<Buffer, string> | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<void> {
    let database: RootDatabase<Buffer, string> | null = null;
    let holder: Owner | null;
    checkHeader(this.#folder);
    for (const file of [dataFile(this.#folder), lockFile(this.#folder)]) keepPrivate(file);
    try {
      database = open<Buffer, string>({
        path: this.#folder,
        noSubdir: false,
        encoding: 'binary',
        // We make the batches. Without this option lmdb would wait for the event loop's next turn, and a failed commit would reject
        // a promise of its own that has no handler.
        eventTurnBatching: false,
        overlappingSync: true,
      });
      holder = claim(database);
    } catch (error) {
      await database?.close();
      throw new StoreUnavailable(`The folder ${this.#folder} cannot be opened as a store: ${(error as Error).message}`, { cause: error });
    }
    if (holder === null) {
      this.#opened = database;
      return;
    }
    await database.close();
    throw new StoreUnavailable(`The folder ${this.#folder} is in use by another process (${holder.pid}).`);
  }

  async close(): Promise<void> {
    const database = this.#database;
    this.#opened = null;
    try {
      database.transactionSync(() => database.removeSync(ownerKey));
    } catch {
      // On a full disk the row stays; it becomes void when this process ends.
    }
    await database.close();
  }

  get(key: string): Uint8Array | undefined {
    return this.#database.get(key);
  }

  *range(from: string, to: string, reverse: boolean): Generator<Row> {
    yield* rangeRows(this.#database, from, to, reverse);
  }

  async write(rows: Iterable<Write>): Promise<void> {
    const database = this.#database;
    const inner = new Set<Promise<boolean>>();
    const done = database.batch(() => {
      for (const [key, change] of rows) {
        const value = change instanceof AppendedBytes ? applyChange(database.get(key), change) : change;
        inner.add(value === null ? database.remove(key) : database.put(key, value as Buffer));
      }
    });
    // The batch reports the result; the promises of its rows would only repeat it.
    for (const promise of inner) promise.then(undefined, () => {});
    try {
      await done;
    } catch (error) {
      // lmdb rejects with a promise of the cause; without a handler, that promise would end the process.
      throw await reasonOf(error as { commitError?: Promise<unknown> });
    }
  }

  async awaitFlush(): Promise<void> {
    await this.#database.flushed;
  }

  pause(): Promise<void> {
    return new Promise(atTurnEnd);
  }

  get #database(): RootDatabase<Buffer, string> {
    if (this.#opened === null) throw new Error('The store is not open.');
    return this.#opened;
  }
}

/** Makes this process the owner; returns null, or the living process that owns the store. */
function claim(database: RootDatabase<Buffer, string>): Owner | null {
  return database.transactionSync(() => {
    const holder = livingOwner(database.get(ownerKey));
    if (holder !== null) return holder;
    database.putSync(ownerKey, Buffer.from(JSON.stringify(thisProcess())));
    return null;
  });
}

const reasonOf = (error: { commitError?: Promise<unknown> }): Promise<unknown> =>
  Promise.resolve(error.commitError).then(
    () => error,
    (cause: unknown) => cause,
  );

export const lmdbStore = (folder: string, { durability = 'committed', ids }: LmdbOptions = {}): Store =>
  new EmbeddedStore(new JournaledEngine(new LmdbEngine(folder), folder, { flushes: durability === 'flushed', ...(ids && { newName: () => ids.secret() }) }));
