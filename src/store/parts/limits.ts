/** The part of a store that limits use: the budgets of keys, and limits of any kind. */
import type { BudgetName, KeyLimits } from '../records.ts';

/** A budget after one request was charged to it. */
export interface Taken {
  readonly budget: BudgetName;
  readonly passed: boolean;
  /** Whole requests left. */
  readonly remaining: number;
  /** Whole seconds until a request would pass; 0 if this one passed. */
  readonly retryAfterSeconds: number;
  /**
   * If this one refused: whole seconds until the budgets after it, which were not charged, would all let a request
   * pass; 0 if that is no later than `retryAfterSeconds`.
   */
  readonly restSeconds: number;
  /** The Unix second at which the bucket is full again. */
  readonly resetAt: number;
}

/** A budget as it stands, with nothing charged to it. */
export type StandingBudget = Pick<Taken, 'remaining' | 'resetAt'>;

/** A key's budgets as they stand, and when the key was used last. */
export interface KeyStanding {
  /** The Unix second that the minute of the last request began at, or null before the first request. */
  readonly usedAt: number | null;
  readonly budgets: Readonly<Record<BudgetName, StandingBudget>>;
}

/** A limit on how much may be used in a period. */
export interface AskedRate {
  /**
   * `bucket`: refills continuously, and a refused request costs nothing. `counter`: counts the use in fixed periods
   * that are counted from 1970, and passes below its ceiling: the last cost may exceed it. `quota`: a counter that
   * passes only if the cost fits under its ceiling. It is settled and read as a counter.
   */
  readonly kind: 'bucket' | 'counter' | 'quota';
  readonly name: string;
  /** 0 refuses every request. */
  readonly ceiling: number;
  /** Milliseconds, at most a day. */
  readonly periodMs: number;
  readonly cost: number;
}

/**
 * One of the places of a name, held until `untilMs`. A holder that has a place already keeps it and takes no second
 * one.
 */
export interface AskedPlace {
  readonly kind: 'place';
  readonly name: string;
  readonly ceiling: number;
  readonly holder: string;
  /**
   * The holder's seat: a holder has one place for all of its seats, until the last of them has ended. Empty or left
   * out for a holder with one seat.
   */
  readonly seat?: string;
  readonly untilMs: number;
  /**
   * The longest time for which a place of this name is taken. A place that ends later was taken before the clock was
   * set back, and is free. Without it every place counts until it ends.
   */
  readonly leaseMsMax?: number;
}

/**
 * A limit to be charged. Its name contains its subject, as in `asst_…/messages/vis_…`; within a workspace one name is
 * one limit.
 */
export type AskedLimit = AskedRate | AskedPlace;

/** A limit to read: the count of a counter's present period, or the number of taken places. */
export type LookedLimit =
  | { readonly kind: 'counter'; readonly name: string; readonly periodMs: number }
  | { readonly kind: 'place'; readonly name: string };

export interface TakeLimits {
  readonly workspaceId: string;
  /** Each limit has a different name. */
  readonly asked: readonly AskedLimit[];
  readonly nowMs: number;
}

/** The answer of one limit. */
export interface TakenLimit {
  /** Whether this limit lets the request pass; another one may still refuse it. */
  readonly passed: boolean;
  /** Milliseconds until the limit may let the request pass: 0 if it passes now, null if it never will. */
  readonly waitMs: number | null;
}

export interface LimitStore {
  /**
   * Charges one request to each of the budgets, in the order given, until one refuses. If all pass, each is charged;
   * otherwise the budget that refuses goes one into debt and the others stay as they were (contract 3 and 5). Resolves
   * with one answer for each budget that was checked, in order. A lost answer: the request gets 503, and may have been
   * charged.
   */
  takeBudgets(
    workspaceId: string,
    keyId: string,
    budgets: readonly { budget: BudgetName; ceiling: number }[],
    nowMs: number,
  ): Taken[] | Promise<Taken[]>;
  /** Levels of these keys' budgets, in the order given. Charges nothing. */
  readBudgets(
    workspaceId: string,
    keys: readonly { readonly id: string; readonly limits: KeyLimits }[],
    nowMs: number,
  ): Promise<KeyStanding[]>;
  /**
   * Takes all of these limits, or charges nothing if one of them refuses; then each limit answers whether
   * it refuses and for how long. The answers are in the order of the request. A stored limit is deleted when its time
   * has ended, or with its workspace. A lost answer: the request gets 503, and may have been charged.
   */
  take(step: TakeLimits): Promise<TakenLimit[]>;
  /** Returns the use of each of these limits, in order. */
  used(workspaceId: string, looked: readonly LookedLimit[], nowMs: number): Promise<number[]>;
}
