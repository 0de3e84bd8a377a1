/**
 * Decisions over an engine. A decision is made synchronously against the newest state: what is committed, and over it
 * what earlier decisions wrote and is not committed yet. All decisions of one iteration of the event loop, and all that
 * are made while a batch commits, go to the engine as one batch. A decision is answered once it is committed.
 */
import { limits } from '../base/limits.ts';
import { StoreUnavailable } from './store.ts';
import { packed, textBegun, textMore, unpackRow, type RowForm } from './codec.ts';
import { AppendedBytes, applyChange, mergeChanges, type Change, type Engine, type Row, type Write } from './engine.ts';
import { LateSortedMap, overlaid } from './sorted.ts';

/** Rows that are kept as they were written, so that a later step need not unpack them. */
export const recordsKeptMax = 8192;
/** Bytes of such a row; a visitor's fields may be a whole body. */
export const recordKeptBytesMax = 4096;

/** The writes of a decision. They are applied all together when the decision is made, or not at all if it throws. */
export class Draft {
  readonly rows: Write[] = [];
  /** The rows among them whose records the batcher keeps in memory; few, because `keeps` searches them all. */
  readonly kept: (readonly [key: string, record: unknown])[] = [];
  /** The rows that are packed with their batch. */
  readonly counts: (readonly [key: string, record: readonly number[]])[] = [];
  /** The keys that had no row before; mostly one at most. */
  fresh: readonly string[] = none;
  #applied: (() => void)[] | null = null;

  /** Calls back once the draft is applied: a mirror in memory must not move with a decision that throws. */
  whenApplied(callback: () => void): void {
    (this.#applied ??= []).push(callback);
  }

  runApplied(): void {
    if (this.#applied !== null) for (const callback of this.#applied) callback();
  }

  put(key: string, record: unknown, form?: RowForm): void {
    this.rows.push([key, packed(record, form)]);
  }

  /** Works like `put`, for a key without a row: if it is soon removed, it need never reach the database. */
  create(key: string, record: unknown, form?: RowForm): void {
    this.put(key, record, form);
    this.fresh = this.fresh.concat(key);
  }

  /**
   * Works like `put`, for a row that later decisions read: the record also stays in memory, unless it is long, and
   * need not be unpacked.
   */
  keep(key: string, record: unknown, form?: RowForm): void {
    const row = packed(record, form);
    this.rows.push([key, row]);
    if (row.length <= recordKeptBytesMax) this.kept.push([key, record]);
  }

  /**
   * Works like `keep`, for a short row that many decisions of a batch replace: it is packed once for the batch.
   * Within a draft, the row changes only in this way.
   */
  count(key: string, record: readonly number[]): void {
    this.counts.push([key, record]);
  }

  keeps(key: string): boolean {
    return this.kept.some(([kept]) => kept === key);
  }

  /** Begins a row of text, to which `append` adds, under a key that has no row. */
  begin(key: string, text: string): void {
    this.rows.push([key, textBegun(text)]);
    this.fresh = this.fresh.concat(key);
  }

  append(key: string, text: string): void {
    this.rows.push([key, new AppendedBytes([textMore(text)])]);
  }

  remove(key: string): void {
    this.rows.push([key, null]);
  }
}

const none: readonly never[] = [];

class Batch {
  readonly rows = new LateSortedMap<Change>();
  readonly fresh = new Set<string>();
  /** The newest records of rows that are not packed yet. */
  readonly counts = new Map<string, readonly number[]>();
  readonly done: Promise<void>;
  resolve!: () => void;
  reject!: (error: StoreUnavailable) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // A batch that has only write-behind rows has no caller that handles its rejection.
    this.done.catch(() => {});
  }

  changes(key: string): boolean {
    return this.rows.get(key) !== undefined || this.counts.has(key);
  }

  packCounts(): void {
    for (const [key, record] of this.counts) this.rows.set(key, packed(record));
    this.counts.clear();
  }
}

export class WriteBatcher {
  readonly #engine: Engine;
  #collecting: Batch | null = null;
  #inFlight: Batch | null = null;
  #open = false;
  /**
   * The newest state of rows written with `keep` or read with `getKept` (null for an absent row), in the order in
   * which they were first kept: that is the order of eviction, and a row in use is kept again with its next write.
   */
  readonly #kept = new Map<string, unknown>();
  /**
   * A bit for each first letter of the keys that were ever kept: most rows are of kinds that never are, and a miss in a
   * large map costs more than the rest of `#apply`.
   */
  #keptInitials = 0;
  readonly #late: ((draft: Draft) => void)[] = [];
  readonly #dropped: (() => void)[] = [];
  #mustReload = false;
  /** Size of the batch that the engine refused last; 0 once it has taken as much again. */
  #refusedBytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async open(): Promise<void> {
    await this.#engine.open();
    this.#open = true;
  }

