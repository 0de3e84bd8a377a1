/**
 * The file `journal-end`: the number of the record that comes next, noted after each record. Without it a file of the
 * journal that was cut at its end, or copied before the others, would look whole. It is no more than a hint: where it
 * cannot be written, a loss of the newest records goes unnoticed.
 */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The content of the file. */
export interface NotedEnd {
  readonly next: number;
  /** The name of the database, empty if it has none. */
  readonly name: string;
}

const digits = 15;

/** The file, which is there while a store is open and after it was killed. */
export const endFile = (folder: string): string => join(folder, 'journal-end');
const padded = (next: number): string => String(next).padStart(digits, '0');

export class JournalEnd {
  readonly #folder: string;
  #file: number | null = null;
  readonly #bytes = Buffer.alloc(digits);

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Begins the file again, for the database of this name. */
  open(next: number, name: string | null): void {
    rmSync(endFile(this.#folder), { force: true });
    try {
      this.#file = openSync(endFile(this.#folder), 'wx', 0o600);
      writeSync(this.#file, `${padded(next)} ${name ?? ''}\n`, 0, 'latin1');
    } catch {
      this.close();
    }
  }

  note(next: number): void {
    if (this.#file === null) return;
    this.#bytes.write(padded(next), 'latin1');
    try {
      writeSync(this.#file, this.#bytes, 0, digits, 0);
    } catch {
      // A number that is too low reports no loss.
    }
  }

  /** Leaves the file, as after a crash. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  remove(): void {
    this.close();
    rmSync(endFile(this.#folder), { force: true });
  }
}

/** Returns null if the folder has no such file, or it cannot be read. */
export function readJournalEnd(folder: string): NotedEnd | null {
  try {
    const [, next, name] = /^(\d{15}) (.*)\n$/.exec(readFileSync(endFile(folder), 'latin1')) ?? [];
    return next === undefined ? null : { next: Number(next), name: name! };
  } catch {
    return null;
  }
}
