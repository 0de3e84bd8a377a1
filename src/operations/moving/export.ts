/**
 * Exports a store to a file. The file grows as `FILE.part` and gets its name once it is complete, so that the name
 * never stands for a part of an installation. An interrupted export can continue after the last conversation in the
 * file.
 */
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { secondsOf, type Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { DumpRefused } from '../../store/dump.ts';
import type { DumpPlace, DumpRow, DumpSource } from '../../store/dump.ts';
import { rowOf, rowText } from '../../store/dump/text.ts';
import { fingerprintOf, openVault, type Vault } from '../../access/vault.ts';
import { readLines, writeLines } from './file.ts';
import { dumpFormat, headerOf, RowDigest, type Counts, type Header } from './format.ts';

export interface ExportOptions {
  /** The store, open. */
  readonly source: DumpSource;
  readonly secret: string;
  /** The version of parley. */
  readonly version: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A file by its path, or a stream, which stays open. */
  readonly out: string | NodeJS.WritableStream;
  /** Continue an interrupted file, if possible. */
  readonly resume: boolean;
  /** Called with the number of rows so far. */
  readonly onRows: (rows: number) => void;
}

export interface Exported {
  readonly rows: number;
  readonly counts: Counts;
  /** Rows kept from an interrupted export; null if the export starts anew. */
  readonly resumed: number | null;
  /** Credentials that do not open with the secret, and so will not open anywhere. */
  readonly unopened: number;
}

/** An interrupted file, as far as it can be used. */
interface Part {
  readonly header: Header;
  /** The number of rows to keep. */
  readonly rows: number;
  readonly place: DumpPlace | null;
}

export async function exportTo(options: ExportOptions): Promise<Exported> {
  const { out, resume, source } = options;
  const tally = new RowDigest();
  const vault = openVault(options.secret, options.ids);
  let unopened = 0;
  const onRow = (row: DumpRow, line: string): void => {
    tally.add(row.type, line);
    if (row.type === 'credential' && !opens(vault, row)) unopened++;
    options.onRows(tally.rows);
  };
  if (typeof out !== 'string') {
    await writeLines(linesOf(options, headerFor(options), null, onRow, tally), out);
    return { rows: tally.rows, counts: tally.counts, resumed: null, unopened };
  }
  const [growing, earlier] = [`${out}.part`, `${out}.part.old`];
  const part = resume ? await partOf(growing, earlier, out, source, options.secret) : null;
  const lines = linesOf(
    options,
    part?.header ?? headerFor(options),
    part === null ? null : { part, path: earlier, name: out },
    onRow,
    tally,
  );
  await writeLines(lines, growing, out);
  await rename(growing, out);
  await rm(earlier, { force: true });
  return { rows: tally.rows, counts: tally.counts, resumed: part?.rows ?? null, unopened };
}

const headerFor = ({ source, secret, version, clock, ids }: ExportOptions): Header => ({
  type: 'header',
  format: dumpFormat,
  version,
  id: ids.secret(),
  store: source.name,
  mark: source.mark(),
  createdAt: secondsOf(clock.now()),
  secret: fingerprintOf(secret),
});

const opens = (vault: Vault, { record }: DumpRow & { type: 'credential' }): boolean => vault.open(record) !== null;

async function* linesOf(
  { source, clock }: ExportOptions,
  header: Header,
  earlier: { readonly part: Part; readonly path: string; readonly name: string } | null,
  onRow: (row: DumpRow, line: string) => void,
  tally: RowDigest,
): AsyncGenerator<string> {
  yield JSON.stringify(header);
  if (earlier !== null) {
    for await (const { row, line } of rowsOf(earlier.path, earlier.name, earlier.part.rows)) {
      onRow(row, line);
      yield line;
    }
    await rm(earlier.path);
  }
  for await (const row of source.rows(clock.now(), earlier?.part.place ?? null)) {
    const line = rowText(row);
    onRow(row, line);
    yield line;
  }
  yield JSON.stringify(tally.closing());
}

/**
 * Renames the file of an interrupted export to `earlier` and returns its rows before the last workspace or session in
 * it, from which the export continues. Null without such a file, or if the store has left the state that was read.
 */
async function partOf(
  growing: string,
  earlier: string,
  name: string,
  source: DumpSource,
  secret: string,
): Promise<Part | null> {
  // If an export continued an earlier one and was interrupted while it still copied, both files are left; the earlier
  // one has more rows.
  if (!existsSync(earlier)) {
    if (!existsSync(growing)) return null;
    await rename(growing, earlier);
  }
  const lines = readLines(earlier, { name });
  const first = await lines.next();
  await lines.return(undefined);
  if (first.done) return null;
  const header = headerOf(first.value);
  if (header.store !== source.name || header.secret !== fingerprintOf(secret)) {
    throw new DumpRefused(
      `${growing} was begun from another installation. Remove it, or choose another name with --out.`,
    );
  }
  if (header.mark !== source.mark()) return null;
  let rows = 0;
  let part: Part = { header, rows: 0, place: null };
  for await (const { row } of rowsOf(earlier, name, Infinity)) {
    if (row.type === 'workspace') part = { header, rows, place: { workspaceId: row.record.id, sessionId: null } };
    if (row.type === 'session')
      part = { header, rows, place: { workspaceId: row.record.workspaceId, sessionId: row.record.id } };
    rows++;
  }
  return part;
}

/** The first rows of a file that may be incomplete. */
async function* rowsOf(path: string, name: string, count: number): AsyncGenerator<{ row: DumpRow; line: string }> {
  let left = count;
  let isHeader = true;
  for await (const line of readLines(path, { name })) {
    if (isHeader) isHeader = false;
    else if (left-- > 0 && !line.startsWith('{"type":"end"')) yield { row: rowOf(JSON.parse(line)), line };
    else return;
  }
}
