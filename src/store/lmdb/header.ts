/**
 * The first bytes of LMDB's file. LMDB ends the process where they are not as it wrote them, or where they point
 * behind the file's end, so they are looked at before it opens the file. Every file that LMDB has written passes: any
 * page size, encrypted or not.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { endianness } from 'node:os';
import { basename } from 'node:path';
import { endFile } from '../journal/end.ts';
import { filesIn } from '../journal/replay.ts';
import { StoreUnavailable } from '../store.ts';
import { dataFile } from './files.ts';

/** Offsets of the fields on 64-bit machines: a page's header, and the meta data after it. */
export const layout = {
  flags: 18,
  magic: 24,
  version: 28,
  pageBytes: 48,
  freeRoot: 88,
  mainRoot: 136,
  transaction: 152,
  end: 168,
};
const at = layout;
const magic = 0xbeefc0de;
const version = 2;
const metaFlag = 8;
/** The root of a tree without rows. */
export const noPage = 2n ** 64n - 1n;
const pageBytesMax = 64 * 1024;
/** Other layouts are left to LMDB. */
export const isKnownLayout = endianness() === 'LE' && !['arm', 'ia32', 'mips', 'mipsel', 'ppc'].includes(process.arch);

/** Rejects a folder whose file LMDB must not open or begin, with one clear sentence. */
export function checkHeader(folder: string): void {
  const file = dataFile(folder);
  const problem = headerProblem(file) ?? missingProblem(folder);
  if (problem !== null)
    throw new StoreUnavailable(
      `The file ${file} ${problem}. Bring back the last good copy of the folder, or name an empty folder.`,
    );
}

/**
 * The reason why LMDB must not begin a database in the folder, as the end of a sentence: the journal's files exist,
 * which a closed database does not have, but their database is missing. Null without a reason.
 */
export function missingProblem(folder: string): string | null {
  const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size(dataFile(folder)) > 0) return null;
  const needs = [...filesIn(folder), endFile(folder)].find((path) => size(path) > 0);
  return needs === undefined ? null : `is missing or empty, and ${basename(needs)} beside it needs it`;
}

/**
 * The reason why LMDB must not open the file, as the end of a sentence. Null without a reason, as for an empty or
 * missing file.
 */
export function headerProblem(file: string): string | null {
  if (!isKnownLayout) return null;
  const descriptor = openIfThere(file);
  if (descriptor === null) return null;
  try {
    const stat = fstatSync(descriptor);
    return stat.size === 0 || !stat.isFile() ? null : problemOf(stat.size, (from) => bytesAt(descriptor, from));
  } finally {
    closeSync(descriptor);
  }
}

/** Null also for a file that may not be read, which LMDB says. */
function openIfThere(file: string): number | null {
  try {
    return openSync(file, 'r');
  } catch {
    return null;
  }
}

function bytesAt(descriptor: number, from: number): Buffer {
  const bytes = Buffer.alloc(at.end);
  readSync(descriptor, bytes, 0, bytes.length, from);
  return bytes;
}

function problemOf(size: number, read: (from: number) => Buffer): string | null {
  const first = read(0);
  const pageBytes = first.readUInt32LE(at.pageBytes);
  if ((first.readUInt16LE(at.flags) & metaFlag) === 0 || first.readUInt32LE(at.magic) !== magic)
    return 'is not an LMDB database';
  if ((first.readUInt32LE(at.version) & 0xffff) !== version) return 'is an LMDB database of another version';
  if (pageBytes < 2 * at.end || pageBytes > pageBytesMax || (pageBytes & (pageBytes - 1)) !== 0)
    return 'is a damaged LMDB database';
  if (size < 2 * pageBytes) return 'was cut short';
  // The middle of the first page holds the last flush; it is empty before the first flush.
  if (![0, pageBytes].includes(read(pageBytes / 2).readUInt32LE(at.pageBytes))) return 'is a damaged LMDB database';
  // LMDB continues from the state that it trusts, and each state has two trees. Only a file without any complete
  // state is certainly cut.
  const states = [0, pageBytes / 2, pageBytes]
    .map(read)
    .filter((state) => state.readUInt32LE(at.pageBytes) === pageBytes);
  const pages = BigInt(Math.floor(size / pageBytes));
  const isThere = (root: bigint): boolean => root === noPage || root < pages;
  const isWhole = (state: Buffer): boolean =>
    isThere(state.readBigUInt64LE(at.freeRoot)) && isThere(state.readBigUInt64LE(at.mainRoot));
  return states.some(isWhole) ? null : 'was cut short';
}
