/** The token bucket against an oracle that counts in fractions, and against the contract's part 5. */
import fc from 'fast-check';
import t from 'tap';
import {
  count,
  current,
  floor,
  full,
  refilled,
  remaining,
  reserve,
  resetAt,
  retryAfterSeconds,
  secondsToNext,
  take,
  unitsPerRequest,
  type Bucket,
} from '../../machines/budget.ts';
import { limits } from '../../src/base/limits.ts';

const start = 1_800_000_000_000;
const dayMs = 86_400_000;
const ceilings = fc.oneof(fc.constantFrom(1, 2, 7, 10, 30, 60, 61), fc.integer({ min: 1, max: limits.ceilingMax }));
const pauses = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 50 }),
  fc.integer({ min: 0, max: 5000 }),
  fc.integer({ min: 0, max: 200_000 }),
);
const steps = fc.array(pauses, { minLength: 1, maxLength: 150 });
/** Any bucket that a lifetime under other ceilings could have left behind. */
const leftovers = fc.integer({ min: -limits.ceilingMax * unitsPerRequest, max: limits.ceilingMax * unitsPerRequest });
const check = (property: fc.IRawProperty<unknown, false>): void => fc.assert(property, { numRuns: 300 });

/** A number of requests as an exact fraction. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}
const fraction = (over: number, under = 1): Fraction => ({ over: BigInt(over), under: BigInt(under) });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const less = (a: Fraction, b: Fraction): boolean => a.over * b.under < b.over * a.under;
const same = (a: Fraction, b: Fraction): boolean => !less(a, b) && !less(b, a);

/** The rule as the contract words it: refill, hold one against it, go into debt no deeper than 1 − ceiling. */
class Oracle {
  level: Fraction;
  at = start;
  constructor(ceiling: number) {
    this.level = fraction(ceiling);
  }
  take(ceiling: number, at: number): boolean {
    const floor = fraction(1 - ceiling);
    if (less(this.level, floor)) this.level = floor;
    if (at > this.at) this.level = plus(this.level, fraction((at - this.at) * ceiling, 60_000));
    this.at = at;
    if (less(fraction(ceiling), this.level)) this.level = fraction(ceiling);
    const passed = !less(this.level, fraction(1));
    this.level = plus(this.level, fraction(-1));
    if (!passed && less(this.level, floor)) this.level = floor;
    // Over the one denominator there is, so that the fractions do not grow.
    this.level = { over: (this.level.over * 60_000n) / this.level.under, under: 60_000n };
    return passed;
  }
}

t.test('a minute of sixty', async (t) => {
  let bucket = full(60, start);
  t.equal(remaining(bucket), 60);
  t.equal(resetAt(bucket, 60), start / 1000, 'full already');
  for (let left = 59; left >= 0; left--) {
    const held = take(bucket, 60, start);
    t.ok(held.passed);
    t.equal(remaining(held.bucket), left);
    bucket = held.bucket;
  }
  t.equal(resetAt(bucket, 60), start / 1000 + 60);
  const refused = take(bucket, 60, start);
  t.notOk(refused.passed);
  t.equal(remaining(refused.bucket), 0);
  t.equal(retryAfterSeconds(refused.bucket, 60), 2, 'the refused request cost one as well');
  t.equal(resetAt(refused.bucket, 60), start / 1000 + 61);
  t.notOk(take(refused.bucket, 60, start + 1999).passed);
  t.ok(take(refused.bucket, 60, start + 2000).passed);

  for (let i = 0; i < 1000; i++) bucket = take(bucket, 60, start).bucket;
  t.equal(bucket.level, -59 * unitsPerRequest, 'the debt ends at 1 − ceiling');
  t.equal(retryAfterSeconds(bucket, 60), 60, 'the longest wait is a minute');
});

t.test('a ceiling of one', async (t) => {
  const first = take(full(1, start), 1, start);
  t.ok(first.passed);
  const second = take(first.bucket, 1, start + 59_999);
  t.notOk(second.passed);
  t.equal(second.bucket.level, 0, 'nothing to go into debt with');
  t.equal(retryAfterSeconds(second.bucket, 1), 60, 'but the wait begins anew');
  t.ok(take(first.bucket, 1, start + 60_000).passed);
});

t.test('a ceiling that was lowered', async (t) => {
  const deep: Bucket = { level: -59 * unitsPerRequest, at: start };
  t.equal(retryAfterSeconds(refilled(deep, 2, start), 2), 60, 'a debt of the old ceiling is not carried for hours');
  t.ok(take(deep, 2, start + 60_000).passed);
  t.equal(remaining(refilled(full(60, start), 10, start)), 10, 'nor is its wealth');
});

t.test('it decides as the oracle does', async () => {
  check(
    fc.property(ceilings, steps, (ceiling, pauses) => {
      const oracle = new Oracle(ceiling);
      let bucket = full(ceiling, start);
      let at = start;
      return pauses.every((pause) => {
        at += pause;
        const held = take(bucket, ceiling, at);
        bucket = held.bucket;
        return (
          held.passed === oracle.take(ceiling, at) &&
          same(fraction(bucket.level, unitsPerRequest), oracle.level) &&
          bucket.at === oracle.at
        );
      });
    }),
  );
});

