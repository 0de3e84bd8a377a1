/** Budgets of keys, and limits of any kind, several in one decision. A sweep removes rows that no longer change any answer. */
import * as budget from '../../../machines/budget.ts';
import type { AskedLimit, AskedPlace, AskedRate, BudgetName, KeyLimits, KeyStanding, LimitStore, Taken, TakeLimits, TakenLimit } from '../../store.ts';
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
    return this.#ledger.step((draft) => {
      const looked = asked.map((limit) => this.#look(keys.limit(workspaceId, limit.name), limit, nowMs));
      if (looked.every(({ passed }) => passed)) for (const { key, row } of looked) this.#put(draft, key, row);
      return looked.map(({ passed, waitMs }) => ({ passed, waitMs }));
    });
  }

  #look(key: string, limit: AskedLimit, nowMs: number): Looked {
    if (limit.kind === 'place') return this.#place(key, limit, nowMs);
    const stored = this.#ledger.get<LimitRow>(key)?.state;
    return limit.kind === 'counter' ? counted(key, stored as budget.Counter | undefined, limit, nowMs) : held(key, stored as budget.Bucket | undefined, limit, nowMs);
  }

  #place(name: string, { ceiling, holder, untilMs }: AskedPlace, nowMs: number): Looked {
    const prefix = `${name}/`;
    const key = prefix + keys.part(holder);
    const rows = this.#ledger.range<LimitRow>(prefix, keys.endOf(prefix)).filter(([, { endMs }]) => endMs > nowMs);
    const own = rows.find(([row]) => row === key)?.[1].endMs ?? 0;
    const passed = ceiling > 0 && (own > 0 || rows.length < ceiling);
    const ends = rows.map(([, { endMs }]) => endMs).sort((a, b) => a - b);
    const endMs = Math.max(own, untilMs);
    const waitMs = passed ? 0 : ceiling === 0 ? null : ends[rows.length - ceiling]! - nowMs;
    return { passed, waitMs, key, row: { state: endMs, endMs } };
  }

  /** The index by which memories are swept can name any row that expires. */
  #put(draft: Draft, key: string, row: LimitRow): void {
    const before = this.#ledger.get<LimitRow>(key);
    if (before !== undefined) draft.remove(keys.memoryEnd(before.endMs, key));
    draft.put(key, row);
    draft.put(keys.memoryEnd(row.endMs, key), key);
  }
}

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
