/** The keys' budgets: one script per request, so that they are exact however many processes there are. */
import { remaining, resetAt, retryAfterSeconds } from '../../../machines/budget.ts';
import type { BudgetName, Taken } from '../../store.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

export class RedisBudgets {
  readonly #link: Link;
  readonly #roots: Roots;

  constructor(link: Link, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async take(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[]): Promise<Taken[]> {
    if (budgets.length === 0) return [];
    const asked = budgets.flatMap(({ budget, ceiling }) => [budget, ceiling]);
    const answer = (await this.#link.run('take-budgets', this.#roots.workspace(workspaceId), part(keyId), ...asked)) as Reply[];
    return budgets.slice(0, answer.length / 3).map(({ budget, ceiling }, index) => {
      const passed = answer[index * 3] === 1;
      const bucket = { level: Number(textOf(answer[index * 3 + 1])), at: Number(textOf(answer[index * 3 + 2])) };
      return {
        budget,
        passed,
        remaining: remaining(bucket),
        retryAfterSeconds: passed ? 0 : retryAfterSeconds(bucket, ceiling),
        resetAt: resetAt(bucket, ceiling),
      };
    });
  }
}
