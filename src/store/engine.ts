/** An ordered key-value engine: all that an embedded store needs of what lies beneath it. */

/** A row to write: its bytes, or null to remove it. */
export type Write = readonly [key: string, value: Uint8Array | null];
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
  /** Lets other work run during a long scan. */
  pause(): Promise<void>;
}
