/**
 * The arithmetic of a token bucket (contract 5), pure and exact: a level is counted in token-milliseconds of a minute,
 * so that with whole milliseconds every number stays an integer, here as in any other language.
 *
 * A bucket holds `ceiling` requests and refills continuously at `ceiling` a minute. A request that finds less than one
 * is refused and costs one all the same, but never deeper than 1 − ceiling: the longest wait is a minute.
 */

/** One request, in the level's unit. */
export const unitsPerRequest = 60_000;

export interface Bucket {
  /** Requests × 60,000 that the bucket held at `at`; below zero when in debt. */
  readonly level: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Take {
  readonly passed: boolean;
  readonly bucket: Bucket;
}

/** A bucket that is full. */
export const full = (ceiling: number, at: number): Bucket => ({ level: ceiling * unitsPerRequest, at });

/** The lowest level there is: a request passes a minute after it. */
export const floor = (ceiling: number): number => (1 - ceiling) * unitsPerRequest;

/**
 * The bucket at a later moment. A clock that went back refills nothing. A debt made under a higher ceiling is cut to
 * what the present one allows, else a lowered ceiling would turn a minute's wait into hours.
 */
export function refilled(bucket: Bucket, ceiling: number, at: number): Bucket {
  const elapsed = Math.max(0, at - bucket.at);
  const level = Math.max(floor(ceiling), bucket.level) + elapsed * ceiling;
  return { level: Math.min(ceiling * unitsPerRequest, level), at: Math.max(at, bucket.at) };
}

/** Holds one request against the bucket. */
export function take(bucket: Bucket, ceiling: number, at: number): Take {
  const now = refilled(bucket, ceiling, at);
  const passed = now.level >= unitsPerRequest;
  const level = now.level - unitsPerRequest;
  return { passed, bucket: { level: passed ? level : Math.max(floor(ceiling), level), at: now.at } };
}

/** Whole requests left, never below zero. */
export const remaining = (bucket: Bucket): number => Math.max(0, Math.floor(bucket.level / unitsPerRequest));

/** Whole seconds, at least one, after which a request passes. */
export const retryAfterSeconds = (bucket: Bucket, ceiling: number): number =>
  Math.max(1, Math.ceil((unitsPerRequest - bucket.level) / ceiling / 1000));

/**
 * The Unix second by which the bucket is full again. The wait is rounded up to a millisecond before the date is added:
 * a date has no bits to spare for a fraction.
 */
export const resetAt = (bucket: Bucket, ceiling: number): number =>
  Math.ceil((bucket.at + Math.ceil((ceiling * unitsPerRequest - bucket.level) / ceiling)) / 1000);
