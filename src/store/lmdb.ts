/**
 * The embedded default: an LMDB environment in a folder, with a journal before it (see `journal.ts`). It belongs to one
 * process at a time: see `lmdb/ownership.ts`.
 *
 * A step that resolved survives the death of the process. With `flushed` it also survives a loss of power, at the price
 * of a wait for the disk. With `committed` the system writes to the disk in its own time, in order, so that a loss of
 * power costs the newest steps and never mixes old with new.
 */
import { constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { RootDatabase } from 'lmdb';
import { atTurnEnd, WheelClock, type Clock, type Timer } from '../base/clock.ts';
import { randomIds, type Ids } from '../base/ids.ts';
import type { Store } from './store.ts';
import { StoreInUse, StoreUnavailable } from './store.ts';
import { EmbeddedStore } from './embedded.ts';
import { AppendedBytes, applyChange, type Change, type Row, type Write } from './engine.ts';
import { JournaledEngine, withFile, type Base } from './journal.ts';
import { unopened } from './journal/replay.ts';
import { dataFile, keepPrivate, lockFile } from './lmdb/files.ts';
import { checkHeader } from './lmdb/header.ts';
import { isOf, livingOwner, ownerKey, thisProcess, type Owner } from './lmdb/owner.ts';
import { FolderOwnership, type OwnershipOptions } from './lmdb/ownership.ts';
import { bytesNeeded, checkRoom } from './lmdb/room.ts';
import { rangeRows } from './lmdb/rows.ts';

export interface LmdbOptions {
  /** When a step counts as done: once it is committed to the system, or once it is on the disk. */
  readonly durability?: 'committed' | 'flushed';
  /** Names the store, so that another store's journal is refused. */
  readonly ids?: Ids;
  /** The name of the file whose loss of records is accepted. */
  readonly acceptLoss?: string | null;
  readonly ownership?: Partial<OwnershipOptions>;
}

/** Bytes of a transaction that writes or removes the owner's row, which is far shorter than a page. */
const roomOfOwner = bytesNeeded([[ownerKey, null]]);
/** Milliseconds that LMDB may take to close. */
const closeMsMax = 5000;

export class LmdbEngine implements Base {
  readonly name = 'lmdb';
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #notify: (sentence: string) => void;
  readonly #ownership: FolderOwnership;
  #opened: RootDatabase<Buffer, string> | null = null;

  constructor(
    folder: string,
    {
      clock = new WheelClock(),
      newId = () => randomIds(clock).secret(),
      notify = () => {},
      ...ownership
    }: Partial<OwnershipOptions> = {},
  ) {
    this.#folder = folder;
    this.#clock = clock;
    this.#notify = notify;
    this.#ownership = new FolderOwnership(folder, { clock, newId, notify, onLost: () => {}, ...ownership });
  }

  async open(): Promise<void> {
    const isLapsed = await this.#acquire();
    try {
      checkHeader(this.#folder);
      this.#noteEmpty();
      if (isLapsed) await this.#leaveDatabase();
      for (const file of [dataFile(this.#folder), lockFile(this.#folder)]) keepPrivate(file);
      this.#opened = this.#openDatabase();
      this.#ownership.hold();
    } catch (error) {
      this.#ownership.release();
      throw error;
    }
  }

  /** A copy that was interrupted, or a first start, leaves the file empty. */
  #noteEmpty(): void {
    const file = dataFile(this.#folder);
    if (statSync(file, { throwIfNoEntry: false })?.size === 0)
      this.#notify(`The file ${file} was empty: an empty store begins.`);
  }

  /**
   * LMDB is not opened before: beside an owner in another container with the same process id, LMDB itself would wait
   * without a word.
   */
  async #acquire(): Promise<boolean> {
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      return await this.#ownership.acquire();
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : unopened(this.#folder, error);
    }
  }

  /**
   * Continues with a copy of the database, and leaves the file and its locks to an owner that has lapsed: should it
   * live after all, it may be in the middle of a transaction. LMDB never writes over the pages of the last state that
   * it committed, so the copy is whole.
   */
  async #leaveDatabase(): Promise<void> {
    const [file, copy] = [dataFile(this.#folder), join(this.#folder, 'data-new.mdb')];
    try {
      if (!existsSync(file)) return;
      await copyFile(file, copy, constants.COPYFILE_FICLONE);
      await withFile(copy, 'r+', (opened) => opened.sync());
      await rename(copy, file);
      await rm(lockFile(this.#folder), { force: true });
    } catch (error) {
      throw unopened(this.#folder, error);
    }
  }

  #openDatabase(): RootDatabase<Buffer, string> {
    let database: RootDatabase<Buffer, string> | null = null;
    let holder: Owner | null;
    try {
      database = open<Buffer, string>({
        path: this.#folder,
        noSubdir: false,
        encoding: 'binary',
        // We make the batches. Without this option lmdb would wait for the event loop's next iteration, and a failed
        // commit would reject an internal promise without a handler.
        eventTurnBatching: false,
        overlappingSync: true,
      });
      checkRoom(this.#folder, roomOfOwner);
      holder = claim(database, this.#ownership.id);
    } catch (error) {
      void database?.close();
      throw unopened(this.#folder, error);
    }
    if (holder === null) return database;
    void database.close();
    throw new StoreInUse(this.#folder, holder.pid);
  }

  async close(): Promise<void> {
    const database = this.#database;
    this.#opened = null;
    try {
      checkRoom(this.#folder, roomOfOwner);
      database.transactionSync(() => isOf(database.get(ownerKey), this.#ownership.id) && database.removeSync(ownerKey));
    } catch {
      // The row stays on a full disk; it becomes void when this process ends.
    }
    await this.#awaitClose(database);
    this.#ownership.release();
  }

  /**
   * After a transaction that the disk rejected LMDB never reports that it is closed. What was acknowledged is in the
   * database or in the journal.
   */
  async #awaitClose(database: RootDatabase<Buffer, string>): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => (timer = this.#clock.after(closeMsMax, resolve)));
    await Promise.race([database.close(), late]);
    timer?.cancel();
  }

  verify(): void {
    this.#ownership.verify();
  }

  get lostPower(): boolean {
    return this.#ownership.lostPower;
  }

  get(key: string): Uint8Array | undefined {
    return this.#database.get(key);
  }

  *range(from: string, to: string, reverse: boolean): Generator<Row> {
    yield* rangeRows(this.#database, from, to, reverse);
  }

  async write(rows: Iterable<Write>): Promise<void> {
    this.verify();
    const database = this.#database;
    const states = Array.from(rows, ([key, change]) => [key, this.#stateAfter(key, change)] as const);
    checkRoom(this.#folder, bytesNeeded(states));
    const inner = new Set<Promise<boolean>>();
    const done = database.batch(() => {
      for (const [key, value] of states)
        inner.add(value === null ? database.remove(key) : database.put(key, value as Buffer));
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

  #stateAfter(key: string, change: Change): Uint8Array | null {
    return change instanceof AppendedBytes ? applyChange(this.#database.get(key), change) : change;
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

/**
 * Names this process in the database's row, for versions that know no file `owner`. Returns null, or the living process
 * of such a version.
 */
function claim(database: RootDatabase<Buffer, string>, id: string): Owner | null {
  return database.transactionSync(() => {
    const holder = livingOwner(database.get(ownerKey));
    if (holder !== null) return holder;
    database.putSync(ownerKey, Buffer.from(JSON.stringify({ ...thisProcess(), id })));
    return null;
  });
}

const reasonOf = (error: { commitError?: Promise<unknown> }): Promise<unknown> =>
  Promise.resolve(error.commitError).then(
    () => error,
    (cause: unknown) => cause,
  );

export function lmdbStore(
  folder: string,
  { durability = 'committed', ids, acceptLoss = null, ownership = {} }: LmdbOptions = {},
): Store {
  const { notify, clock } = ownership;
  const newName = ids && (() => ids.secret());
  return new EmbeddedStore(
    new JournaledEngine(new LmdbEngine(folder, ownership), folder, {
      flushes: durability === 'flushed',
      acceptLoss,
      ...(newName && { newName }),
      ...(notify && { notify }),
    }),
    clock,
  );
}
