/**
 * Imports a file into a store. The file is checked completely first, so that nothing is written from one that is
 * incomplete or has a row that must not be believed; the rows of a pipe are kept in a temporary file for that. The
 * store records the progress: the same file continues there, and once it is complete, changes nothing more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limits } from '../../base/limits.ts';
import type { DumpProgress, DumpRow, DumpTarget } from '../../store/dump.ts';
import { readLines, writeLines, type LinesOptions } from './file.ts';
import { headerOf, refuseForeign, rowsIn, RowDigest, type Counts, type Header } from './format.ts';

export interface ImportOptions {
  /** Opened once the file has been checked, and closed at the end. */
  readonly target: DumpTarget;
  readonly secret: string;
  /** A file by its path, or a stream. */
  readonly from: string | NodeJS.ReadableStream;
  /** Called with the number of rows checked or loaded so far. */
  readonly onRows: (doing: 'checking' | 'importing', rows: number) => void;
  readonly opened?: LinesOptions['opened'];
}

export interface Imported {
  readonly rows: number;
  readonly counts: Counts;
  /** Rows that had been loaded before. */
  readonly before: number;
}

export function importFrom(options: ImportOptions): Promise<Imported> {
  const { from } = options;
  if (typeof from === 'string') return importFile({ ...options, from });
  return withTemporaryFile(from, (path) => importFile({ ...options, from: path }));
}

/** Keeps what a stream holds in a file, compressed and readable for its owner alone, for as long as `use` takes. */
async function withTemporaryFile<T>(stream: NodeJS.ReadableStream, use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-import-'));
  try {
    const path = join(folder, 'import.jsonl.gz');
    await writeLines(readLines(stream), path);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function importFile(options: ImportOptions & { readonly from: string }): Promise<Imported> {
  const { target, onRows } = options;
  const { rows, tally } = await openFile(options);
  for await (const _ of rows) onRows('checking', tally.rows);
  const file = await openFile(options);
  await target.open();
  try {
    return await importRows(target, file, onRows);
  } finally {
    await target.close();
  }
}

interface File {
  readonly header: Header;
  readonly rows: ReturnType<typeof rowsIn>;
  readonly tally: RowDigest;
}

async function openFile({ from, secret, opened }: Pick<ImportOptions, 'from' | 'secret' | 'opened'>): Promise<File> {
  const lines = readLines(from, opened ? { opened } : {});
  const tally = new RowDigest();
  const first = await lines.next();
  const header = headerOf(first.done ? undefined : first.value);
  refuseForeign(header, secret);
  return { header, rows: rowsIn(lines, tally), tally };
}

async function importRows(
  target: DumpTarget,
  { header, rows, tally }: File,
  onRows: ImportOptions['onRows'],
): Promise<Imported> {
  const before = await target.progress(header.id);
  const loader = new BatchLoader(target, before);
  try {
    for await (const { row, line } of rows) {
      await loader.add(row, line.length);
      onRows('importing', tally.rows);
    }
  } catch (error) {
    await loader.flush(false);
    throw error;
  }
  await loader.flush(true);
  return { rows: tally.rows, counts: tally.counts, before: before.done ? tally.rows : before.rows };
}

/** Groups rows into batches of a bounded size, after those that were loaded before. */
class BatchLoader {
  readonly #target: DumpTarget;
  readonly #before: DumpProgress;
  #batch: DumpRow[] = [];
  #characters = 0;
  #rows = 0;

  constructor(target: DumpTarget, before: DumpProgress) {
    this.#target = target;
    this.#before = before;
  }

  async add(row: DumpRow, characters: number): Promise<void> {
    if (++this.#rows <= this.#before.rows || this.#before.done) return;
    this.#batch.push(row);
    this.#characters += characters;
    if (this.#batch.length === limits.movingRowsMax || this.#characters >= limits.movingBytesMax)
      await this.flush(false);
  }

  async flush(done: boolean): Promise<void> {
    if (this.#before.done || (this.#batch.length === 0 && !done)) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    await this.#target.load(batch, { id: this.#before.id, rows: this.#rows, done });
  }
}
