/**
 * The arithmetic of limits (contract 5 and 9), pure and exact: with whole milliseconds every number stays an integer,
 * here as in any other language.
 *
 * A bucket holds `ceiling` requests and refills continuously at `ceiling` a period. Its level is counted in
 * token-milliseconds of the period. A key's budget is a bucket of a minute with debt: a request that finds less than
 * one is refused and costs one all the same, but never deeper than 1 − ceiling, so the longest wait is a period.
 * A refusal without debt costs nothing.
 *
 * A counter holds the use in one period; the periods follow each other from 1970 on, as UTC days do.
 */

const minuteMs = 60_000;

/** The cost of one request to a budget of a minute, in the level's unit. */
export const unitsPerRequest = minuteMs;

export interface Bucket {
  /** Requests × the period's milliseconds that the bucket held at `at`; below zero when in debt. */
  readonly level: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Take {
  readonly passed: boolean;
  readonly bucket: Bucket;
}

/** The amount charged to a bucket, and the cost of a refusal. */
export interface Terms {
  /** The period of the bucket, at most a day: a longer one would make a level too large for an integer. */
  readonly periodMs: number;
  /** The cost in requests, at least 1; a cost above the ceiling never passes. */
  readonly cost: number;
  /** Whether a refusal costs as much as a pass. */
  readonly debt: boolean;
}

/** The rate of a key's budgets. */
const keyTerms: Terms = { periodMs: minuteMs, cost: 1, debt: true };

/** A bucket that is full. */
export const full = (ceiling: number, at: number, periodMs = minuteMs): Bucket => ({ level: ceiling * periodMs, at });

/** The lowest possible level: a request passes one period later. */
export const floor = (ceiling: number, periodMs = minuteMs): number => (1 - ceiling) * periodMs;

/**
 * The bucket at another moment. A level from the future is one of a clock that was set back: it counts from now, for
 * otherwise the bucket would not refill until the clock is there again. A debt made under a higher ceiling is reduced
 * to what the present one allows; otherwise a lowered ceiling would turn a minute's wait into hours.
 */
export function refilled(bucket: Bucket, ceiling: number, at: number, periodMs = minuteMs): Bucket {
  const elapsed = Math.max(0, at - bucket.at);
  const level = Math.max(floor(ceiling, periodMs), bucket.level) + elapsed * ceiling;
  return { level: Math.min(ceiling * periodMs, level), at };
}

/** Charges a request to the bucket. */
export function take(bucket: Bucket, ceiling: number, at: number, { periodMs, cost, debt }: Terms = keyTerms): Take {
  const now = refilled(bucket, ceiling, at, periodMs);
  const level = now.level - cost * periodMs;
  if (level >= 0) return { passed: true, bucket: { level, at: now.at } };
  return { passed: false, bucket: debt ? { level: Math.max(floor(ceiling, periodMs), level), at: now.at } : now };
}

/** Whole requests left, never below zero. */
export const remaining = (bucket: Bucket, periodMs = minuteMs): number =>
  Math.max(0, Math.floor(bucket.level / periodMs));

/** Whole seconds, at least one, after which a request passes; Infinity if none ever will. */
export const retryAfterSeconds = (
  bucket: Bucket,
  ceiling: number,
  { periodMs, cost }: Pick<Terms, 'periodMs' | 'cost'> = keyTerms,
): number => (cost > ceiling ? Infinity : Math.max(1, Math.ceil((cost * periodMs - bucket.level) / ceiling / 1000)));

/** Whole seconds after which a request of a key passes; 0 if it would pass now. */
export const waitSeconds = (bucket: Bucket, ceiling: number): number =>
  bucket.level >= unitsPerRequest ? 0 : retryAfterSeconds(bucket, ceiling);

/**
 * The Unix second by which the bucket is full again. The wait is rounded up to a millisecond before the date is added:
 * a date has no bits to spare for a fraction.
 */
export const resetAt = (bucket: Bucket, ceiling: number): number =>
  Math.ceil((bucket.at + Math.ceil((ceiling * unitsPerRequest - bucket.level) / ceiling)) / 1000);

export interface Counter {
  readonly used: number;
  /** When the counted period began, in milliseconds since the epoch. */
  readonly since: number;
}

export interface Count {
  readonly passed: boolean;
  readonly counter: Counter;
}

const beginOf = (at: number, periodMs: number): number => at - (at % periodMs);

/** The counter at another moment: another period begins at zero, also an earlier one of a clock that was set back. */
export function current(counter: Counter, at: number, periodMs: number): Counter {
  const since = beginOf(at, periodMs);
  return since === counter.since ? counter : { used: 0, since };
}

/**
 * Counts a request's cost if the ceiling is not reached yet. The last request may exceed it, because its cost is known
 * only afterwards.
 */
export function count(
  counter: Counter,
  ceiling: number,
  at: number,
  { periodMs, cost }: Pick<Terms, 'periodMs' | 'cost'>,
): Count {
  const now = current(counter, at, periodMs);
  const passed = now.used < ceiling;
  return { passed, counter: passed ? { used: now.used + cost, since: now.since } : now };
}

/** Reserves a cost that is known before, if it fits under the ceiling. */
export function reserve(
  counter: Counter,
  ceiling: number,
  at: number,
  { periodMs, cost }: Pick<Terms, 'periodMs' | 'cost'>,
): Count {
  const now = current(counter, at, periodMs);
  const used = now.used + cost;
  return used <= ceiling ? { passed: true, counter: { used, since: now.since } } : { passed: false, counter: now };
}

/** Whole seconds, at least one, until the next period begins. */
export const secondsToNext = (counter: Counter, at: number, periodMs: number): number =>
  Math.max(1, Math.ceil((counter.since + periodMs - at) / 1000));
