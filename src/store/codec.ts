/**
 * The format of a row: its format number, then the record, packed with msgpackr. Fields keep their names, so that a row
 * may have fields that this version does not know, and bytes stay bytes. A row that has a shape is the number of the
 * shape and a list of the values (`shapes.ts`). A row of growing text is its UTF-8 after a mark with which neither
 * msgpack nor UTF-8 ever begins.
 */
import { Packr } from 'msgpackr';
import type { Session } from './store.ts';
import { packer } from './packer.ts';
import { numberedShapes, rowShapes, shapeNumbers, type ShapeName } from './shapes.ts';

/** Raised when old rows must be read differently; a version reads every format up to its own. */
export const rowFormat = 2;
const namedFormat = 1;
const shapedFormat = 2;

// Bytes are copied, so that a record does not keep the engine's memory alive.
const packr = new Packr({ useRecords: false, copyBuffers: true });

/** Reads objects as maps, because as objects some names would not be read as they were written. */
const named = new Packr({ useRecords: false, copyBuffers: true, mapsAsObjects: false });

/** `odd`: the record has a name that msgpackr would read as another name, or take for a method. */
export function packRow(record: unknown, odd = false): Uint8Array {
  const row = odd ? [namedFormat, mapsOf(record), true] : [namedFormat, record];
  return packer.pack(row) ?? packr.pack(row);
}

/** Packing of a record: by its shape, as `odd`, or with the names of its fields if neither applies. */
export type RowForm = ShapeName | 'odd';

export function packed(record: unknown, form?: RowForm): Uint8Array {
  if (form === undefined || form === 'odd') return packRow(record, form === 'odd');
  return packer.packFields([shapedFormat, shapeNumbers[form]], record, rowShapes[form]) ?? packRow(record);
}

/** Whether a client has given a session a field name that has a meaning in JavaScript. */
export const isOdd = ({ metadata, visitor }: Session): boolean =>
  oddNames.some((name) => Object.hasOwn(metadata, name) || Object.hasOwn(visitor, name));

const oddNames = ['__proto__', 'toJSON'];

const textMark = 0xc1;

export function textBegun(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  bytes[0] = textMark;
  bytes.write(text, 1);
  return bytes;
}

export const textMore = (text: string): Uint8Array => Buffer.from(text);

/** The record of a row. Throws if a later version wrote the row in a format that this version does not know. */
export function unpackRow<T>(bytes: Uint8Array): T {
  if (bytes[0] === textMark) return Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1).toString() as T;
  const row = packr.unpack(bytes) as unknown[];
  const format = row[0] as number;
  if (!(format <= rowFormat))
    throw new Error(`The row has format ${format}; this version reads formats up to ${rowFormat}.`);
  if (format === shapedFormat) return shaped<T>(row as [number, number, unknown[]]);
  const [, record, odd] = row as [number, T, true?];
  return odd ? (objectOf((named.unpack(bytes) as unknown[])[1]) as T) : record;
}

function shaped<T>([, number, values]: [format: number, shape: number, values: unknown[]]): T {
  const shape = numberedShapes.get(number);
  if (shape === undefined) throw new Error(`The row has shape ${number}, which this version does not know.`);
  return shape.recordOf(values) as T;
}

function mapsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapsOf);
  const isRecord = typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
  return isRecord ? new Map(Object.entries(value).map(([name, item]) => [name, mapsOf(item)])) : value;
}

function objectOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(objectOf);
  return value instanceof Map
    ? Object.fromEntries(Array.from(value as Map<string, unknown>, ([name, item]) => [name, objectOf(item)]))
    : value;
}
