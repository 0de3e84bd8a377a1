/**
 * Writes records as msgpack, with the same bytes as msgpackr, which reads them. msgpackr calls `string.charCodeAt` for
 * each character, and in a process with many kinds of strings V8's inline cache for that call is megamorphic: it took a
 * tenth of a turn's CPU time.
 */

/**
 * The names of a record's fields in the order of their values in a row; and of each value's own fields, or null if the
 * value is packed as it is.
 */
export interface FieldNames {
  readonly names: readonly string[];
  readonly within: readonly (FieldNames | null)[];
}

type Fields = Readonly<Record<string, unknown>>;

const slabBytes = 16 * 1024;
/** A row begins in a new slab if less than this is left, so that few rows are copied to another one. */
const rowBytes = 2 * 1024;
/** Shorter texts are copied faster by a loop than by a call to C++. */
const shortText = 0x40;

/** The length of the header of a text with this many bytes. */
const headBytes = (bytes: number): number => (bytes < 0x20 ? 1 : bytes < 0x100 ? 2 : bytes < 0x10000 ? 3 : 5);

/** One less than msgpack's type of a list with a two-byte length; a list with a one-byte length has no type. */
const listKind = 0xdb;

const copyAscii = createCopyAscii();

/**
 * V8 inlines a called function that is a constant of an enclosing function, but none that a property or a variable of a
 * module holds.
 */
function createCopyAscii() {
  const { charCodeAt } = String.prototype;
  /** Writes the characters in front of the first that is not ASCII; returns how many. */
  return (value: string, target: Uint8Array, at: number): number => {
    for (let index = 0; index < value.length; index++) {
      const code = charCodeAt.call(value, index);
      if (code >= 0x80) return index;
      target[at + index] = code;
    }
    return value.length;
  };
}

/**
 * Writes the characters from `from` on as UTF-8, a lone surrogate as the three bytes that msgpackr reads again; returns
 * where they end.
 */
function encode(value: string, from: number, target: Uint8Array, at: number): number {
  for (let index = from; index < value.length; index++) {
    const code = value.codePointAt(index)!;
    if (code < 0x80) {
      target[at++] = code;
      continue;
    }
    if (code < 0x800) target[at++] = (code >> 6) | 0xc0;
    else {
      if (code < 0x10000) target[at++] = (code >> 12) | 0xe0;
      else {
        target[at++] = (code >> 18) | 0xf0;
        target[at++] = ((code >> 12) & 0x3f) | 0x80;
        index++;
      }
      target[at++] = ((code >> 6) & 0x3f) | 0x80;
    }
    target[at++] = (code & 0x3f) | 0x80;
  }
  return at;
}

class Packer {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #view = new DataView(this.#slab.buffer);
  /** Start of the row, and position of its next byte. */
  #start = 0;
  #at = 0;

  /**
   * The packed value; null if it is, or has within, something else than a string, a number, a boolean, null, undefined,
   * an array or a plain object.
   */
  pack(value: unknown): Uint8Array | null {
    this.#begin();
    return this.#end(this.#write(value));
  }

  /** A field of a record as it is in the record's row. */
  packField(name: string, value: string): Buffer {
    this.#begin();
    this.#text(name);
    this.#text(value);
    return this.#row();
  }

  /**
   * Lists of texts, for a script in Redis: bytes as texts, because Redis reads no bytes, and numbers as their digits;
   * a lone surrogate becomes U+FFFD, as in a separate argument.
   */
  packTexts(lists: readonly (readonly (string | number | Uint8Array)[])[]): Buffer {
    this.#begin();
    this.#list(lists.length);
    for (const values of lists) {
      this.#list(values.length);
      for (const value of values) {
        if (typeof value === 'object') this.#textBytes(value);
        else this.#text(String(value), false);
      }
    }
    return this.#row();
  }

  /**
   * A list of the numbers and of the record's values, in the order of the names; null as with `pack`, and if the record
   * has a field that is not among the names.
   */
  packFields(numbers: readonly number[], record: unknown, fields: FieldNames): Uint8Array | null {
    this.#begin();
    this.#list(numbers.length + 1);
    for (const value of numbers) this.#write(value);
    return this.#end(this.#fields(record, fields));
  }

  #begin(): void {
    if (this.#slab.length > slabBytes || this.#slab.length - this.#at < rowBytes) this.#take(slabBytes);
    this.#start = this.#at;
  }

