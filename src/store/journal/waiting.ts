/** Rows that a database has not taken yet, over the rows that it has. */
import type { Row, Write } from '../engine.ts';
import { LateSortedMap, overlaid } from '../sorted.ts';
import type { JournalEntry } from './segment.ts';

/**
 * The bytes of a growing row, in one buffer with room for more: kept apart, each short piece would cost a hundred bytes
 * more than it has.
 */
class Growing {
  #room: Uint8Array;
  length: number;

  constructor(bytes: Uint8Array) {
    this.#room = bytes;
    this.length = bytes.length;
  }

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.length);
  }

  /** Never writes over bytes that it has given out: a replacement gets a new buffer. */
  set(offset: number, pieces: readonly Uint8Array[]): void {
    const length = pieces.reduce((sum, piece) => sum + piece.length, offset);
    if (offset < this.length || length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(roomMin, 2 * length));
      room.set(this.#room.subarray(0, offset));
      this.#room = room;
    }
    this.length = offset;
    for (const piece of pieces) {
      this.#room.set(piece, this.length);
      this.length += piece.length;
    }
  }
}

/** Bytes: most replies are short. */
const roomMin = 128;

/** A row that came and went while it waited: the database never has it. */
const gone = Symbol('gone');

type Value = Uint8Array | Growing | typeof gone | null;

export class WaitingRows {
  readonly #rows = new LateSortedMap<Value>();
  /** The keys of rows that the database does not have. */
  readonly #fresh = new Set<string>();

  get size(): number {
    return this.#rows.size;
  }

  /** The row's bytes; null if it was removed, undefined if this layer does not have the row. */
  get(key: string): Uint8Array | null | undefined {
    return bytesOf(this.#rows.get(key));
  }

  lengthOf(key: string): number | undefined {
    const value = this.#rows.get(key);
    return value === null || value === gone ? 0 : value?.length;
  }

  /** A growing row begins with the bytes that `beneath` has for it. `fresh`: no row of this key was ever there. */
  apply({ key, offset, pieces }: JournalEntry, beneath: (key: string) => Uint8Array | undefined, fresh = false): void {
    // The database may have an earlier row of this key, before a removal that waits.
    if (fresh && pieces !== null && this.#rows.get(key) === undefined) this.#fresh.add(key);
    if (offset > 0 && this.#rows.get(key) === undefined) this.#rows.set(key, beneath(key) ?? new Uint8Array());
    if (pieces === null) this.#rows.set(key, this.#fresh.delete(key) ? gone : null);
    else if (offset === 0 && pieces.length === 1) this.#rows.set(key, pieces[0]!);
    else {
      const value = this.#rows.get(key);
      const growing = value instanceof Growing ? value : new Growing(bytesOf(value) ?? new Uint8Array());
      growing.set(offset, pieces);
      if (growing !== value) this.#rows.set(key, growing);
    }
  }

  /** The rows of a range, with these rows over them. */
  *over(rows: Iterable<Row>, from: string, to: string, reverse: boolean): Generator<Row> {
    for (const [key, row, newer] of overlaid(rows, this.#rows.range(from, to, reverse), reverse)) {
      const value = newer === undefined ? row : bytesOf(newer);
      if (value !== null && value !== undefined) yield [key, value];
    }
  }

  /**
   * All rows that the database has or gets, in chunks. Each chunk is in key order, which the database writes fastest;
   * to sort all rows at once would block too long.
   */
  *chunks(size: number): Generator<Write[]> {
    let chunk: Write[] = [];
    for (const [key, value] of this.#rows) {
      if (value === gone) continue;
      chunk.push([key, value instanceof Growing ? value.bytes : value]);
      if (chunk.length < size) continue;
      yield chunk.sort(byKey);
      chunk = [];
    }
    if (chunk.length > 0) yield chunk.sort(byKey);
  }
}

/** Overloads, because a row of the map is always known and one that is looked up may not be. */
function bytesOf(value: Value): Uint8Array | null;
function bytesOf(value: Value | undefined): Uint8Array | null | undefined;
function bytesOf(value: Value | undefined): Uint8Array | null | undefined {
  if (value === gone) return null;
  return value instanceof Growing ? value.bytes : value;
}

const byKey = ([a]: Write, [b]: Write): number => (a < b ? -1 : 1);
