/** The keys' budgets: one script per request, so that they are exact however many processes there are; none in the deepest debt. */
import { remaining, resetAt, retryAfterSeconds, type Bucket } from '../../../machines/budget.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { BudgetName, Taken } from '../../store.ts';
import { Debts } from './debts.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import { Sender } from './lanes.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Argument, Reply } from './reply.ts';

interface Asked {
  readonly budget: BudgetName;
  readonly ceiling: number;
}

export class RedisBudgets {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #debts: Debts;
  readonly #sender: Sender;

  constructor(link: Link, roots: Roots, clock: Clock, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#sender = new Sender(ids);
    this.#debts = new Debts(clock, ({ workspaceId, keyId, budget }, { level, at }) =>
      this.#send('hold-budget', workspaceId, keyId, [budget, level, at]),
    );
  }

  take(workspaceId: string, keyId: string, budgets: readonly Asked[]): Taken[] | Promise<Taken[]> {
    const first = budgets[0];
    if (first === undefined) return [];
    const bucket = this.#debts.refused({ workspaceId, keyId, budget: first.budget }, first.ceiling);
    return bucket === null ? this.#ask(workspaceId, keyId, budgets) : [told(first, false, bucket)];
  }

  /** Resolves when Redis knows what was refused without it, or cannot be told. */
  flush(): Promise<void> {
    return this.#debts.flush();
  }

  async #ask(workspaceId: string, keyId: string, budgets: readonly Asked[]): Promise<Taken[]> {
    const asked = budgets.flatMap(({ budget, ceiling }) => [budget, ceiling]);
    const askedAt = this.#clock.monotonic();
    const answer = (await this.#send('take-budgets', workspaceId, keyId, asked)) as Reply[];
    const exchange = { askedAt, answeredAt: this.#clock.monotonic() };
    return budgets.slice(0, answer.length / 3).map((each, index) => {
      const passed = answer[index * 3] === 1;
      const bucket = { level: Number(textOf(answer[index * 3 + 1])), at: Number(textOf(answer[index * 3 + 2])) };
      if (index === 0) this.#debts.seen({ workspaceId, keyId, budget: each.budget }, each.ceiling, passed, bucket, exchange);
      return told(each, passed, bucket);
    });
  }

  #send(step: 'take-budgets' | 'hold-budget', workspaceId: string, keyId: string, given: readonly Argument[]): Promise<Reply> {
    const id = part(keyId);
    return this.#sender.send(id, (lane, number) => this.#link.run(step, this.#roots.workspace(workspaceId), id, lane, number, ...given));
  }
}

const told = ({ budget, ceiling }: Asked, passed: boolean, bucket: Bucket): Taken => ({
  budget,
  passed,
  remaining: remaining(bucket),
  retryAfterSeconds: passed ? 0 : retryAfterSeconds(bucket, ceiling),
  resetAt: resetAt(bucket, ceiling),
});
