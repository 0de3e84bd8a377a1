/**
 * Exports a store to a file. The file grows as `FILE.part` and gets its name once it is complete, so that the name
 * never stands for a part of an installation. An interrupted export begins anew: a person may have been erased since.
 */
import { rename } from 'node:fs/promises';
import { secondsOf, type Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { DumpRow, DumpSource } from '../../store/dump.ts';
import { rowText } from '../../store/dump/text.ts';
import { fingerprintOf, openVault, type Vault } from '../../access/vault.ts';
import { writeLines } from './file.ts';
import { dumpFormat, RowDigest, type Counts, type Header } from './format.ts';

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
  /** Called with the number of rows so far. */
  readonly onRows: (rows: number) => void;
}

export interface Exported {
  readonly rows: number;
  readonly counts: Counts;
  /** Credentials that do not open with the secret, and so will not open anywhere. */
  readonly unopened: number;
}

export async function exportTo(options: ExportOptions): Promise<Exported> {
  const { out } = options;
  const tally = new RowDigest();
  const vault = openVault(options.secret, options.ids);
  let unopened = 0;
  const onRow = (row: DumpRow, line: string): void => {
    tally.add(row.type, line);
    if (row.type === 'credential' && !opens(vault, row)) unopened++;
    options.onRows(tally.rows);
  };
  const lines = linesOf(options, onRow, tally);
  if (typeof out === 'string') {
    const growing = `${out}.part`;
    await writeLines(lines, growing, out);
    await rename(growing, out);
  } else await writeLines(lines, out);
  return { rows: tally.rows, counts: tally.counts, unopened };
}

const headerFor = ({ source, secret, version, clock, ids }: ExportOptions): Header => ({
  type: 'header',
  format: dumpFormat,
  version,
  id: ids.secret(),
  store: source.name,
  createdAt: secondsOf(clock.now()),
  secret: fingerprintOf(secret),
});

const opens = (vault: Vault, { record }: DumpRow & { type: 'credential' }): boolean => vault.open(record) !== null;

async function* linesOf(
  options: ExportOptions,
  onRow: (row: DumpRow, line: string) => void,
  tally: RowDigest,
): AsyncGenerator<string> {
  yield JSON.stringify(headerFor(options));
  for await (const row of options.source.rows(options.clock.now())) {
    const line = rowText(row);
    onRow(row, line);
    yield line;
  }
  yield JSON.stringify(tally.closing());
}
