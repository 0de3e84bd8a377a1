/** A map in key order: sorted pieces of bounded length, so that an insertion moves a few hundred entries at most. */
const pieceMax = 512;

interface Piece<V> {
  readonly keys: string[];
  readonly values: V[];
}

export class SortedMap<V> {
  #pieces: Piece<V>[] = [];

  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const piece = this.#pieces[this.#pieceOf(key)];
    if (piece === undefined) return undefined;
    const at = lowerBound(piece.keys, key);
    return piece.keys[at] === key ? piece.values[at] : undefined;
  }

  set(key: string, value: V): void {
    const index = this.#pieceOf(key);
    const piece = this.#pieces[index];
    if (piece === undefined) {
      this.#pieces.push({ keys: [key], values: [value] });
      this.#size++;
      return;
    }
    const at = lowerBound(piece.keys, key);
    if (piece.keys[at] === key) {
      piece.values[at] = value;
      return;
    }
    piece.keys.splice(at, 0, key);
    piece.values.splice(at, 0, value);
    this.#size++;
    if (piece.keys.length > pieceMax) this.#split(index, piece);
  }

  delete(key: string): void {
    const index = this.#pieceOf(key);
    const piece = this.#pieces[index];
    if (piece === undefined) return;
    const at = lowerBound(piece.keys, key);
    if (piece.keys[at] !== key) return;
    piece.keys.splice(at, 1);
    piece.values.splice(at, 1);
    this.#size--;
    if (piece.keys.length === 0) this.#pieces.splice(index, 1);
  }

  /** Entries from `from` (inclusive) to `to` (exclusive). The map must not change while they are read. */
  *range(from: string, to: string, reverse = false): Generator<[string, V]> {
    if (reverse) {
      for (let index = this.#pieceOf(to); index >= 0; index--) {
        const piece = this.#pieces[index];
        if (piece === undefined) return;
        for (let at = lowerBound(piece.keys, to) - 1; at >= 0; at--) {
          if (piece.keys[at]! < from) return;
          yield [piece.keys[at]!, piece.values[at]!];
        }
      }
      return;
    }
    for (let index = this.#pieceOf(from); index < this.#pieces.length; index++) {
      const piece = this.#pieces[index]!;
      for (let at = lowerBound(piece.keys, from); at < piece.keys.length; at++) {
        if (piece.keys[at]! >= to) return;
        yield [piece.keys[at]!, piece.values[at]!];
      }
    }
  }

  [Symbol.iterator](): Generator<[string, V]> {
    return this.range('', '\uffff');
  }

  /** The last piece that begins at or before the key; otherwise the first piece. */
  #pieceOf(key: string): number {
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#pieces[middle]!.keys[0]! <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  #split(index: number, piece: Piece<V>): void {
    // Keys mostly come in ascending order: when a piece is split that filled up at its end, it keeps almost all of its
    // entries.
    const at = index === this.#pieces.length - 1 ? piece.keys.length - 1 : piece.keys.length >>> 1;
    this.#pieces.splice(index + 1, 0, { keys: piece.keys.splice(at), values: piece.values.splice(at) });
  }
}

/** A run of keys is merged with the next smaller one once it is less than this many times longer. */
const runRatio = 8;

/** A map that is sorted only when a range is requested: for rows that are written often and listed seldom. */
export class LateSortedMap<V> {
  readonly #values = new Map<string, V>();
  /**
   * The keys in order, in runs of decreasing length, so that keys added since the last range need not be merged into
   * all of them.
   */
  readonly #runs: (readonly string[])[] = [];
  /** Keys added since the last range. */
  #fresh: string[] = [];

  get size(): number {
    return this.#values.size;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): void {
    const before = this.#values.size;
    this.#values.set(key, value);
    if (this.#values.size > before) this.#fresh.push(key);
  }

  /** Entries from `from` (inclusive) to `to` (exclusive). The map must not change while they are read. */
  *range(from: string, to: string, reverse = false): Generator<[string, V]> {
    this.#order();
    const spans: Span[] = [];
    for (const keys of this.#runs) {
      const [first, end] = [lowerBound(keys, from), lowerBound(keys, to)];
      if (first < end) spans.push({ keys, first, end });
    }
    for (let span = nextOf(spans, reverse); span !== undefined; span = nextOf(spans, reverse)) {
      const key = reverse ? span.keys[--span.end]! : span.keys[span.first++]!;
      if (span.first === span.end) spans.splice(spans.indexOf(span), 1);
      yield [key, this.#values.get(key)!];
    }
  }

  /** Entries in the order in which their keys were added. */
  [Symbol.iterator](): IterableIterator<[string, V]> {
    return this.#values.entries();
  }

  #order(): void {
    if (this.#fresh.length === 0) return;
    let run: readonly string[] = this.#fresh.sort(byBytes);
    this.#fresh = [];
    while (this.#runs.length > 0 && this.#runs.at(-1)!.length < runRatio * run.length)
      run = merged(this.#runs.pop()!, run);
    this.#runs.push(run);
  }
}

/** The rest of a run. */
interface Span {
  readonly keys: readonly string[];
  first: number;
  end: number;
}

/** The span with the next key, among those that are not empty. */
function nextOf(spans: readonly Span[], reverse: boolean): Span | undefined {
  let best = spans[0];
  for (const span of spans) {
    const before = reverse
      ? span.keys[span.end - 1]! > best!.keys[best!.end - 1]!
      : span.keys[span.first]! < best!.keys[best!.first]!;
    if (before) best = span;
  }
  return best;
}

function merged(old: readonly string[], late: readonly string[]): string[] {
  const all: string[] = [];
  for (let a = 0, b = 0; a < old.length || b < late.length;) {
    const takesOld = b === late.length || (a < old.length && old[a]! < late[b]!);
    all.push(takesOld ? old[a++]! : late[b++]!);
  }
  return all;
}

const byBytes = (a: string, b: string): number => (a < b ? -1 : 1);

/**
 * Merges rows with a newer layer: its entry replaces the row of the same key, or is inserted if there is no such row.
 * Both must have the same order.
 */
export function* overlaid<Under, Over>(
  rows: Iterable<readonly [string, Under]>,
  newer: Iterable<readonly [string, Over]>,
  reverse: boolean,
): Generator<readonly [key: string, row: Under | undefined, newer: Over | undefined]> {
  const above = newer[Symbol.iterator]();
  let next = above.next();
  for (const [key, row] of rows) {
    while (next.done !== true && (reverse ? next.value[0] > key : next.value[0] < key)) {
      yield [next.value[0], undefined, next.value[1]];
      next = above.next();
    }
    if (next.done === true || next.value[0] !== key) yield [key, row, undefined];
    else {
      yield [key, row, next.value[1]];
      next = above.next();
    }
  }
  for (; next.done !== true; next = above.next()) yield [next.value[0], undefined, next.value[1]];
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
