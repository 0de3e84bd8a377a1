/**
 * Budgets of keys, and limits of any kind, several in one decision. A sweep removes rows that no longer change any
 * answer.
 */
import * as budget from '../../../machines/budget.ts';
import type {
  AskedLimit,
  AskedPlace,
  AskedRate,
  BudgetName,
  KeyLimits,
  KeyStanding,
  LimitStore,
  LookedLimit,
  SettledLimit,
  Taken,
  TakeLimits,
  TakenLimit,
} from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import type { EmbeddedBudgets } from './budgets.ts';
import * as keys from './keys.ts';
import { Places, type Seat } from './places.ts';

interface LimitRow {
  /** The state of a bucket or a counter, or the end of the lease on a place. */
  readonly state: budget.Bucket | budget.Counter | number;
  /** The time from which the row no longer changes any answer. */
  readonly endMs: number;
}

/** The answer of a limit, and the row to write if all limits pass. */
interface Looked extends TakenLimit {
  readonly key: string;
  readonly row: LimitRow;
  /** The arguments of a place. */
  readonly seat?: Seat;
}

export class EmbeddedLimits implements LimitStore {
  readonly #batcher: WriteBatcher;
  readonly #budgets: EmbeddedBudgets;

  readonly #places: Places;

  constructor(batcher: WriteBatcher, budgets: EmbeddedBudgets) {
    this.#batcher = batcher;
    this.#budgets = budgets;
    this.#places = new Places(batcher);
  }

  /** Drops a removed workspace from memory. */
  forget(workspaceId: string): void {
    this.#places.forget(workspaceId);
  }

  takeBudgets(
    workspaceId: string,
    keyId: string,
    budgets: readonly { budget: BudgetName; ceiling: number }[],
    nowMs: number,
  ): Taken[] {
    return this.#budgets.take(workspaceId, keyId, budgets, nowMs);
  }

  async readBudgets(
    workspaceId: string,
    asked: readonly { readonly id: string; readonly limits: KeyLimits }[],
    nowMs: number,
  ): Promise<KeyStanding[]> {
    return asked.map((key) => this.#budgets.readStanding(workspaceId, key, nowMs));
  }

  take({ workspaceId, asked, nowMs }: TakeLimits): Promise<TakenLimit[]> {
    return this.#batcher.step((draft) => this.takeIn(draft, workspaceId, asked, nowMs));
  }

  /** A decision that writes nothing: the mirror of the places has uncommitted changes as well. */
  used(workspaceId: string, looked: readonly LookedLimit[], nowMs: number): Promise<number[]> {
    return this.#batcher.step(() =>
      looked.map((limit) => {
        const key = keys.limit(workspaceId, limit.name);
        if (limit.kind === 'place') return this.#places.holders(key, nowMs).size;
        const stored = this.#batcher.get<LimitRow>(key)?.state as budget.Counter | undefined;
        return budget.current(stored ?? { used: 0, since: 0 }, nowMs, limit.periodMs).used;
      }),
    );
  }

