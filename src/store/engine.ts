/** An ordered key-value engine: the interface beneath an embedded store. */

/** Bytes to append to a row, or to begin it with. */
export class AppendedBytes {
  readonly pieces: Uint8Array[];

  constructor(pieces: Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** The change of a row: its new bytes, bytes to append, or null to remove it. */
export type Change = Uint8Array | AppendedBytes | null;
export type Write = readonly [key: string, change: Change];
export type Row = readonly [key: string, value: Uint8Array];

/**
 * Keys are ASCII and ordered by their bytes. Reads are synchronous and see what is committed. A range must be consumed
 * within the iteration of the event loop that requested it, and before the next write begins.
 */
export interface Engine {
  /** `memory` or `lmdb`. */
  readonly name: string;
  /** Rejects with one clear sentence if the engine cannot be opened. */
  open(): Promise<void>;
  close(): Promise<void>;
  get(key: string): Uint8Array | undefined;
  /** Rows from `from` (inclusive) to `to` (exclusive), the greatest key first if `reverse`. */
  range(from: string, to: string, reverse: boolean): Iterable<Row>;
  /**
   * Writes all of the rows or none; resolves when they are committed. Called again only once the earlier call has
   * settled. `fresh`: the keys among them that had no row before.
   */
  write(rows: Iterable<Write>, fresh?: ReadonlySet<string>): Promise<void>;
  /** Lets other ready work run first: other requests during a long scan, other decisions before a batch is written. */
  pause(): Promise<void>;
  /**
   * Exists if the engine accepts more than it has made durable: rejects if it will soon refuse writes; resolves once
   * that has ended.
   */
  sound?(): Promise<void>;
}

/** Merges two changes of a row into one; `before` is undefined if there is no earlier change. */
export function mergeChanges(before: Change | undefined, change: Change): Change {
  if (!(change instanceof AppendedBytes) || before === undefined) return change;
  if (before instanceof AppendedBytes) return new AppendedBytes([...before.pieces, ...change.pieces]);
  return joined(before === null ? change.pieces : [before, ...change.pieces]);
}

/** The bytes of a row after a change; null if it is removed. */
export function applyChange(before: Uint8Array | null | undefined, change: Change): Uint8Array | null {
  if (!(change instanceof AppendedBytes)) return change;
  return joined(before === null || before === undefined ? change.pieces : [before, ...change.pieces]);
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
