/** The keys' budgets: one script for each request, so that they are exact across any number of processes; no script for a budget in its deepest debt. */
import { remaining, resetAt, retryAfterSeconds, type Bucket } from '../../../machines/budget.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { BudgetName, KeyLimits, KeyStanding, Taken } from '../../store.ts';
import { budgetNames, standingOf, type Buckets } from '../budgets.ts';
import { Debts } from './debts.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import { Sender } from './lanes.ts';
import type { Link } from './link.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

interface Asked {
  readonly budget: BudgetName;
  readonly ceiling: number;
}

/** The lane and number by which a repeat of a step is distinguished from a new step on the same key (see `lanes.ts`). */
interface Lane {
  readonly id: string;
  readonly lane: string;
  readonly number: number;
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
      this.#send(workspaceId, keyId, (root, lane) => link.run('hold-budget', root, { ...lane, budget, level, since: at })),
    );
  }

  take(workspaceId: string, keyId: string, budgets: readonly Asked[]): Taken[] | Promise<Taken[]> {
    const first = budgets[0];
    if (first === undefined) return [];
    const bucket = this.#debts.refused({ workspaceId, keyId, budget: first.budget }, first.ceiling);
    return bucket === null ? this.#ask(workspaceId, keyId, budgets) : [takenOf(first, false, bucket)];
  }

  /** The debts that this process has not written yet come first. */
  async standing(workspaceId: string, keys: readonly { readonly id: string; readonly limits: KeyLimits }[]): Promise<KeyStanding[]> {
    await this.#debts.flush();
    const [time, ...found] = (await this.#link.run('read-budgets', this.#roots.workspace(workspaceId), { ids: keys.map(({ id }) => part(id)) })) as [Reply, ...Reply[][]];
    const nowMs = Number(textOf(time));
    return keys.map(({ limits }, index) => {
      const [usedAt, ...buckets] = found[index]!;
      return standingOf(bucketsOf(buckets), usedAt == null ? null : Number(textOf(usedAt)), limits, nowMs);
    });
  }

  /** Resolves when the requests refused without Redis are written to Redis, or the write has failed. */
  flush(): Promise<void> {
    return this.#debts.flush();
  }

  async #ask(workspaceId: string, keyId: string, budgets: readonly Asked[]): Promise<Taken[]> {
    const asked = budgets.flatMap(({ budget, ceiling }) => [budget, ceiling]);
    const askedAt = this.#clock.monotonic();
    const answer = (await this.#send(workspaceId, keyId, (root, lane) => this.#link.run('take-budgets', root, { ...lane, asked }))) as Reply[];
    const exchange = { askedAt, answeredAt: this.#clock.monotonic() };
    return budgets.slice(0, answer.length / 3).map((each, index) => {
      const passed = answer[index * 3] === 1;
      const bucket = { level: Number(textOf(answer[index * 3 + 1])), at: Number(textOf(answer[index * 3 + 2])) };
      if (index === 0) this.#debts.seen({ workspaceId, keyId, budget: each.budget }, each.ceiling, passed, bucket, exchange);
      return takenOf(each, passed, bucket);
    });
  }

  #send(workspaceId: string, keyId: string, step: (root: string, lane: Lane) => Promise<Reply>): Promise<Reply> {
    const [root, id] = [this.#roots.workspace(workspaceId), part(keyId)];
    return this.#sender.send(id, (lane, number) => step(root, { id, lane, number }));
  }
}

/** The buckets that a hash has, from its fields in the order of `budgetNames`. */
export const bucketsOf = (stored: readonly Reply[]): Buckets =>
  Object.fromEntries(
    budgetNames.flatMap((name, index) => {
      if (stored[index] == null) return [];
      const [level, at] = textOf(stored[index]).split(' ').map(Number) as [number, number];
      return [[name, { level, at }]];
    }),
  );

const takenOf = ({ budget, ceiling }: Asked, passed: boolean, bucket: Bucket): Taken => ({
  budget,
  passed,
  remaining: remaining(bucket),
  retryAfterSeconds: passed ? 0 : retryAfterSeconds(bucket, ceiling),
  resetAt: resetAt(bucket, ceiling),
});
