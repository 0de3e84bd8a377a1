/**
 * Room on the disk for a transaction, asked for before it begins. Where a disk rejects a page, lmdb 3.5.6 writes its
 * sentence about it beyond the end of a buffer (`mdb_page_flush`, 100 bytes): the process then sometimes ends with
 * `free(): invalid pointer`. A disk that another program fills within the transaction is still met that way.
 */
import { statfsSync } from 'node:fs';

/** Bytes of a page of the database. */
const pageBytes = 4096;
/** Pages that one row may need beside its value: one on each level of the tree, and one of a split. */
const pagesOfRow = 6;
/** Pages that a transaction may need for its list of free pages and for the roots. */
const pagesOfTransaction = 16;

/** Bytes that a transaction with these rows may add to the file, at most. */
export function bytesNeeded(rows: readonly (readonly [key: string, value: Uint8Array | null])[]): number {
  let pages = pagesOfTransaction;
  for (const [, value] of rows) pages += pagesOfRow + Math.ceil((value?.length ?? 0) / pageBytes);
  return pages * pageBytes;
}

/**
 * Throws if the disk of a folder has fewer bytes left.
 *
 * @throws Error with the code ENOSPC, as the system's own.
 */
export function checkRoom(folder: string, bytes: number): void {
  const { bfree, bavail, bsize } = statfsSync(folder);
  const free = (process.geteuid?.() === 0 ? bfree : bavail) * bsize;
  if (free < bytes)
    throw Object.assign(
      new Error(`no space left on the disk: ${free} bytes are free, and the database may need ${bytes}`),
      { code: 'ENOSPC' },
    );
}
