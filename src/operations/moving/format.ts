/**
 * The file: a header, rows and a closing line, one JSON object a line. The closing line holds how many
 * rows of each kind there are and a digest of them; two exports of the same state have the same digest.
 */
import { createHash } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { fingerprintOf } from '../../access/vault.ts';
import { DumpRefused } from '../../store/dump.ts';
import type { DumpRow } from '../../store/dump.ts';
import { rowOf, RowProblem } from '../../store/dump/text.ts';
import { RowOrder, rowProblem } from './checks.ts';

/** Raised when rows must be read differently; a version reads every format up to its own. */
export const dumpFormat = 3;

const Header = Type.Object({
  type: Type.Literal('header'),
  format: Type.Integer({ minimum: 1 }),
  /** The version of parley that wrote the file. */
  version: Type.String(),
  /** The export's own id. */
  id: Type.String({ minLength: 1 }),
  /** The kind of the exported store. */
  store: Type.String(),
  /** Unix seconds. */
  createdAt: Type.Integer(),
  /** Identifies the `PARLEY_SECRET` that the credentials are sealed under. */
  secret: Type.String(),
});
export type Header = Static<typeof Header>;

const Closing = Type.Object({
  type: Type.Literal('end'),
  rows: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  sha256: Type.String(),
});
export type Closing = Static<typeof Closing>;

/** The number of rows of each kind. */
export type Counts = Readonly<Partial<Record<DumpRow['type'], number>>>;

/** Counts rows and computes their digest. */
export class RowDigest {
  readonly #hash = createHash('sha256');
  readonly #counts: Partial<Record<DumpRow['type'], number>> = {};
  rows = 0;

  add(type: DumpRow['type'], line: string): void {
    this.#hash.update(line).update('\n');
    this.#counts[type] = (this.#counts[type] ?? 0) + 1;
    this.rows++;
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** Ends the count. */
  closing(): Closing {
    return { type: 'end', rows: { ...this.#counts }, sha256: this.#hash.digest('hex') };
  }
}

export interface NumberedRow {
  readonly row: DumpRow;
  readonly line: string;
}

let header: Validator | undefined;
let closing: Validator | undefined;

/** The header, if this version can read the rows; throws `DumpRefused`. */
export function headerOf(line: string | undefined): Header {
  if (line === undefined) throw new DumpRefused('The file is empty.');
  header ??= Compile(Header);
  const value = parsed(line, 1) as Header;
  if (value?.type !== 'header')
    throw new DumpRefused('The file is not an export of parley: its first line is not a header.');
  if (value.format > dumpFormat) {
    throw new DumpRefused(
      `The file has format ${value.format}, of parley ${value.version}; this version reads formats up to ${dumpFormat}. Import it with that version or a later one.`,
    );
  }
  if (!header.Check(value))
    throw new DumpRefused('The header on line 1 lacks fields or has wrong ones. Export again, or copy the file again.');
  return value;
}

export function refuseForeign({ secret: fingerprint }: Header, secret: string): void {
  if (fingerprint === fingerprintOf(secret)) return;
  throw new DumpRefused(
    'The file was exported under another PARLEY_SECRET. Set PARLEY_SECRET to the secret of the exported installation: the PARLEY_SECRET of its servers, or else the file "secret" in its data folder.',
  );
}

/** The rows after the header; ends after the closing line, and throws `DumpRefused` if the file is incomplete. */
export async function* rowsIn(lines: AsyncIterator<string>, tally: RowDigest): AsyncGenerator<NumberedRow> {
  const order = new RowOrder();
  for (let number = 2; ; number++) {
    const { value: line, done } = await lines.next();
    if (done)
      throw new DumpRefused(
        `The file ends after line ${number - 1} without its closing line: it was cut short. Export again, or copy it again.`,
      );
    const value = parsed(line, number);
    if ((value as { readonly type?: unknown } | null)?.type === 'end') return close(value, number, tally);
    yield { row: rowAt(value, number, tally, line, order), line };
  }
}

function rowAt(value: unknown, number: number, tally: RowDigest, line: string, order: RowOrder): DumpRow {
  try {
    const row = rowOf(value);
    const problem = rowProblem(row, order);
    if (problem !== null) throw new RowProblem(problem);
    tally.add(row.type, line);
    return row;
  } catch (error) {
    if (error instanceof RowProblem) throw new DumpRefused(`Line ${number} cannot be imported: ${error.message}.`);
    throw error;
  }
}

function close(value: unknown, number: number, tally: RowDigest): void {
  closing ??= Compile(Closing);
  if (!closing.Check(value))
    throw new DumpRefused(
      `The closing line ${number} lacks fields or has wrong ones. Export again, or copy the file again.`,
    );
  const { rows, sha256 } = value as Closing;
  const stated = Object.values(rows).reduce((sum, count) => sum + count, 0);
  if (stated !== tally.rows)
    throw new DumpRefused(
      `The file has ${tally.rows} rows, but its closing line says ${stated}: rows are missing. Export again, or copy the file again.`,
    );
  if (tally.closing().sha256 !== sha256)
    throw new DumpRefused(
      'The rows do not match the checksum of the closing line: the file was changed or damaged. Export again, or copy the file again.',
    );
}

function parsed(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new DumpRefused(`Line ${number} is not JSON.`);
  }
}
