/** Faults that are planted in a program: an experiment must find each. */
import type { Test } from 'tap';
import type { Experiment } from './experiment.ts';
import { repeat } from './run.ts';

export interface Search {
  /** Repetitions within which the fault must be found. */
  readonly timesMax: number;
  /** The seed of the first repetition: one that finds the fault, where 1 does not. */
  readonly firstSeed?: number | undefined;
}

/** Repeats an experiment on a changed program until a violation is the one that the fault leads to. */
export async function findsFault(
  t: Test,
  experiment: Experiment,
  wrong: RegExp,
  { timesMax, firstSeed = 1 }: Search,
): Promise<void> {
  const violations: string[] = [];
  const enough = new AbortController();
  let seed = firstSeed;
  await repeat(experiment, 'lmdb', {
    times: timesMax,
    seed: firstSeed,
    abreast: 1,
    strict: false,
    stop: enough.signal,
    onTrial(trial) {
      seed = trial.seed;
      violations.push(...trial.wrong);
      if (trial.wrong.some((one) => wrong.test(one))) enough.abort();
    },
  });
  t.ok(enough.signal.aborted, JSON.stringify(violations));
  t.comment(`found with seed ${seed}`);
}
