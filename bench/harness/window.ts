/** CPU use of a server, and of load, provider and database, while something is measured. */
import { cpuMicroseconds } from './process.ts';
import type { Figure, Measurement } from './question.ts';

/**
 * The share of their core that the load, the provider and a database have used: proof that they were not the
 * bottleneck.
 */
export const loadCore: Figure = { name: "the load's core", unit: '%' };

/** Above this, in percent, a figure is marked. */
export const loadCoreMost = 85;

export interface Used {
  readonly seconds: number;
  /** CPU time of the server in microseconds. */
  readonly microseconds: number;
  /** The use of the load's core, in percent. */
  readonly loadCore: number;
}

/** Begins to count; the function returned gives the use since. */
export function openWindow({ instance: { processes, beside = [] }, surroundings }: Measurement): () => Used {
  const now = (): readonly [number, number, number] => [
    cpuMicroseconds(processes),
    surroundings.loadMicroseconds() + cpuMicroseconds(beside),
    performance.now() / 1000,
  ];
  const [server, around, startedAt] = now();
  return () => {
    const [serverNow, aroundNow, at] = now();
    const seconds = at - startedAt;
    return { seconds, microseconds: serverNow - server, loadCore: ((aroundNow - around) / (seconds * 1e6)) * 100 };
  };
}