  #end(complete: boolean): Uint8Array | null {
    return complete ? this.#row() : null;
  }

  /** A row that needed a separate slab is copied: the slab has room for three bytes a character. */
  #row(): Buffer {
    const row = this.#slab.subarray(this.#start, this.#at);
    return this.#slab.length > slabBytes ? Buffer.from(row) : row;
  }

  #take(bytes: number): void {
    this.#slab = Buffer.allocUnsafeSlow(bytes);
    this.#view = new DataView(this.#slab.buffer);
    this.#start = this.#at = 0;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#slab.length) return;
    const row = this.#slab.subarray(this.#start, this.#at);
    this.#take(Math.max(slabBytes, 2 * (row.length + bytes)));
    this.#slab.set(row);
    this.#at = row.length;
  }

  /** Writes a value; returns whether all of it was written. */
  #write(value: unknown): boolean {
    if (typeof value === 'string') {
      this.#text(value);
      return true;
    }
    this.#reserve(9);
    if (typeof value === 'number') this.#number(value);
    else if (value === null) this.#slab[this.#at++] = 0xc0;
    else if (value === false) this.#slab[this.#at++] = 0xc2;
    else if (value === true) this.#slab[this.#at++] = 0xc3;
    else if (value === undefined) this.#writeUndefined();
    else if (Array.isArray(value)) {
      this.#list(value.length);
      for (let index = 0; index < value.length; index++) if (!this.#write(value[index])) return false;
    } else
      return (
        typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype && this.#record(value as Fields)
      );
    return true;
  }

  /** `lone`: a lone surrogate in a short text is kept, as msgpackr keeps it. */
  #text(value: string, lone = true): void {
    const { length } = value;
    this.#reserve(5 + 3 * length);
    // The header that the text has if it is ASCII; otherwise the text is moved afterwards.
    const head = headBytes(length);
    const from = this.#at + head;
    let to = from;
    if (length < shortText) {
      const ascii = copyAscii(value, this.#slab, from);
      if (ascii === length) to += length;
      else to = lone ? encode(value, ascii, this.#slab, from + ascii) : from + this.#slab.write(value, from);
    } else to += this.#slab.write(value, from);
    const bytes = to - from;
    const needed = headBytes(bytes);
    if (needed !== head) this.#slab.copyWithin(this.#at + needed, from, to);
    this.#textHead(bytes);
    this.#at += bytes;
  }

  #textBytes(value: Uint8Array): void {
    this.#reserve(5 + value.length);
    this.#textHead(value.length);
    this.#slab.set(value, this.#at);
    this.#at += value.length;
  }

  #textHead(bytes: number): void {
    if (bytes < 0x20) this.#slab[this.#at++] = 0xa0 | bytes;
    else this.#head(0xd9, headBytes(bytes) - 1, bytes);
  }

  #number(value: number): void {
    if (value >>> 0 === value) {
      if (value < 0x80) this.#slab[this.#at++] = value;
      else this.#head(0xcc, value < 0x100 ? 1 : value < 0x10000 ? 2 : 4, value);
    } else if (value >> 0 === value) {
      if (value >= -0x20) this.#slab[this.#at++] = 0x100 + value;
      else this.#head(0xd0, value >= -0x80 ? 1 : value >= -0x8000 ? 2 : 4, value);
    } else {
      this.#slab[this.#at] = 0xcb;
      this.#view.setFloat64(this.#at + 1, value);
      this.#at += 9;
    }
  }

  #list(length: number): void {
    this.#reserve(5);
    if (length < 0x10) this.#slab[this.#at++] = 0x90 | length;
    else this.#head(listKind, length < 0x10000 ? 2 : 4, length);
  }

  /**
   * Writes a type and a number in 1, 2 or 4 bytes. `kind`: the type with one byte; the types with two and four follow
   * it.
   */
  #head(kind: number, bytes: number, value: number): void {
    if (bytes === 1) {
      this.#slab[this.#at] = kind;
      this.#slab[this.#at + 1] = value;
    } else if (bytes === 2) {
      this.#slab[this.#at] = kind + 1;
      this.#view.setUint16(this.#at + 1, value);
    } else {
      this.#slab[this.#at] = kind + 2;
      this.#view.setUint32(this.#at + 1, value);
    }
    this.#at += 1 + bytes;
  }

  /** Packed as an extension of msgpackr. */
  #writeUndefined(): void {
    this.#slab[this.#at] = 0xd4;
    this.#slab[this.#at + 1] = 0;
    this.#slab[this.#at + 2] = 0;
    this.#at += 3;
  }

  #record(record: Fields): boolean {
    const head = this.#at - this.#start;
    this.#slab[this.#at] = 0xde;
    this.#at += 3;
    let size = 0;
    for (const name in record) {
      this.#text(name);
      if (!this.#write(record[name])) return false;
      size++;
    }
    this.#view.setUint16(this.#start + head + 1, size);
    return size <= 0xffff;
  }

  /**
   * Writes the values of the fields, up to the last that is there; returns false also if the record has a field that is
   * not among the names.
   */
  #fields(record: unknown, { names, within }: FieldNames): boolean {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return false;
    const fields = record as Fields;
    let length = names.length;
    while (length > 0 && fields[names[length - 1]!] === undefined) length--;
    this.#list(length);
    let unnamed = 0;
    for (const name in fields) if (fields[name] !== undefined) unnamed++;
    for (let index = 0; index < length; index++) {
      const value = fields[names[index]!];
      if (value !== undefined) unnamed--;
      const inner = within[index]!;
      const written =
        inner === null || value === null || value === undefined ? this.#write(value) : this.#fields(value, inner);
      if (!written) return false;
    }
    return unnamed === 0;
  }
}

export const packer = new Packer();
