/**
 * A journal before a database that fails on demand, crashes and loses power, and one process's life after the other on
 * it.
 */
import { readdirSync, readlinkSync, realpathSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import { AppendedBytes, type Engine, type Write } from '../../src/store/engine.ts';
import { JournaledEngine, type Base } from '../../src/store/journal.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { temporaryFolder } from '../folders.ts';
import { ids } from './fixtures.ts';

/** The flushed length of each file, by path, which survives a loss of power. */
const onDisk = new Map<string, number>();
const handle = await open(fileURLToPath(import.meta.url));
const handles = Object.getPrototypeOf(handle) as typeof handle;
const { datasync } = handles;
handles.datasync = async function (this: typeof handle) {
  await datasync.call(this);
  onDisk.set(readlinkSync(`/proc/self/fd/${this.fd}`), (await this.stat()).size);
};
t.teardown(() => {
  handles.datasync = datasync;
  return handle.close();
});

export const bounds = { journalRowsMax: 4, journalBytesMax: 1 << 20, journalChunkRows: 2 };

/**
 * A database that fails on demand. After a loss of power it has the flushed writes, and as many of the later ones as
 * happened to reach the disk.
 */
export class Database extends MemoryEngine implements Base {
  /** Number of writes that still succeed. */
  writesLeft = Infinity;
  #flushed: Write[] = [];
  #since: Write[][] = [];

  override async write(rows: Iterable<Write>): Promise<void> {
    if (this.writesLeft-- <= 0) throw new Error('database full');
    const all = [...rows];
    await super.write(all);
    this.#since.push(all);
  }

  async awaitFlush(): Promise<void> {
    this.#since = [];
    this.#flushed = [...this.range('', '\uffff', false)];
  }

  async losePower(reached: number): Promise<void> {
    for (const [key] of [...this.range('', '\uffff', false)]) await super.write([[key, null]]);
    await super.write(this.#flushed);
    for (const rows of this.#since.slice(0, reached)) await super.write(rows);
    await this.awaitFlush();
  }
}

/** The database as one process has it: when that has crashed, nothing more of it arrives, and it hears nothing more. */
export class Connection implements Base {
  readonly name = 'memory';
  readonly #database: Database;
  crashed = false;
  readonly lostPower: boolean;

  constructor(database: Database, lostPower: boolean) {
    this.#database = database;
    this.lostPower = lostPower;
  }

  async open(): Promise<void> {}
  async close(): Promise<void> {}
  get = (key: string) => this.#database.get(key);
  range = (from: string, to: string, reverse: boolean) => this.#database.range(from, to, reverse);
  pause = () => this.#database.pause();
  write = (rows: Iterable<Write>): Promise<void> =>
    this.crashed ? never() : this.#database.write(rows).then(() => this.#lives());
  awaitFlush = (): Promise<void> => (this.crashed ? never() : this.#database.awaitFlush().then(() => this.#lives()));

  #lives(): Promise<void> | undefined {
    return this.crashed ? never() : undefined;
  }
}

const never = (): Promise<void> => new Promise(() => {});

export const keyOf = (index: number): string => `row/${index}`;
export const readAll = (engine: Engine, reverse = false): [string, string][] =>
  [...engine.range('row/', 'row0', reverse)].map(([key, value]) => [key, Buffer.from(value).toString()]);
export const journals = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('journal-'))
    .sort()
    .map((name) => join(folder, name));

export type Step =
  | { kind: 'write'; changes: { key: number; change: string | null; append: boolean }[] }
  | { kind: 'crash' }
  | { kind: 'power'; file: number; cut: number; reached: number }
  | { kind: 'close' }
  | { kind: 'failing'; after: number }
  | { kind: 'working' };

const change = fc.record({ key: fc.nat(5), change: fc.option(fc.string({ maxLength: 3 })), append: fc.boolean() });
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('power' as const),
      file: fc.nat(2),
      cut: fc.nat(200),
      reached: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'close' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failing' as const), after: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'working' as const }) },
);

function writesOf(changes: { key: number; change: string | null; append: boolean }[]): Write[] {
  const rows = new Map<string, Write>();
  for (const { key, change, append } of changes) {
    const bytes = change === null ? null : Buffer.from(change);
    rows.set(keyOf(key), [keyOf(key), bytes !== null && append ? new AppendedBytes([bytes]) : bytes]);
  }
  return [...rows.values()];
}

function modelled(before: Map<string, string>, writes: Write[]): Map<string, string> {
  const after = new Map(before);
  for (const [key, change] of writes) {
    if (change === null) after.delete(key);
    else if (change instanceof AppendedBytes)
      after.set(key, (after.get(key) ?? '') + Buffer.concat(change.pieces).toString());
    else after.set(key, Buffer.from(change).toString());
  }
  return after;
}

const sorted = (rows: Map<string, string>): [string, string][] => [...rows].sort(([a], [b]) => (a < b ? -1 : 1));

export class Run {
  readonly base = new Database();
  readonly folder: string;
  readonly flushes: boolean;
  /** The rows after each acknowledged batch. */
  states: Map<string, string>[] = [new Map()];
  /** Sentences in which the engines told of losses. */
  readonly told: string[] = [];
  engine: JournaledEngine;
  #connection!: Connection;

  constructor(folder: string, flushes: boolean) {
    this.folder = folder;
    this.flushes = flushes;
    this.engine = this.#next();
  }

  async apply(t: Test, step: Step): Promise<void> {
    if (step.kind === 'write') return this.#write(step);
    if (step.kind === 'failing') this.base.writesLeft = step.after;
    else if (step.kind === 'working') this.base.writesLeft = Infinity;
    else if (step.kind === 'close') {
      await this.engine.close();
      await this.reopen();
    } else if (step.kind === 'crash') await this.reopen();
    else return this.#losePower(t, step);
    this.check(t);
  }

  check(t: Test): void {
    const expected = sorted(this.states.at(-1)!);
    t.strictSame(readAll(this.engine), expected);
    t.strictSame(readAll(this.engine, true), expected.reverse());
    for (let key = 0; key <= 5; key++) {
      const value = this.engine.get(keyOf(key));
      t.equal(value && Buffer.from(value).toString(), this.states.at(-1)!.get(keyOf(key)));
    }
  }

  async reopen(how: { readonly lostPower?: boolean; readonly acceptLoss?: string } = {}): Promise<void> {
    this.#connection.crashed = true;
    this.base.writesLeft = Infinity;
    this.engine = this.#next(how);
    await this.engine.open();
  }

  async #write(step: Extract<Step, { kind: 'write' }>): Promise<void> {
    const writes = writesOf(step.changes);
    const before = this.states.at(-1)!;
    const fresh = new Set(writes.flatMap(([key, change]) => (change === null || before.has(key) ? [] : [key])));
    try {
      await this.engine.write(writes, fresh);
      this.states.push(modelled(before, writes));
    } catch {
      // A database that takes nothing makes the journal refuse in the end.
    }
  }

  /** The database falls back to its flushed writes; the unflushed end of any file may be lost. */
  async #losePower(t: Test, { file, cut, reached }: { file: number; cut: number; reached: number }): Promise<void> {
    this.#connection.crashed = true;
    await this.base.losePower(reached);
    const files = journals(this.folder);
    const hit = files[file % files.length]!;
    if (!this.flushes) truncateSync(hit, Math.max(onDisk.get(realpathSync(hit)) ?? 0, statSync(hit).size - cut));
    await this.reopen({ lostPower: true });
    const now = JSON.stringify(readAll(this.engine));
    const at = this.states.findLastIndex((state) => JSON.stringify(sorted(state)) === now);
    t.ok(this.flushes ? at === this.states.length - 1 : at >= 0, 'nothing in the middle is missing');
    this.states = this.states.slice(0, at + 1);
  }

  #next({
    lostPower = false,
    acceptLoss,
  }: { readonly lostPower?: boolean; readonly acceptLoss?: string } = {}): JournaledEngine {
    this.#connection = new Connection(this.base, lostPower);
    return new JournaledEngine(this.#connection, this.folder, {
      flushes: this.flushes,
      bounds,
      newName: () => ids.secret(),
      notify: (sentence) => this.told.push(sentence),
      ...(acceptLoss && { acceptLoss }),
    });
  }
}

export async function opened(t: Test, flushes = false): Promise<Run> {
  const run = new Run(await temporaryFolder(t), flushes);
  await run.engine.open();
  return run;
}

export const put = (key: number, text: string): Write[] => [[keyOf(key), Buffer.from(text)]];
