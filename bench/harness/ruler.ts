/**
 * The measuring programs: the provider that every contender asks, and the load. The one place that chooses between C
 * and Node for them.
 */
import type { Load } from '../load.ts';
import { nativeLoad } from '../load/native.ts';
import { nodeLoad } from '../load/node.ts';
import { built } from './built.ts';
import { buildNative, type Native } from './native.ts';
import { cpuMicroseconds, Process } from './process.ts';

export const rulers = ['C', 'Node'] as const;
export type RulerName = (typeof rulers)[number];

export interface Ruler {
  readonly name: RulerName;
  /** The provider's port. */
  readonly port: number;
  readonly load: Load;
  /** CPU time so far of the provider, the load and this process, in microseconds. */
  microseconds(): number;
  stop(): Promise<void>;
}

/** Starts the one that is wanted, or the more precise one available. */
export async function startRuler(wanted: RulerName | null): Promise<Ruler> {
  const native = wanted === 'Node' ? null : buildNative();
  if (native === null && wanted === 'C') throw new Error('The ruler in C needs Linux and a compiler, cc.');
  const { provider, port } = native === null ? await startNodeProvider() : await startProvider(native);
  const load = native === null ? nodeLoad : nativeLoad(native);
  const microseconds = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system + load.microseconds() + cpuMicroseconds([provider]);
  };
  return { name: native === null ? 'Node' : 'C', port, load, microseconds, stop: () => provider.stop() };
}

interface Provider {
  readonly provider: Process;
  readonly port: number;
}

async function startProvider({ provider: program, vocabulary }: Native): Promise<Provider> {
  const provider = new Process({ place: 'load', program, args: [vocabulary], piped: true });
  return { provider, port: Number(await provider.line()) };
}

async function startNodeProvider(): Promise<Provider> {
  const program = await built(new URL('../upstream.ts', import.meta.url));
  const provider = new Process({ place: 'load', program: process.execPath, args: [program], node: true });
  return { provider, port: (await provider.told<{ port: number }>()).port };
}
