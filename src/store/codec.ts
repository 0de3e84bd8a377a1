/**
 * How a row is written: the number of its format, then the record, packed with msgpackr. Fields keep their names, so
 * that a row may have fields that this version does not know, and bytes stay bytes. A row of text that grows is its
 * UTF-8 behind a mark that neither msgpack nor UTF-8 ever begins with.
 */
import { Packr } from 'msgpackr';

/** Raised when old rows need to be read differently; a reader of this version reads every format up to it. */
export const rowFormat = 1;

// Bytes are copied out: a record must not hang on to the engine's memory.
const packr = new Packr({ useRecords: false, copyBuffers: true });

export const packRow = (record: unknown): Uint8Array => packr.pack([rowFormat, record]);

const textMark = 0xc1;

export function textBegun(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = textMark;
  bytes.write(text, 1);
  return bytes;
}

export const textMore = (text: string): Uint8Array => Buffer.from(text);

/** The record of a row. Throws if the row was written by a later version in a format that this one cannot know. */
export function unpackRow<T>(bytes: Uint8Array): T {
  if (bytes[0] === textMark) return Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1).toString() as T;
  const [format, record] = packr.unpack(bytes) as [number, T];
  if (!(format <= rowFormat)) throw new Error(`The row has format ${format}; this version reads formats up to ${rowFormat}.`);
  return record;
}
