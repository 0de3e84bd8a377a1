/** The common part of the stores' budgets: the answers to a request, and a key's standing, from its buckets. */
import { full, refilled, remaining, resetAt, retryAfterSeconds, type Bucket } from '../../machines/budget.ts';
import type { BudgetName, KeyLimits, KeyStanding, StandingBudget, Taken } from './store.ts';

export const budgetNames = ['requests', 'speech', 'transcriptionTokens'] as const satisfies readonly BudgetName[];

/** A key's budgets that may not be full. */
export type Buckets = Readonly<Partial<Record<BudgetName, Bucket>>>;

const minuteSeconds = 60;

/** The Unix second at which the minute of this time begins. */
export const minuteOf = (atMs: number): number => Math.floor(atMs / 1000 / minuteSeconds) * minuteSeconds;

/**
 * The key's time of last use, from its buckets: each request is charged to at least one. Null without buckets.
 */
export function usedAtOf(buckets: Buckets): number | null {
  const times = Object.values(buckets).map(({ at }) => at);
  return times.length === 0 ? null : minuteOf(Math.max(...times));
}

/** The answer of a budget that passed or refused. */
export const takenOf = (
  { budget, ceiling }: { readonly budget: BudgetName; readonly ceiling: number },
  passed: boolean,
  bucket: Bucket,
): Taken => ({
  budget,
  passed,
  remaining: remaining(bucket),
  retryAfterSeconds: passed ? 0 : retryAfterSeconds(bucket, ceiling),
  restSeconds: 0,
  resetAt: resetAt(bucket, ceiling),
});

/** The answer of a budget that refused, with the wait for the budgets after it if that is longer. */
export const withRest = (taken: Taken, restSeconds: number): Taken =>
  restSeconds > taken.retryAfterSeconds ? { ...taken, restSeconds } : taken;

/** A budget without a bucket is full. */
export function keyStanding(buckets: Buckets, usedAt: number | null, ceilings: KeyLimits, nowMs: number): KeyStanding {
  const standing = (name: BudgetName): StandingBudget => {
    const bucket = refilled(buckets[name] ?? full(ceilings[name], nowMs), ceilings[name], nowMs);
    return { remaining: remaining(bucket), resetAt: resetAt(bucket, ceilings[name]) };
  };
  return {
    usedAt,
    budgets: {
      requests: standing('requests'),
      speech: standing('speech'),
      transcriptionTokens: standing('transcriptionTokens'),
    },
  };
}
