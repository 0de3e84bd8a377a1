/**
 * The keys' budgets: one script for the requests of a moment, so that they are exact across any number of processes; no
 * script for a budget in its deepest debt.
 */
import { waitSeconds } from '../../../machines/budget.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { BudgetName, KeyLimits, KeyStanding, Taken } from '../store.ts';
import { budgetNames, keyStanding, takenOf, withRest, type Buckets } from '../budgets.ts';
import { Debts } from './debts.ts';
import { CallBatching } from './call-batching.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import { StepIds } from './step-ids.ts';
import type { RedisLink } from './link.ts';
import { textOfReply, listOfReply } from './reply.ts';
import type { RedisReply } from './reply.ts';

interface Asked {
  readonly budget: BudgetName;
  readonly ceiling: number;
}

/** A request to a key's budgets. */
interface Request {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly budgets: readonly Asked[];
}

/**
 * The lane and number by which a repeat of a step is distinguished from a new step on the same key (see `step-ids.ts`).
 */
interface Lane {
  readonly id: string;
  readonly lane: string;
  readonly number: number;
}

export class RedisBudgets {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #clock: Clock;
  readonly #debts: Debts;
  readonly #sender: StepIds;
  readonly #requests = new CallBatching<Request, Taken[]>((_, requests) => this.#charge(requests), {
    itemsMax: limits.redisGatheredMax,
  });

  constructor(link: RedisLink, roots: Roots, clock: Clock, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#clock = clock;
    this.#sender = new StepIds(ids);
    this.#debts = new Debts(clock, ({ workspaceId, keyId, budget }, { level, at }) =>
      this.#send(workspaceId, keyId, (root, lane) =>
        link.run('hold-budget', root, { ...lane, budget, level, since: at }),
      ),
    );
  }

  take(workspaceId: string, keyId: string, budgets: readonly Asked[]): Taken[] | Promise<Taken[]> {
    const first = budgets[0];
    if (first === undefined) return [];
    const bucket = this.#debts.refuseCertain({ workspaceId, keyId, budget: first.budget }, first.ceiling);
    // A budget in its deepest debt takes a minute to refill, and no other budget takes longer.
    if (bucket !== null) return [takenOf(first, false, bucket)];
    const budgetsAsked = budgets.map(({ budget, ceiling }) => `${budget} ${ceiling}`).join();
    return this.#requests.add(`${workspaceId}/${keyId}/${budgetsAsked}`, { workspaceId, keyId, budgets });
  }

  /** The debts that this process has not written yet come first. */
  async readStanding(
    workspaceId: string,
    keys: readonly { readonly id: string; readonly limits: KeyLimits }[],
  ): Promise<KeyStanding[]> {
    await this.#debts.flush();
    const [time, ...found] = (await this.#link.run('read-budgets', this.#roots.workspace(workspaceId), {
      ids: keys.map(({ id }) => part(id)),
    })) as [RedisReply, ...RedisReply[][]];
    const nowMs = Number(textOfReply(time));
    return keys.map(({ limits }, index) => {
      const [usedAt, ...buckets] = found[index]!;
      return keyStanding(bucketsOf(buckets), usedAt == null ? null : Number(textOfReply(usedAt)), limits, nowMs);
    });
  }

  /** Resolves when the requests refused without Redis are written to Redis, or the write has failed. */
  flush(): Promise<void> {
    return this.#debts.flush();
  }

  /** Requests that come together for the same budgets are charged in one step. Resolves with the answer of each. */
  async #charge(requests: readonly Request[]): Promise<Taken[][]> {
    const { workspaceId, keyId, budgets } = requests[0]!;
    const count = requests.length;
    const asked = budgets.flatMap(({ budget, ceiling }) => [budget, ceiling]);
    const askedAt = this.#clock.monotonic();
    const seen = this.#debts.lastSeen({ workspaceId, keyId, budget: budgets[0]!.budget });
    const answer = listOfReply(
      await this.#send(workspaceId, keyId, (root, lane) =>
        this.#link.run('take-budgets', root, { count, ...seen, asked, ...lane }, count),
      ),
    );
    const times = { askedAt, answeredAt: this.#clock.monotonic() };
    let at = 0;
    return requests.map(() => {
      const taken: Taken[] = [];
      let restSeconds = 0;
      for (const [index, each] of budgets.entries()) {
        const passed = answer[at];
        const bucket = { level: Number(textOfReply(answer[at + 1])), at: Number(textOfReply(answer[at + 2])) };
        at += 3;
        if (index === 0)
          this.#debts.noteAnswer(
            { workspaceId, keyId, budget: each.budget },
            each.ceiling,
            passed === 1,
            bucket,
            times,
          );
        if (passed !== 2) taken.push(takenOf(each, passed === 1, bucket));
        else restSeconds = Math.max(restSeconds, waitSeconds(bucket, each.ceiling));
      }
      return restSeconds === 0 ? taken : taken.with(-1, withRest(taken.at(-1)!, restSeconds));
    });
  }

  #send(
    workspaceId: string,
    keyId: string,
    step: (root: string, lane: Lane) => Promise<RedisReply>,
  ): Promise<RedisReply> {
    const [root, id] = [this.#roots.workspace(workspaceId), part(keyId)];
    return this.#sender.send(id, (lane, number) => step(root, { id, lane, number }));
  }
}

/** The buckets that a hash has, from its fields in the order of `budgetNames`. */
export const bucketsOf = (stored: readonly RedisReply[]): Buckets =>
  Object.fromEntries(
    budgetNames.flatMap((name, index) => {
      if (stored[index] == null) return [];
      const [level, at] = textOfReply(stored[index]).split(' ').map(Number) as [number, number];
      return [[name, { level, at }]];
    }),
  );
