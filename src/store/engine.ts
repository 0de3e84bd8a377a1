/** An ordered key-value engine: all that an embedded store needs of what lies beneath it. */

/** Bytes that go behind those that a row has, or begin it. */
export class Appended {
  readonly pieces: Uint8Array[];

  constructor(pieces: Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** What becomes of a row: these are its bytes, these go behind those that it has, or it is removed. */
export type Change = Uint8Array | Appended | null;
export type Write = readonly [key: string, change: Change];
export type Row = readonly [key: string, value: Uint8Array];

/**
 * Keys are ASCII and ordered by their bytes. Reads are synchronous and see what is committed. A range is consumed
 * within the turn of the event loop that asked for it, and before the next write is handed over.
 */
export interface Engine {
  /** `memory` or `lmdb`. */
  readonly name: string;
  /** Rejects with one clear sentence if it cannot be. */
  open(): Promise<void>;
  close(): Promise<void>;
  get(key: string): Uint8Array | undefined;
  /** Rows from `from` (inclusive) to `to` (exclusive), the greatest key first if `reverse`. */
  range(from: string, to: string, reverse: boolean): Iterable<Row>;
  /** All of the rows or none; resolves when they are committed. Called again only once the call before has settled. */
  write(rows: Iterable<Write>): Promise<void>;
  /** Lets whatever else is ready go first: other work during a long scan, other decisions before a batch leaves. */
  pause(): Promise<void>;
  /** Of an engine that takes more than it has kept for good: rejects where it will refuse before long; resolves once that is mended. */
  sound?(): Promise<void>;
}

/** One change after another, as one; `before` is what came earlier, undefined where nothing did. */
export function followed(before: Change | undefined, change: Change): Change {
  if (!(change instanceof Appended) || before === undefined) return change;
  if (before instanceof Appended) return new Appended([...before.pieces, ...change.pieces]);
  return joined(before === null ? change.pieces : [before, ...change.pieces]);
}

/** The bytes of a row after a change; null where it is gone. */
export function changed(before: Uint8Array | null | undefined, change: Change): Uint8Array | null {
  if (!(change instanceof Appended)) return change;
  return joined(before === null || before === undefined ? change.pieces : [before, ...change.pieces]);
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