  /** Accepts no further decision, commits those made and closes the engine. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    for (let batch = this.#pending(); batch !== null; batch = this.#pending()) await batch.done.catch(() => {});
    await this.#engine.close();
  }

  /**
   * Makes a decision and resolves with its answer once all that it wrote, and all that it was based on, is committed.
   * `decide` is synchronous, reads the batcher (its own draft is not visible to it) and touches nothing else before its
   * last read.
   */
  step<T>(decide: (draft: Draft) => T): Promise<T> {
    let answer: T;
    try {
      this.#usable();
      this.#reload();
      const draft = new Draft();
      answer = decide(draft);
      if (draft.rows.length > 0 || draft.counts.length > 0) this.#apply(this.#batch(), draft);
      draft.runApplied();
    } catch (error) {
      return Promise.reject(error);
    }
    const pending = this.#pending();
    return pending === null ? Promise.resolve(answer) : pending.done.then(() => answer);
  }

  /** The newest state of a row, for decisions. */
  get<T>(key: string): T | undefined {
    const record = this.#kept.get(key);
    if (record !== undefined) return record === null ? undefined : (record as T);
    const counted = this.#collecting?.counts.get(key);
    if (counted !== undefined) return counted as T;
    const earlier = this.#inFlight?.rows.get(key);
    const later = this.#collecting?.rows.get(key);
    const change = later === undefined ? earlier : mergeChanges(earlier, later);
    if (change === undefined) return this.committed(key);
    const value = change instanceof AppendedBytes ? applyChange(this.#committed(key), change) : change;
    return value === null ? undefined : unpackRow<T>(value);
  }

  /**
   * Works like `get`, for a short row that most decisions read and few write: its record, or the absence of one, stays
   * in memory.
   */
  getKept<T>(key: string): T | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept === null ? undefined : (kept as T);
    const record = this.get<T>(key);
    this.#keptInitials |= initialOf(key);
    this.#kept.set(key, record ?? null);
    if (this.#kept.size > recordsKeptMax) this.#makeRoom();
    return record;
  }

  /** The newest state of the first `limit` rows in order, for decisions. */
  range<T>(from: string, to: string, limit = Infinity): [string, T][] {
    const pending = new LateSortedMap<Change>();
    this.#collecting?.packCounts();
    for (const batch of [this.#inFlight, this.#collecting]) {
      if (batch !== null)
        for (const [key, change] of batch.rows.range(from, to))
          pending.set(key, mergeChanges(pending.get(key), change));
    }
    const rows: [string, T][] = [];
    if (limit === 0) return rows;
    for (const [key, row, newer] of overlaid(this.#rows(from, to, false), pending.range(from, to), false)) {
      const value = newer === undefined ? row! : applyChange(row, newer);
      if (value !== null) rows.push([key, unpackRow<T>(value)]);
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** The committed state of a row, for readers: they must not see a write that can still fail. */
  committed<T>(key: string): T | undefined {
    this.#usable();
    const record = this.#kept.get(key);
    if (record !== undefined && this.#inFlight?.rows.get(key) === undefined && this.#collecting?.changes(key) !== true)
      return record === null ? undefined : (record as T);
    const value = this.#committed(key);
    return value === undefined ? undefined : unpackRow<T>(value);
  }

  /** Committed rows in order, consumed at once (see `Engine`). */
  *scan<T>(from: string, to: string, reverse = false): Generator<[string, T]> {
    for (const [key, value] of this.#rows(from, to, reverse)) yield [key, unpackRow<T>(value)];
  }

  pause(): Promise<void> {
    return this.#engine.pause();
  }

  /**
   * Rejects if the engine refuses writes, or soon will (see `Engine`). Writes as much as it refused last: a disk that
   * is full may still have room for a small row.
   */
  async probe(key: string): Promise<void> {
    const bytes = this.#refusedBytes;
    await this.step((draft) => draft.put(key, bytes === 0 ? null : Buffer.alloc(bytes)));
    this.#refusedBytes = 0;
    try {
      await this.#engine.sound?.();
    } catch (error) {
      throw new StoreUnavailable('The store will soon reject writes.', { cause: error });
    }
  }

  /** Calls back just before each batch is written, to add rows that no caller waits for. */
  beforeFlush(write: (draft: Draft) => void): void {
    this.#late.push(write);
  }

  /** Has rows that no caller waits for written now, even if there is no decision. */
  wake(): void {
    if (this.#open) this.#batch();
  }

  /** Calls back before the first decision after a failed batch; the newest state is then the committed one again. */
  onDropped(reload: () => void): void {
    this.#dropped.push(reload);
  }

  #usable(): void {
    if (!this.#open) throw new StoreUnavailable('The store is not open.');
  }

  #committed(key: string): Uint8Array | undefined {
    this.#usable();
    try {
      return this.#engine.get(key);
    } catch (error) {
      throw unreadable(error);
    }
  }

  *#rows(from: string, to: string, reverse: boolean): Generator<Row> {
    this.#usable();
    try {
      yield* this.#engine.range(from, to, reverse);
    } catch (error) {
      throw unreadable(error);
    }
  }

  #pending(): Batch | null {
    return this.#collecting ?? this.#inFlight;
  }

  #batch(): Batch {
    if (this.#collecting === null) {
      this.#collecting = new Batch();
      // A pause gathers decisions: each request and each provider response is a separate iteration of the event loop,
      // and a batch costs more than a decision.
      if (this.#inFlight === null) void this.#engine.pause().then(() => this.#flush());
    }
    return this.#collecting;
  }

  #flush(): void {
    const batch = this.#collecting;
    if (batch === null) return;
    try {
      const draft = new Draft();
      for (const write of this.#late) write(draft);
      this.#apply(batch, draft);
      batch.packCounts();
    } catch (error) {
      // Reports a call that nothing awaits: its decisions would wait for ever.
      return this.#drop(batch, error);
    }
    this.#collecting = null;
    this.#inFlight = batch;
    const written = batch.rows.size === 0 ? Promise.resolve() : this.#engine.write(batch.rows, batch.fresh);
    written.then(
      () => {
        this.#inFlight = null;
        batch.resolve();
        this.#flush();
      },
      (error: unknown) => {
        this.#refusedBytes = Math.min(sizeOf(batch.rows), probeBytesMax);
        this.#drop(batch, error);
      },
    );
  }

  /** Decisions made meanwhile were based on rows that were never committed, so they fail too. */
  #drop(batch: Batch, cause: unknown): void {
    const error = new StoreUnavailable('The store could not be written.', { cause });
    const onTop = this.#collecting;
    this.#inFlight = null;
    this.#collecting = null;
    this.#kept.clear();
    this.#mustReload = true;
    batch.reject(error);
    onTop?.reject(error);
  }

  #apply(batch: Batch, draft: Draft): void {
    for (const key of draft.fresh) if (batch.rows.get(key) === undefined) batch.fresh.add(key);
    for (const [key, change] of draft.rows)
      batch.rows.set(key, change instanceof AppendedBytes ? mergeChanges(batch.rows.get(key), change) : change);
    for (const [key, record] of draft.kept) {
      this.#keptInitials |= initialOf(key);
      this.#kept.set(key, record);
      if (batch.counts.size > 0) batch.counts.delete(key);
    }
    for (const [key] of draft.rows)
      if ((this.#keptInitials & initialOf(key)) !== 0 && !draft.keeps(key)) this.#forget(batch, key);
    for (const [key, record] of draft.counts) {
      this.#keptInitials |= initialOf(key);
      this.#kept.set(key, record);
      batch.counts.set(key, record);
    }
    if (this.#kept.size > recordsKeptMax) this.#makeRoom();
  }

  #forget(batch: Batch, key: string): void {
    this.#kept.delete(key);
    batch.counts.delete(key);
  }

  /** Evicts many entries at a time: to find its first entry a map skips all that were deleted before it. */
  #makeRoom(): void {
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= recordsKeptMax * limits.cacheShareKept) break;
      this.#kept.delete(key);
    }
  }

  /** Reloading reads the engine, which may itself have failed: until it succeeds no decision is made. */
  #reload(): void {
    if (!this.#mustReload) return;
    for (const reload of this.#dropped) reload();
    this.#mustReload = false;
  }
}

/** A batch is larger where many requests come at once. */
const probeBytesMax = 1024 * 1024;

function sizeOf(rows: Iterable<Write>): number {
  let bytes = 0;
  for (const [key, change] of rows) {
    const pieces = change instanceof AppendedBytes ? change.pieces : [change];
    bytes += key.length + pieces.reduce((sum, piece) => sum + (piece?.length ?? 0), 0);
  }
  return bytes;
}

const initialOf = (key: string): number => 1 << (key.charCodeAt(0) & 31);

const unreadable = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable('The store could not be read.', { cause });