t.test('it decides as the oracle does on a clock that goes back and under ceilings that change', async () => {
  const moves = fc.array(fc.tuple(fc.integer({ min: -20_000, max: 40_000 }), fc.integer({ min: 1, max: 100 })), {
    minLength: 1,
    maxLength: 100,
  });
  check(
    fc.property(moves, (moves) => {
      const oracle = new Oracle(60);
      let bucket = full(60, start);
      let at = start;
      return moves.every(([move, ceiling]) => {
        at += move;
        const held = take(bucket, ceiling, at);
        bucket = held.bucket;
        return (
          held.passed === oracle.take(ceiling, at) &&
          same(fraction(bucket.level, unitsPerRequest), oracle.level) &&
          bucket.at === oracle.at
        );
      });
    }),
  );
});

t.test('a client that waits Retry-After passes, and the wait is not a second too long', async () => {
  check(
    fc.property(ceilings, steps, fc.integer({ min: 1, max: 200 }), (ceiling, pauses, burst) => {
      let at = start;
      let bucket: Bucket = { level: 0, at };
      for (const pause of [...pauses, ...Array<number>(burst).fill(0)])
        bucket = take(bucket, ceiling, (at += pause)).bucket;
      const refused = take({ ...bucket, level: Math.min(bucket.level, unitsPerRequest - 1) }, ceiling, at);
      const wait = retryAfterSeconds(refused.bucket, ceiling);
      return (
        !refused.passed &&
        wait >= 1 &&
        wait <= 60 &&
        take(refused.bucket, ceiling, at + wait * 1000).passed &&
        (wait === 1 || !take(refused.bucket, ceiling, at + (wait - 1) * 1000).passed)
      );
    }),
  );
});

t.test(
  'whatever bucket is found, a refusal costs one, no debt is deeper than 1 − ceiling and no wait longer than a minute',
  async () => {
    check(
      fc.property(ceilings, leftovers, pauses, (ceiling, level, pause) => {
        const now = refilled({ level, at: start }, ceiling, start + pause);
        const { passed, bucket } = take({ level, at: start }, ceiling, start + pause);
        const floor = (1 - ceiling) * unitsPerRequest;
        const left = remaining(bucket);
        return (
          passed === now.level >= unitsPerRequest &&
          bucket.level === Math.max(passed ? 0 : floor, now.level - unitsPerRequest) &&
          now.level >= floor &&
          now.level <= ceiling * unitsPerRequest &&
          retryAfterSeconds(bucket, ceiling) <= 60 &&
          Number.isInteger(left) &&
          left >= 0 &&
          left < ceiling &&
          left > 0 === take(bucket, ceiling, start + pause).passed
        );
      }),
    );
  },
);

t.test('a clock that is set back refills nothing and takes nothing, and the level refills from then on', async () => {
  check(
    fc.property(
      ceilings,
      leftovers,
      fc.integer({ min: 0, max: 100 * dayMs }),
      pauses,
      (ceiling, level, back, pause) => {
        const bucket = refilled({ level, at: start }, ceiling, start);
        const earlier = refilled(bucket, ceiling, start - back);
        const later = refilled(earlier, ceiling, start - back + pause);
        const straight = refilled(bucket, ceiling, start + pause);
        return earlier.level === bucket.level && earlier.at === start - back && later.level === straight.level;
      },
    ),
  );
});

t.test('a client that waits as told passes, also after the clock is set back', async () => {
  check(
    fc.property(ceilings, leftovers, fc.integer({ min: 0, max: 100 * dayMs }), (ceiling, level, back) => {
      const refused = take({ level: Math.min(level, unitsPerRequest - 1), at: start }, ceiling, start - back);
      return (
        !refused.passed &&
        take(refused.bucket, ceiling, start - back + retryAfterSeconds(refused.bucket, ceiling) * 1000).passed
      );
    }),
  );
});

t.test('the bucket is full at its reset, and not a second before', async () => {
  check(
    fc.property(ceilings, leftovers, fc.integer({ min: 0, max: 999 }), (ceiling, level, offset) => {
      const bucket = refilled({ level, at: start + offset }, ceiling, start + offset);
      const reset = resetAt(bucket, ceiling);
      const capacity = ceiling * unitsPerRequest;
      const fullThen = refilled(bucket, ceiling, reset * 1000).level === capacity;
      const before = (reset - 1) * 1000;
      return fullThen && (before < bucket.at || refilled(bucket, ceiling, before).level < capacity);
    }),
  );
  // One unit short of a whole second: a date in milliseconds has no bits for that fraction.
  const hair: Bucket = { level: limits.ceilingMax * (unitsPerRequest - 1000) - 1, at: start };
  t.equal(resetAt(hair, limits.ceilingMax), start / 1000 + 2);
});

