/** Faults that are planted in a program: an experiment must find each. */
import type { Test } from 'tap';
import type { Experiment } from './experiment.ts';
import { repeat } from './run.ts';

/**
 * Repeats an experiment on a changed program, with the seeds from 1, until a violation is the one that the fault leads
 * to. `timesMax`: repetitions within which it must be found.
 */
export async function findsFault(t: Test, experiment: Experiment, wrong: RegExp, timesMax: number): Promise<void> {
  const found: string[] = [];
  for (let seed = 1; seed <= timesMax && !found.some((one) => wrong.test(one)); seed++)
    for (const trial of (await repeat(experiment, 'lmdb', { times: 1, seed, strict: false })).failed)
      found.push(...trial.wrong);
  t.ok(
    found.some((one) => wrong.test(one)),
    JSON.stringify(found),
  );
}
