/**
 * Imports a file into a store. A file that can be read twice is checked completely first, so that nothing is written from an
 * incomplete one; from a pipe, rows are loaded as they come and as far as they are valid. The store records the progress: the same
 * file continues there, and once it is complete, changes nothing more.
 */
import { limits } from '../../base/limits.ts';
import type { DumpProgress, DumpRow, DumpTarget } from '../../store/dump.ts';
import { readLines, type LinesOptions } from './file.ts';
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

export async function importFrom(options: ImportOptions): Promise<Imported> {
  const { from, target, secret, onRows } = options;
  if (typeof from === 'string') {
    const { rows, tally } = await openFile(options);
    for await (const _ of rows) onRows('checking', tally.rows);
  }
  const file = await openFile({ from, secret, ...(options.opened && { opened: options.opened }) });
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

async function importRows(target: DumpTarget, { header, rows, tally }: File, onRows: ImportOptions['onRows']): Promise<Imported> {
  const before = await target.progress(header.id);
  const taking = new Taking(target, before);
  try {
    for await (const { row, line } of rows) {
      await taking.add(row, line.length);
      onRows('importing', tally.rows);
    }
  } catch (error) {
    await taking.flush(false);
    throw error;
  }
  await taking.flush(true);
  return { rows: tally.rows, counts: tally.counts, before: before.done ? tally.rows : before.rows };
}

/** Groups rows into batches of a bounded size, after those that were loaded before. */
class Taking {
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
    if (this.#batch.length === limits.movingRowsMax || this.#characters >= limits.movingBytesMax) await this.flush(false);
  }

  async flush(done: boolean): Promise<void> {
    if (this.#before.done || (this.#batch.length === 0 && !done)) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    await this.#target.load(batch, { id: this.#before.id, rows: this.#rows, done });
  }
}
