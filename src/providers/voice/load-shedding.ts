/**
 * How voice gives way under load (contract 8, "Overload"): partials become rarer, then there are none, then new sockets
 * are refused. Finals and text turns do not suffer.
 */
import type { Clock } from '../../base/clock.ts';
import type { VoiceProcesses } from './processes.ts';

/** The busy share of the voice processes from which partials are stretched, and by how much. */
const stretches: readonly (readonly [from: number, by: number])[] = [
  [0.6, Infinity],
  [0.45, 4],
  [0.3, 2],
];
const [fullShare, fullForMs, finalWaitsMsMax] = [0.85, 5_000, 1_000];

export type SheddingLevel = 'none' | 'partials_rarer' | 'partials_off' | 'full';

export class LoadShedding {
  /** From the lowest on. */
  readonly levels: readonly SheddingLevel[] = ['none', 'partials_rarer', 'partials_off', 'full'];
  readonly #processes: Pick<VoiceProcesses, 'load'>;
  readonly #clock: Clock;
  #fullSince: number | null = null;

  constructor(processes: Pick<VoiceProcesses, 'load'>, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** By how much the caller's partials are to be rarer now; Infinity: there are none. */
  stretchFor(caller: string): number {
    return this.#isAnothers(caller) ? 1 : this.#stretch;
  }

  /** Whether a new socket of this caller is refused. */
  isFullFor(caller: string): boolean {
    return this.full && !this.#isAnothers(caller);
  }

  /** Whether new sockets are refused, but for callers who do not cause the load. */
  get full(): boolean {
    const { finalWaitsMs } = this.#sample();
    return (
      finalWaitsMs > finalWaitsMsMax ||
      (this.#fullSince !== null && this.#clock.monotonic() - this.#fullSince >= fullForMs)
    );
  }

  get level(): SheddingLevel {
    if (this.full) return 'full';
    const stretch = this.#stretch;
    return stretch === Infinity ? 'partials_off' : stretch > 1 ? 'partials_rarer' : 'none';
  }

  get #stretch(): number {
    const { busy } = this.#sample();
    return stretches.find(([from]) => busy >= from)?.[1] ?? 1;
  }

  /**
   * Whether the load is mostly of one caller, and not of this one: callers share the processes, so the others wait for
   * an order.
   */
  #isAnothers(caller: string): boolean {
    const { dominant } = this.#sample();
    return dominant !== null && dominant !== caller;
  }

  #sample(): VoiceProcesses['load'] {
    const { load } = this.#processes;
    if (load.busy < fullShare) this.#fullSince = null;
    else this.#fullSince ??= this.#clock.monotonic();
    return load;
  }
}
