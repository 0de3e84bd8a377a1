/**
 * One file of the journal: records in order, each a batch of changes under one number. A record is its checksum (4 bytes),
 * the length of what follows (4), its number (6) and the changes: kind (1), length of the key (2), the key, where in the
 * row the bytes go (4), their length (4) and the bytes. A record that was cut, or that the loss of power mixed up, fails
 * its checksum. Because every change says where its bytes go, records may be applied again to rows that have them already.
 */
import { closeSync, fdatasync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const headBytes = 14;
const changeBytes = 11;
const kinds = { remove: 0, put: 1 } as const;

/** The bytes of a row from `offset` on, in place of whatever it has there and behind; none remove it. */
export interface Entry {
  readonly key: string;
  readonly offset: number;
  readonly pieces: readonly Uint8Array[] | null;
}

export interface Record {
  readonly number: number;
  readonly entries: Entry[];
}

let scratch = Buffer.allocUnsafe(64 * 1024);

export class Segment {
  readonly path: string;
  /** The number of its first record. */
  readonly first: number;
  readonly #file: number;
  #length = 0;
  /** A record that was refused may have left its beginning behind: nothing may follow it. */
  #torn = false;

  constructor(path: string, first: number) {
    this.first = first;
    this.path = path;
    this.#file = openSync(path, 'w', 0o600);
  }

  get bytes(): number {
    return this.#length;
  }

  get torn(): boolean {
    return this.#torn;
  }

  /** Writes a record whole, or throws and leaves nothing of it. */
  append(number: number, entries: readonly Entry[]): void {
    const length = encode(number, entries);
    try {
      for (let at = 0; at < length; ) at += writeSync(this.#file, scratch, at, length - at, this.#length + at);
    } catch (error) {
      this.#cut();
      throw error;
    }
    this.#length += length;
  }

  /** Resolves when all that was appended is on the disk. */
  flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#file, (error) => {
        if (error === null) return resolve();
        // What the system could not write it may have dropped: nothing more is entrusted to this file.
        this.#torn = true;
        reject(error);
      });
    });
  }

  close(): void {
    closeSync(this.#file);
  }

  #cut(): void {
    try {
      ftruncateSync(this.#file, this.#length);
    } catch {
      this.#torn = true;
    }
  }
}

/** A file as it is now, not yet taken apart. */
export interface SegmentFile {
  readonly path: string;
  readonly bytes: Buffer;
}

export const readSegment = (path: string): SegmentFile => ({ path, bytes: readFileSync(path) });

/** What a file holds: its records up to the first that is not whole, and the bytes from there on. */
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

/** Whether a whole record lies within what follows the first that is not, numbered after `next` as it would be there. */
export function goesOn({ rest }: Found, next: number): boolean {
  for (let at = 1; at + headBytes <= rest.length; at++) {
    const number = numberAt(rest, at);
    if (number > next && number - next < rest.length && endOf(rest, at) !== null) return true;
  }
  return false;
}

const numberAt = (bytes: Buffer, at: number): number => bytes.readUIntLE(at + 8, 6);

/** Where the record ends that begins here; null if there is no whole one. */
function endOf(bytes: Buffer, at: number): number | null {
  if (at + headBytes > bytes.length) return null;
  const end = at + 8 + bytes.readUInt32LE(at + 4);
  return end <= bytes.length && crc32(bytes.subarray(at + 4, end)) === bytes.readUInt32LE(at) ? end : null;
}

function* decode(bytes: Buffer, from: number, end: number): Generator<Entry> {
  for (let at = from; at < end; ) {
    const removed = bytes[at] === kinds.remove;
    const keyEnd = at + 3 + bytes.readUInt16LE(at + 1);
    const valueEnd = keyEnd + 8 + bytes.readUInt32LE(keyEnd + 4);
    const pieces = removed ? null : [bytes.subarray(keyEnd + 8, valueEnd)];
    yield { key: bytes.toString('latin1', at + 3, keyEnd), offset: bytes.readUInt32LE(keyEnd), pieces };
    at = valueEnd;
  }
}

/** Encodes into the scratch: how many bytes. */
function encode(number: number, entries: readonly Entry[]): number {
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