t.test('no window lets through more than the ceiling and what it refilled', async () => {
  check(
    fc.property(fc.integer({ min: 1, max: 40 }), steps, (ceiling, pauses) => {
      let bucket = full(ceiling, start);
      let at = start;
      const passes: number[] = [];
      for (const pause of pauses) {
        const held = take(bucket, ceiling, (at += pause));
        bucket = held.bucket;
        if (held.passed) passes.push(at);
      }
      return passes.every((from, first) =>
        passes
          .slice(first)
          .every(
            (to, more) => BigInt(more + 1) * 60_000n <= BigInt(ceiling) * 60_000n + BigInt(to - from) * BigInt(ceiling),
          ),
      );
    }),
  );
});

const terms = fc.record({
  periodMs: fc.constantFrom(1, 1000, 60_000, 3_600_000, dayMs),
  cost: fc.integer({ min: 1, max: 60_000 }),
  debt: fc.boolean(),
});

t.test('an hour of 120 without debt: a refusal costs nothing', async (t) => {
  const hour = { periodMs: 3_600_000, cost: 1, debt: false };
  let bucket = full(120, start, hour.periodMs);
  for (let left = 119; left >= 0; left--) {
    bucket = take(bucket, 120, start, hour).bucket;
    t.equal(remaining(bucket, hour.periodMs), left);
  }
  for (let again = 0; again < 5; again++) {
    const refused = take(bucket, 120, start + again, hour);
    t.notOk(refused.passed);
    t.equal(retryAfterSeconds(refused.bucket, 120, hour), 30, 'the wait does not grow');
    bucket = refused.bucket;
  }
  t.notOk(take(bucket, 120, start + 29_999, hour).passed);
  t.ok(take(bucket, 120, start + 30_000, hour).passed);
});

t.test('whatever the period, the cost and the debt, every number is an integer and the rule is kept', async () => {
  check(
    fc.property(
      fc.integer({ min: 0, max: limits.ceilingMax }),
      terms,
      fc.array(fc.tuple(pauses, fc.nat(3)), { maxLength: 60 }),
      (ceiling, { periodMs, cost, debt }, steps) => {
        let [level, bucket, at] = [BigInt(ceiling) * BigInt(periodMs), full(ceiling, start, periodMs), start];
        return steps.every(([pause, more]) => {
          at += pause;
          const held = { periodMs, cost: cost + more, debt };
          const [most, least, price] = [
            BigInt(ceiling) * BigInt(periodMs),
            BigInt(1 - ceiling) * BigInt(periodMs),
            BigInt(held.cost) * BigInt(periodMs),
          ];
          level += BigInt(pause) * BigInt(ceiling);
          if (level > most) level = most;
          const passes = level >= price;
          if (passes || debt) level -= price;
          if (!passes && debt && level < least) level = least;
          const taken = take(bucket, ceiling, at, held);
          bucket = taken.bucket;
          const wait = retryAfterSeconds(bucket, ceiling, held);
          const waits =
            passes || wait === Infinity
              ? held.cost > ceiling || passes
              : take(bucket, ceiling, at + wait * 1000, held).passed;
          return (
            taken.passed === passes &&
            BigInt(bucket.level) === level &&
            bucket.level >= Math.min(0, floor(ceiling, periodMs)) &&
            waits
          );
        });
      },
    ),
  );
});

t.test('a counter of a day refuses once it has reached its ceiling, and begins anew at midnight UTC', async (t) => {
  const midnight = start - (start % dayMs);
  const minute = { periodMs: dayMs, cost: 60_000 };
  let counter = { used: 0, since: 0 };
  for (const [at, passed, used] of [
    [midnight, true, 60_000],
    [midnight + 5, true, 120_000],
    [midnight + dayMs - 1, false, 120_000],
    [midnight + dayMs, true, 60_000],
  ] as const) {
    const counted = count(counter, 90_000, at, minute);
    t.equal(counted.passed, passed);
    t.equal(counted.counter.used, used, 'the last one may pass the ceiling');
    counter = counted.counter;
  }
  t.equal(secondsToNext(counter, midnight + dayMs + 1, dayMs), 86_400);
  t.equal(secondsToNext(counter, midnight + 2 * dayMs - 1, dayMs), 1);
  t.same(
    current(counter, midnight, dayMs),
    { used: 0, since: midnight },
    'a clock that is set back to another day begins it at zero',
  );
  t.notOk(count({ used: 0, since: 0 }, 0, start, minute).passed, 'a ceiling of 0 lets nobody through');
});

t.test('a reservation passes only if its whole cost fits, and a refusal leaves the counter as it was', async (t) => {
  const midnight = start - (start % dayMs);
  let counter = { used: 0, since: 0 };
  for (const [at, cost, passed, used] of [
    [midnight, 60, true, 60],
    [midnight + 5, 41, false, 60],
    [midnight + 6, 40, true, 100],
    [midnight + dayMs - 1, 1, false, 100],
    [midnight + dayMs, 100, true, 100],
    [midnight + 2 * dayMs, 101, false, 0],
  ] as const) {
    const counted = reserve(counter, 100, at, { periodMs: dayMs, cost });
    t.same([counted.passed, counted.counter.used], [passed, used], `${cost} at ${at - midnight}`);
    counter = counted.counter;
  }
});
