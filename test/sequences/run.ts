/**
 * Runs so many random sequences of commands against a server, from a seed; rejects with the shortest that disagrees
 * with the machines.
 */
import fc from 'fast-check';
import type { House } from '../api/house.ts';
import { closeReal, openReal, sequences } from './commands.ts';
import { Model } from './model.ts';

export interface SequencesOptions {
  readonly seed: number;
  readonly runs: number;
  readonly length: number;
  /** Path of a failure, as it was printed. */
  readonly path?: string;
  /** Whether the first that disagrees is enough, however long it is. */
  readonly anyLength?: boolean;
  readonly onRun?: () => void;
}

export async function runSequences(
  house: House,
  { seed, runs, length, path, anyLength = false, onRun }: SequencesOptions,
): Promise<void> {
  const property = fc.asyncProperty(sequences(length), async (commands) => {
    const real = await openReal(house);
    try {
      await fc.asyncModelRun(() => ({ model: new Model(), real }), commands);
    } finally {
      await closeReal(real);
      onRun?.();
    }
  });
  const included = { includeErrorInReport: true, endOnFailure: anyLength };
  await fc.assert(property, { seed, numRuns: runs, ...included, ...(path === undefined ? {} : { path }) });
}
