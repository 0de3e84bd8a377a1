/** Budgets of keys, and limits of any kind, several in one decision. A sweep removes rows that no longer change any answer. */
import * as budget from '../../../machines/budget.ts';
import type { AskedLimit, AskedPlace, AskedRate, BudgetName, KeyLimits, KeyStanding, LimitStore, LookedLimit, SettledLimit, Taken, TakeLimits, TakenLimit } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import type { Budgets } from './budgets.ts';
import * as keys from './keys.ts';

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
}

export class Limits implements LimitStore {
  readonly #ledger: Ledger;
  readonly #budgets: Budgets;

  constructor(ledger: Ledger, budgets: Budgets) {
    this.#ledger = ledger;
    this.#budgets = budgets;
  }

  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], nowMs: number): Taken[] {
    return this.#budgets.take(workspaceId, keyId, budgets, nowMs);
  }

  async readBudgets(workspaceId: string, asked: readonly { readonly id: string; readonly limits: KeyLimits }[], nowMs: number): Promise<KeyStanding[]> {
    return asked.map((key) => this.#budgets.standing(workspaceId, key, nowMs));
  }

  take({ workspaceId, asked, nowMs }: TakeLimits): Promise<TakenLimit[]> {
    return this.#ledger.step((draft) => this.takeIn(draft, workspaceId, asked, nowMs));
  }

  async used(workspaceId: string, looked: readonly LookedLimit[], nowMs: number): Promise<number[]> {
    return looked.map((limit) => {
      const key = keys.limit(workspaceId, limit.name);
      if (limit.kind === 'place') return new Set(this.#seats(key, nowMs).map(holderOf)).size;
      const stored = this.#ledger.committed<LimitRow>(key)?.state as budget.Counter | undefined;
      return budget.current(stored ?? { used: 0, since: 0 }, nowMs, limit.periodMs).used;
    });
  }

  /** Takes the limits within another step. */
  takeIn(draft: Draft, workspaceId: string, asked: readonly AskedLimit[], nowMs: number): TakenLimit[] {
    const looked = asked.map((limit) => this.#look(keys.limit(workspaceId, limit.name), limit, nowMs));
    if (looked.every(({ passed }) => passed)) for (const { key, row } of looked) this.#put(draft, key, row);
    return looked.map(({ passed, waitMs }) => ({ passed, waitMs }));
  }

  settleIn(draft: Draft, workspaceId: string, settled: readonly SettledLimit[], nowMs: number): void {
    for (const limit of settled) {
      const name = keys.limit(workspaceId, limit.name);
      const key = limit.kind === 'place' ? `${name}/${keys.part(limit.holder)}/${keys.part(limit.seat)}` : name;
      const stored = this.#ledger.get<LimitRow>(key)?.state;
      if (limit.kind === 'place') this.#put(draft, key, limit.untilMs > nowMs ? { state: limit.untilMs, endMs: limit.untilMs } : null);
      else if (limit.kind === 'counter') this.#settleCounter(draft, key, (stored as budget.Counter | undefined) ?? { used: 0, since: 0 }, limit, nowMs);
      else this.#settleBucket(draft, key, stored as budget.Bucket | undefined, limit, nowMs);
    }
  }

  #settleCounter(draft: Draft, key: string, stored: budget.Counter, { periodMs, sinceMs, cost }: Extract<SettledLimit, { kind: 'counter' }>, nowMs: number): void {
    const endMs = sinceMs + periodMs;
    if (stored.since > sinceMs || endMs <= nowMs) return;
    const used = Math.max(0, (stored.since === sinceMs ? stored.used : 0) + cost);
    this.#put(draft, key, { state: { used, since: sinceMs }, endMs });
  }

  #settleBucket(draft: Draft, key: string, stored: budget.Bucket | undefined, { ceiling, periodMs, cost }: Extract<SettledLimit, { kind: 'bucket' }>, nowMs: number): void {
    // A bucket without a row is full.
    if (stored === undefined || ceiling === 0) return;
    const { level, at } = budget.refilled(stored, ceiling, nowMs, periodMs);
    const settled = Math.min(ceiling * periodMs, level - cost * periodMs);
    this.#put(draft, key, { state: { level: settled, at }, endMs: at + Math.ceil((ceiling * periodMs - settled) / ceiling) });
  }

  #look(key: string, limit: AskedLimit, nowMs: number): Looked {
    if (limit.kind === 'place') return this.#place(key, limit, nowMs);
    const stored = this.#ledger.get<LimitRow>(key)?.state;
    return limit.kind === 'counter' ? counted(key, stored as budget.Counter | undefined, limit, nowMs) : held(key, stored as budget.Bucket | undefined, limit, nowMs);
  }

  #place(name: string, { ceiling, holder, seat = '', untilMs }: AskedPlace, nowMs: number): Looked {
    const key = `${name}/${keys.part(holder)}/${keys.part(seat)}`;
    const held = new Map<string, number>();
    for (const row of this.#seats(name, nowMs)) held.set(holderOf(row), Math.max(held.get(holderOf(row)) ?? 0, row[1].endMs));
    const passed = ceiling > 0 && (held.has(keys.part(holder)) || held.size < ceiling);
    const ends = [...held.values()].sort((a, b) => a - b);
    const own = this.#ledger.get<LimitRow>(key)?.endMs ?? 0;
    const endMs = Math.max(own > nowMs ? own : 0, untilMs);
    const waitMs = passed ? 0 : ceiling === 0 ? null : ends[held.size - ceiling]! - nowMs;
    return { passed, waitMs, key, row: { state: endMs, endMs } };
  }

  #seats(name: string, nowMs: number): [string, LimitRow][] {
    const prefix = `${name}/`;
    return [...this.#ledger.range<LimitRow>(prefix, keys.endOf(prefix))].filter(([, { endMs }]) => endMs > nowMs);
  }

  /** The index by which memories are swept can name any row that expires. */
  #put(draft: Draft, key: string, row: LimitRow | null): void {
    const before = this.#ledger.get<LimitRow>(key);
    if (before !== undefined) draft.remove(keys.memoryEnd(before.endMs, key));
    if (row === null) return before === undefined ? undefined : draft.remove(key);
    draft.put(key, row);
    draft.put(keys.memoryEnd(row.endMs, key), key);
  }
}

/** Of a seat's row, whose key ends in holder and seat. */
const holderOf = ([key]: readonly [string, LimitRow]): string => key.split('/').at(-2)!;

function counted(key: string, stored: budget.Counter | undefined, { ceiling, periodMs, cost }: AskedRate, nowMs: number): Looked {
  const { passed, counter } = budget.count(stored ?? { used: 0, since: 0 }, ceiling, nowMs, { periodMs, cost });
  const endMs = counter.since + periodMs;
  return { passed, waitMs: passed ? 0 : ceiling === 0 ? null : endMs - nowMs, key, row: { state: counter, endMs } };
}

function held(key: string, stored: budget.Bucket | undefined, { ceiling, periodMs, cost }: AskedRate, nowMs: number): Looked {
  const { passed, bucket } = budget.take(stored ?? budget.full(ceiling, nowMs, periodMs), ceiling, nowMs, { periodMs, cost, debt: false });
  const missing = (level: number): number => Math.ceil((level - bucket.level) / ceiling);
  const waitMs = passed ? 0 : cost > ceiling ? null : missing(cost * periodMs);
  return { passed, waitMs, key, row: { state: bucket, endMs: passed ? bucket.at + missing(ceiling * periodMs) : 0 } };
}