  /** Removes limits by the keys of their rows, within another step. */
  removeIn(draft: Draft, workspaceId: string, rows: readonly string[]): void {
    for (const key of rows) this.#put(draft, key, null);
    draft.whenApplied(() => this.#places.forget(workspaceId));
  }

  /** Takes the limits within another step. */
  takeIn(draft: Draft, workspaceId: string, asked: readonly AskedLimit[], nowMs: number): TakenLimit[] {
    const looked = asked.map((limit) => this.#look(keys.limit(workspaceId, limit.name), limit, nowMs));
    if (looked.every(({ passed }) => passed)) {
      for (const { key, row, seat } of looked) {
        if (seat === undefined) this.#put(draft, key, row);
        else this.#putSeat(draft, seat, row.endMs, nowMs);
      }
    }
    return looked.map(({ passed, waitMs }) => ({ passed, waitMs }));
  }

  settleIn(draft: Draft, workspaceId: string, settled: readonly SettledLimit[], nowMs: number): void {
    for (const limit of settled) {
      const key = keys.limit(workspaceId, limit.name);
      if (limit.kind === 'place') {
        this.#putSeat(draft, seatOf(key, limit), limit.untilMs > nowMs ? limit.untilMs : null, nowMs);
        continue;
      }
      const stored = this.#batcher.get<LimitRow>(key)?.state;
      if (limit.kind === 'counter')
        this.#settleCounter(draft, key, (stored as budget.Counter | undefined) ?? { used: 0, since: 0 }, limit, nowMs);
      else this.#settleBucket(draft, key, stored as budget.Bucket | undefined, limit, nowMs);
    }
  }

  #settleCounter(
    draft: Draft,
    key: string,
    stored: budget.Counter,
    { periodMs, sinceMs, cost }: Extract<SettledLimit, { kind: 'counter' }>,
    nowMs: number,
  ): void {
    const { used, since } = budget.current(stored, nowMs, periodMs);
    if (since === sinceMs)
      this.#put(draft, key, { state: { used: Math.max(0, used + cost), since }, endMs: since + periodMs });
  }

  #settleBucket(
    draft: Draft,
    key: string,
    stored: budget.Bucket | undefined,
    { ceiling, periodMs, cost }: Extract<SettledLimit, { kind: 'bucket' }>,
    nowMs: number,
  ): void {
    // A bucket without a row is full.
    if (stored === undefined || ceiling === 0) return;
    const { level, at } = budget.refilled(stored, ceiling, nowMs, periodMs);
    const settled = Math.min(ceiling * periodMs, level - cost * periodMs);
    this.#put(draft, key, {
      state: { level: settled, at },
      endMs: at + Math.ceil((ceiling * periodMs - settled) / ceiling),
    });
  }

  #look(key: string, limit: AskedLimit, nowMs: number): Looked {
    if (limit.kind === 'place') return this.#place(key, limit, nowMs);
    const stored = this.#batcher.get<LimitRow>(key)?.state;
    return limit.kind === 'bucket'
      ? held(key, stored as budget.Bucket | undefined, limit, nowMs)
      : counted(key, stored as budget.Counter | undefined, limit, nowMs);
  }

  #place(key: string, limit: AskedPlace, nowMs: number): Looked {
    const { ceiling, untilMs } = limit;
    const seat = seatOf(key, limit);
    const holders = this.#places.holders(key, nowMs, nowMs + (limit.leaseMsMax ?? Infinity));
    const passed = ceiling > 0 && (holders.get(seat.holder) !== undefined || holders.size < ceiling);
    const waitMs = passed ? 0 : ceiling === 0 ? null : holders.at(holders.size - ceiling)! - nowMs;
    const endMs = Math.max(this.#places.endOf(seat, nowMs), untilMs);
    return { passed, waitMs, key, row: { state: endMs, endMs }, seat };
  }

  #putSeat(draft: Draft, seat: Seat, endMs: number | null, nowMs: number): void {
    this.#put(draft, `${seat.limit}/${seat.holder}/${seat.seat}`, endMs === null ? null : { state: endMs, endMs });
    draft.whenApplied(() => this.#places.set(seat, endMs, nowMs));
  }

  /** The index by which memories are swept can name any row that expires. */
  #put(draft: Draft, key: string, row: LimitRow | null): void {
    const before = this.#batcher.get<LimitRow>(key);
    if (before !== undefined) draft.remove(keys.memoryEnd(before.endMs, key));
    if (row === null) return before === undefined ? undefined : draft.remove(key);
    draft.put(key, row);
    draft.put(keys.memoryEnd(row.endMs, key), key);
  }
}

const seatOf = (limit: string, { holder, seat = '' }: { readonly holder: string; readonly seat?: string }): Seat => ({
  limit,
  holder: keys.part(holder),
  seat: keys.part(seat),
});

function counted(
  key: string,
  stored: budget.Counter | undefined,
  { kind, ceiling, periodMs, cost }: AskedRate,
  nowMs: number,
): Looked {
  const count = kind === 'quota' ? budget.reserve : budget.count;
  const { passed, counter } = count(stored ?? { used: 0, since: 0 }, ceiling, nowMs, { periodMs, cost });
  const endMs = counter.since + periodMs;
  const neverPasses = ceiling === 0 || (kind === 'quota' && cost > ceiling);
  return { passed, waitMs: passed ? 0 : neverPasses ? null : endMs - nowMs, key, row: { state: counter, endMs } };
}

function held(
  key: string,
  stored: budget.Bucket | undefined,
  { ceiling, periodMs, cost }: AskedRate,
  nowMs: number,
): Looked {
  const { passed, bucket } = budget.take(stored ?? budget.full(ceiling, nowMs, periodMs), ceiling, nowMs, {
    periodMs,
    cost,
    debt: false,
  });
  const missing = (level: number): number => Math.ceil((level - bucket.level) / ceiling);
  const waitMs = passed ? 0 : cost > ceiling ? null : missing(cost * periodMs);
  return { passed, waitMs, key, row: { state: bucket, endMs: passed ? bucket.at + missing(ceiling * periodMs) : 0 } };
}
