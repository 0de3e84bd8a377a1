/**
 * The pages of LMDB's file, read without LMDB, which ends the process where one is not as it wrote it. LMDB has no
 * checksums, but each page holds its page number and the number of the transaction that wrote it. These numbers
 * reveal a page of zeros, a misplaced page and a page that is too new, as in a copy that was made while the server
 * ran.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { layout as at, isKnownLayout, noPage } from './header.ts';

/** The result of a walk through a file. */
export interface WalkResult {
  readonly rows: number;
  /** Whether the time ended before the rows did. */
  readonly isCut: boolean;
  /** The fault of the latest state, as the end of a sentence; null if none was found. */
  readonly problem: string | null;
  /** Whether an earlier state is complete, with which LMDB continues after a loss of power. */
  readonly hasEarlier: boolean;
}

const flagsOf = { branch: 1, leaf: 2, overflow: 4 };
/** The flag of a node whose value is on separate pages. */
const bigValue = 1;
/** A tree of more levels than this has a page below itself. */
const depthMax = 64;

/** One of the states that a file has: the last ones that were committed, and the last one that was flushed. */
interface State {
  readonly transaction: bigint;
  readonly root: bigint;
}

/** Thrown by a walk that has found a damaged page. */
class PageDamaged extends Error {}
/** Thrown by a walk whose time has ended. */
class TimeEnded extends Error {}

/**
 * Walks through the rows of the latest state, and of the earlier ones if that one is not whole. `hasEnded`: whether the
 * time for it has.
 */
export function walkPages(file: string, hasEnded: () => boolean): WalkResult {
  const nothing: WalkResult = { rows: 0, isCut: false, problem: null, hasEarlier: false };
  if (!isKnownLayout) return { ...nothing, isCut: true };
  const descriptor = openSync(file, 'r');
  try {
    const [latest, ...earlier] = statesOf(descriptor);
    if (latest === undefined) return nothing;
    const state = walkState(descriptor, latest, hasEnded);
    if (state.problem === null) return state;
    const hasEarlier = earlier.some((state) => walkState(descriptor, state, hasEnded).problem === null);
    return { ...state, hasEarlier };
  } finally {
    closeSync(descriptor);
  }
}

function walkState(descriptor: number, state: State, hasEnded: () => boolean): WalkResult {
  const walk = new Walk(descriptor, state, hasEnded);
  const resultOf = (problem: string | null, isCut: boolean): WalkResult => ({
    rows: walk.rows,
    isCut,
    problem,
    hasEarlier: false,
  });
  try {
    walk.through(state.root, 0);
    return resultOf(null, false);
  } catch (error) {
    if (error instanceof TimeEnded) return resultOf(null, true);
    if (error instanceof PageDamaged) return resultOf(error.message, false);
    throw error;
  }
}

function bytesAt(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(descriptor, bytes, 0, length, from);
  return bytes;
}

const pageBytesOf = (descriptor: number): number => bytesAt(descriptor, 0, at.end).readUInt32LE(at.pageBytes);

/** The states of a file, the latest first. */
function statesOf(descriptor: number): State[] {
  const pageBytes = pageBytesOf(descriptor);
  return [0, pageBytes / 2, pageBytes]
    .map((from) => bytesAt(descriptor, from, at.end))
    .filter((state) => state.readUInt32LE(at.pageBytes) === pageBytes)
    .map((state) => ({
      transaction: state.readBigUInt64LE(at.transaction),
      root: state.readBigUInt64LE(at.mainRoot),
    }))
    .toSorted((one, other) => Number(other.transaction - one.transaction));
}

/** Fields of a page: its number, its transaction, its kind, the end of the offsets of its nodes, and the offsets. */
const pageAt = { number: 0, transaction: 8, flags: 18, lower: 20, nodes: 24 };
/** Fields of a node: the low parts of a number, which is a page's or a length, its flags, the key's length, the key. */
const nodeAt = { low: 0, middle: 2, flags: 4, keyBytes: 6, key: 8 };

class Walk {
  rows = 0;
  readonly #descriptor: number;
  readonly #state: State;
  readonly #hasEnded: () => boolean;
  readonly #pageBytes: number;
  readonly #pages: bigint;
  #last: Buffer | null = null;

  constructor(descriptor: number, state: State, hasEnded: () => boolean) {
    this.#descriptor = descriptor;
    this.#state = state;
    this.#hasEnded = hasEnded;
    this.#pageBytes = pageBytesOf(descriptor);
    this.#pages = BigInt(Math.floor(fstatSync(descriptor).size / this.#pageBytes));
  }

  /** Walks through the tree below a page, in the order of its keys. */
  through(number: bigint, depth: number): void {
    if (number === noPage) return;
    const page = this.#page(number, flagsOf.branch | flagsOf.leaf);
    if (depth > depthMax) throw new PageDamaged(`has page ${number} below itself`);
    if (this.#hasEnded()) throw new TimeEnded();
    const isLeaf = (page.readUInt16LE(pageAt.flags) & flagsOf.leaf) !== 0;
    for (const node of nodesOf(page, number)) {
      if (isLeaf) this.#row(node, number);
      else this.through(childOf(node), depth + 1);
    }
  }

  #row(node: Buffer, number: bigint): void {
    const key = keyOf(node);
    if (this.#last !== null && key.compare(this.#last) <= 0)
      throw new PageDamaged(`has the rows of page ${number} in a wrong order`);
    this.#last = key;
    this.rows++;
    if ((node.readUInt16LE(nodeAt.flags) & bigValue) !== 0)
      this.#page(node.readBigUInt64LE(nodeAt.key + key.length), flagsOf.overflow);
  }

  /** Reads a page; throws unless it is one of these kinds, has that number and was there in this state. */
  #page(number: bigint, flags: number): Buffer {
    if (number >= this.#pages) throw new PageDamaged(`was cut before page ${number}`);
    const page = bytesAt(this.#descriptor, Number(number) * this.#pageBytes, this.#pageBytes);
    const isWhole =
      page.readBigUInt64LE(pageAt.number) === number &&
      page.readBigUInt64LE(pageAt.transaction) <= this.#state.transaction &&
      (page.readUInt16LE(pageAt.flags) & flags) !== 0;
    if (!isWhole) throw new PageDamaged(`has another page ${number} than LMDB wrote there`);
    return page;
  }
}

/** The nodes of a page, each from its beginning on. */
function* nodesOf(page: Buffer, number: bigint): Generator<Buffer> {
  const count = page.readUInt16LE(pageAt.lower) / 2;
  for (let index = 0; index < count; index++) {
    const offset = pageAt.nodes + 2 * index;
    const from = offset + 2 <= page.length ? pageAt.nodes + page.readUInt16LE(offset) : page.length;
    const node = page.subarray(from);
    const isWithin = node.length >= nodeAt.key && node.length >= nodeAt.key + node.readUInt16LE(nodeAt.keyBytes);
    if (!isWithin) throw new PageDamaged(`has a damaged page ${number}`);
    yield node;
  }
}

const keyOf = (node: Buffer): Buffer => node.subarray(nodeAt.key, nodeAt.key + node.readUInt16LE(nodeAt.keyBytes));

/** The page below a node of a branch. */
const childOf = (node: Buffer): bigint =>
  BigInt(node.readUInt16LE(nodeAt.low)) |
  (BigInt(node.readUInt16LE(nodeAt.middle)) << 16n) |
  (BigInt(node.readUInt16LE(nodeAt.flags)) << 32n);
