/** Budgets of keys, and limits of any kind, several in one script, so that they are exact across any number of processes. */
import type { Ids } from '../../ids.ts';
import type { AskedLimit, BudgetName, KeyLimits, KeyStanding, LimitStore, Taken, TakeLimits, TakenLimit } from '../../store.ts';
import type { RedisBudgets } from './budgets.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import type { Argument } from './reply.ts';

export class RedisLimits implements LimitStore {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #ids: Ids;
  readonly #budgets: RedisBudgets;

  constructor(link: Link, roots: Roots, ids: Ids, budgets: RedisBudgets) {
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
    this.#budgets = budgets;
  }

  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], _nowMs: number): Taken[] | Promise<Taken[]> {
    return this.#budgets.take(workspaceId, keyId, budgets);
  }

  readBudgets(workspaceId: string, keys: readonly { readonly id: string; readonly limits: KeyLimits }[], _nowMs: number): Promise<KeyStanding[]> {
    return this.#budgets.standing(workspaceId, keys);
  }

  async take({ workspaceId, asked, nowMs }: TakeLimits): Promise<TakenLimit[]> {
    const given = { write: this.#ids.secret(), asked: asked.flatMap((limit) => fieldsOf(limit, nowMs)) };
    const answer = (await this.#link.runDurable('take-limits', this.#roots.workspace(workspaceId), given)) as number[];
    return asked.map((_, index) => {
      const waitMs = answer[index * 2 + 1]!;
      return { passed: answer[index * 2] === 1, waitMs: waitMs < 0 ? null : waitMs };
    });
  }
}

/** Seven arguments for each limit of any kind: a place has a holder and a lease instead of a period and a cost. */
function fieldsOf(limit: AskedLimit, nowMs: number): Argument[] {
  const named = [limit.kind, part(limit.name), limit.ceiling];
  return limit.kind === 'place' ? [...named, 1, 1, part(limit.holder), limit.untilMs - nowMs] : [...named, limit.periodMs, limit.cost, '', 0];
}
