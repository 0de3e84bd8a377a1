/**
 * Budgets of keys, and limits of any kind, several in one script, so that they are exact across any number of
 * processes.
 */
import type { Ids } from '../../base/ids.ts';
import type {
  AskedLimit,
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
import type { RedisBudgets } from './budgets.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Argument } from './reply.ts';

export class RedisLimits implements LimitStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #ids: Ids;
  readonly #budgets: RedisBudgets;

  constructor(link: RedisLink, roots: Roots, ids: Ids, budgets: RedisBudgets) {
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
    this.#budgets = budgets;
  }

  takeBudgets(
    workspaceId: string,
    keyId: string,
    budgets: readonly { budget: BudgetName; ceiling: number }[],
    _nowMs: number,
  ): Taken[] | Promise<Taken[]> {
    return this.#budgets.take(workspaceId, keyId, budgets);
  }

  readBudgets(
    workspaceId: string,
    keys: readonly { readonly id: string; readonly limits: KeyLimits }[],
    _nowMs: number,
  ): Promise<KeyStanding[]> {
    return this.#budgets.readStanding(workspaceId, keys);
  }

  async take({ workspaceId, asked, nowMs }: TakeLimits): Promise<TakenLimit[]> {
    const fields = { write: this.#ids.secret(), asked: askedFields(asked, nowMs) };
    return answersOf(await this.#link.runDurable('take-limits', this.#roots.workspace(workspaceId), fields));
  }

  async used(workspaceId: string, looked: readonly LookedLimit[]): Promise<number[]> {
    const fields = {
      looked: looked.flatMap((limit) => [limit.kind, part(limit.name), limit.kind === 'place' ? 1 : limit.periodMs]),
    };
    return this.#link.run('read-limits', this.#roots.workspace(workspaceId), fields);
  }
}

/** The answers of `take_limits`. */
export const answersOf = (answer: readonly number[]): TakenLimit[] =>
  answer.flatMap((passed, index) => {
    const waitMs = answer[index + 1]!;
    return index % 2 === 0 ? [{ passed: passed === 1, waitMs: waitMs < 0 ? null : waitMs }] : [];
  });

export const askedFields = (asked: readonly AskedLimit[] | undefined, nowMs: number): Argument[] =>
  (asked ?? []).flatMap((limit) => fieldsOf(limit, nowMs));

export const settledFields = (settled: readonly SettledLimit[] | undefined, nowMs: number): Argument[] =>
  (settled ?? []).flatMap((limit) => {
    const named = [limit.kind, part(limit.name)];
    if (limit.kind === 'place')
      return [...named, 1, 1, 1, part(limit.holder), seatOf(limit), Math.max(0, limit.untilMs - nowMs)];
    if (limit.kind === 'bucket') return [...named, limit.ceiling, limit.periodMs, limit.cost, '', '', 0];
    return [...named, 1, limit.periodMs, limit.cost, '', '', limit.sinceMs];
  });

const seatOf = ({ seat = '' }: { readonly seat?: string }): string => (seat === '' ? '' : part(seat));

/** Eight arguments for each limit of any kind. The period of a place is the longest lease, or 0 without one. */
function fieldsOf(limit: AskedLimit, nowMs: number): Argument[] {
  const named = [limit.kind, part(limit.name), Math.min(limit.ceiling, Number.MAX_SAFE_INTEGER)];
  return limit.kind === 'place'
    ? [...named, limit.leaseMsMax ?? 0, 1, part(limit.holder), seatOf(limit), limit.untilMs - nowMs]
    : [...named, limit.periodMs, limit.cost, '', '', 0];
}
