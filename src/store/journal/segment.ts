/**
 * One file of the journal: records in order, each a batch of changes under one number. A record is its checksum (4
 * bytes), the length of what follows (4), its number (6) and the changes: kind (1), length of the key (2), the key, the
 * offset of the bytes in the row (4), their length (4) and the bytes. The checksum of a record that was cut, or damaged
 * by a loss of power, does not match. Because every change has its offset, records may be applied again to rows that
 * have them already.
 */
import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';

const headBytes = 14;
const changeBytes = 11;
const kinds = { remove: 0, put: 1 } as const;

/** The bytes of a row from `offset` on, which replace all bytes from there; `pieces` null removes the row. */
export interface JournalEntry {
  readonly key: string;
  readonly offset: number;
  readonly pieces: readonly Uint8Array[] | null;
}

export interface Record {
  readonly number: number;
  readonly entries: JournalEntry[];
}

let scratch = Buffer.allocUnsafe(64 * 1024);

export class Segment {
  #path: string;
  /** The number of the file's first record. */
  readonly first: number;
  readonly #file: number;
  #length = 0;
  /** A refused record may have left its beginning in the file: no record may follow it. */
  #torn = false;

  constructor(path: string, first: number) {
    this.first = first;
    this.#path = path;
    this.#file = openSync(path, 'w', 0o600);
  }

  get path(): string {
    return this.#path;
  }

  /** Gives the file another name, in the place of a file that has it. */
  moveTo(path: string): void {
    renameSync(this.#path, path);
    this.#path = path;
  }

  /** Whether any name leads to the file. Without one its records are lost with this process. */
  get isLinked(): boolean {
    return fstatSync(this.#file).nlink > 0;
  }

  get bytes(): number {
    return this.#length;
  }

  get torn(): boolean {
    return this.#torn;
  }

  /** Writes a record completely, or throws and leaves nothing of it. */
  append(number: number, entries: readonly JournalEntry[]): void {
    const length = encode(number, entries);
    try {
      for (let at = 0; at < length;) at += writeSync(this.#file, scratch, at, length - at, this.#length + at);
    } catch (error) {
      this.#cut();
      throw error;
    }
    this.#length += length;
  }

  /** Resolves when every appended record is on the disk. */
  awaitFlush(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#file, (error) => {
        if (error === null) return resolve();
        // The system may have dropped unwritten pages, so this file takes no further records.
        this.#torn = true;
        reject(error);
      });
    });
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Closes a file without a record, and removes it. */
  remove(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }

  #cut(): void {
    try {
      ftruncateSync(this.#file, this.#length);
    } catch {
      this.#torn = true;
    }
  }
}

/** A file's bytes, not parsed yet. */
export interface SegmentFile {
  readonly path: string;
  readonly bytes: Buffer;
}

export const readSegment = (path: string): SegmentFile => ({ path, bytes: readFileSync(path) });

/** A file's contents: its records up to the first incomplete one, and the bytes from there on. */
export interface Found {
  readonly records: readonly Record[];
  readonly rest: Buffer;
}

export function recordsIn({ bytes }: SegmentFile): Found {
  const records: Record[] = [];
  let at = 0;
  for (let end = endOf(bytes, at); end !== null; end = endOf(bytes, at)) {
    records.push({ number: numberAt(bytes, at), entries: [...decode(bytes, at + headBytes, end)] });
    at = end;
  }
  return { records, rest: bytes.subarray(at) };
}

/**
 * Whether the bytes after the first incomplete record contain a whole record, numbered after `next` as it would be
 * there.
 */
export function goesOn({ rest }: Found, next: number): boolean {
  for (let at = 1; at + headBytes <= rest.length; at++) {
    const number = numberAt(rest, at);
    if (number > next && number - next < rest.length && endOf(rest, at) !== null) return true;
  }
  return false;
}

/**
 * Whether the first incomplete record looks damaged: it has its whole length under the number `next`, and does not end
 * in zeros, as a record does whose last page a loss of power kept from the disk.
 */
export function isDamaged({ rest }: Found, next: number): boolean {
  if (rest.length < headBytes || numberAt(rest, 0) !== next) return false;
  const end = 8 + rest.readUInt32LE(4);
  return end >= headBytes && end <= rest.length && rest[end - 1] !== 0;
}

const numberAt = (bytes: Buffer, at: number): number => bytes.readUIntLE(at + 8, 6);

/** End of the record that begins here; null if it is incomplete. */
function endOf(bytes: Buffer, at: number): number | null {
  if (at + headBytes > bytes.length) return null;
  const end = at + 8 + bytes.readUInt32LE(at + 4);
  return end <= bytes.length && crc32(bytes.subarray(at + 4, end)) === bytes.readUInt32LE(at) ? end : null;
}

function* decode(bytes: Buffer, from: number, end: number): Generator<JournalEntry> {
  for (let at = from; at < end;) {
    const removed = bytes[at] === kinds.remove;
    const keyEnd = at + 3 + bytes.readUInt16LE(at + 1);
    const valueEnd = keyEnd + 8 + bytes.readUInt32LE(keyEnd + 4);
    const pieces = removed ? null : [bytes.subarray(keyEnd + 8, valueEnd)];
    yield { key: bytes.toString('latin1', at + 3, keyEnd), offset: bytes.readUInt32LE(keyEnd), pieces };
    at = valueEnd;
  }
}

/** Encodes into the scratch buffer; returns the number of bytes. */
function encode(number: number, entries: readonly JournalEntry[]): number {
  let at = headBytes;
  for (const { key, offset, pieces } of entries) {
    const length = pieces === null ? 0 : pieces.reduce((sum, piece) => sum + piece.length, 0);
    reserve(at, changeBytes + key.length + length);
    scratch[at] = pieces === null ? kinds.remove : kinds.put;
    scratch.writeUInt16LE(key.length, at + 1);
    at += 3 + scratch.write(key, at + 3, 'latin1');
    scratch.writeUInt32LE(offset, at);
    scratch.writeUInt32LE(length, at + 4);
    at += 8;
    for (const piece of pieces ?? []) {
      scratch.set(piece, at);
      at += piece.length;
    }
  }
  scratch.writeUInt32LE(at - 8, 4);
  scratch.writeUIntLE(number, 8, 6);
  scratch.writeUInt32LE(crc32(scratch.subarray(4, at)), 0);
  return at;
}

function reserve(used: number, more: number): void {
  if (used + more <= scratch.length) return;
  const larger = Buffer.allocUnsafe(2 * (used + more));
  scratch.copy(larger, 0, 0, used);
  scratch = larger;
}
