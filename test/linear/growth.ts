/** Measures how the work on a text grows with its length. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { StepMatcher } from './matcher.ts';
import { attacksOn, type Attack } from './attacks.ts';

/** Characters of the shortest text: more than the longest bounded repetition that is wanted. */
const charactersLeast = 72;
/** Steps that a count may be off where a text does not grow by whole matches. */
const slack = 64;
const stepsMax = 200_000;

/** A text on which a regular expression takes more steps than in proportion to its length; null if none was found. */
export interface Growth {
  readonly attack: Attack;
  /** Steps on a text of one, two and three times a length. */
  readonly steps: readonly [number, number, number];
}

const textOf = ({ prefix, pump, suffix }: Attack, times: number): string =>
  prefix + pump.repeat(times * Math.ceil(charactersLeast / pump.length)) + suffix;

/**
 * Looks for a text on which the steps do not grow in a straight line: then the third length costs more beyond the
 * second than the second beyond the first. The count knows no clock, so that the answer is the same on every machine.
 */
export function growthOf(
  expression: RegExp,
  isGlobal: boolean,
): { readonly worse: Growth | null; readonly worst: Attack } {
  const matcher = new StepMatcher(expression);
  let worst: Attack = { prefix: '', pump: 'a', suffix: '' };
  let most = 0;
  for (const attack of attacksOn(matcher)) {
    const [one, two, three] = ([1, 2, 3] as const).map((times) =>
      matcher.steps(textOf(attack, times), isGlobal, stepsMax),
    ) as [number, number, number];
    if (three > stepsMax || three - two > two - one + slack)
      return { worse: { attack, steps: [one, two, three] }, worst: attack };
    if (three > most) [worst, most] = [attack, three];
  }
  return { worse: null, worst };
}

/** The processor's time that a piece of work takes, in milliseconds: the least of some tries. */
async function costOf(work: () => unknown, tries: number): Promise<number> {
  let least = Infinity;
  for (let left = tries; left > 0; left--) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
    await nextIteration();
  }
  return least;
}

/**
 * Work below it is too short to be compared, in milliseconds. The square of 50,000 bytes costs more than twice as
 * much even where each step is a search by vector instructions (`indexOf` from every place).
 */
const comparable = 5;
/** Maximum factor of work for ten times the length: linear growth gives ten, quadratic growth a hundred. */
const factorMax = 35;

/**
 * Measures work on texts of 500, 5,000 and 50,000 characters: a sentence about the first step that costs too much,
 * or null. The costs are compared with each other alone, and are measured again before they fail, so that neither the
 * machine's speed nor its load counts.
 */
export async function growthOfWork(work: (length: number) => () => unknown): Promise<string | null> {
  let shorter: { readonly run: () => unknown; readonly cost: number } | null = null;
  for (const length of [500, 5_000, 50_000]) {
    const run = work(length);
    let cost = await costOf(run, 1);
    if (shorter !== null && cost > comparable) {
      // The first run of a short text may be slower than the others: it was not compiled then.
      let before = Math.min(shorter.cost, await costOf(shorter.run, 3));
      if (cost > factorMax * before) {
        cost = Math.min(cost, await costOf(run, 5));
        before = Math.max(before, await costOf(shorter.run, 5));
        if (cost > comparable && cost > factorMax * before)
          return `${length} characters cost ${cost.toFixed(1)} ms, a tenth of them ${before.toFixed(2)} ms`;
      }
    }
    shorter = { run, cost };
  }
  return null;
}
