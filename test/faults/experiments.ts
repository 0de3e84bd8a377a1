/** Every experiment, in the order of the promises. */
import type { Experiment } from './experiment.ts';
import { seenIsStored } from './p2-kill.ts';
import { sealedInTime } from './p5-seal.ts';

export const experiments: readonly Experiment[] = [seenIsStored, sealedInTime];
