/**
 * Sheds load of voice (contract 8, "Overload"): partials become rarer, then stop, then new sockets are refused. Finals
 * and text turns are not affected.
 */
import type { Clock } from '../../base/clock.ts';
import type { VoiceProcesses } from './processes.ts';

/** Busy share of the voice processes from which partials are rarer, and the factor. */
const stretches: readonly (readonly [from: number, by: number])[] = [
  [0.6, Infinity],
  [0.45, 4],
  [0.3, 2],
];
const [fullShare, fullForMs, finalWaitsMsMax] = [0.85, 5_000, 1_000];

export type SheddingLevel = 'none' | 'partials_rarer' | 'partials_off' | 'full';

export class LoadShedding {
  /** Levels, the lowest first. */
  readonly levels: readonly SheddingLevel[] = ['none', 'partials_rarer', 'partials_off', 'full'];
  readonly #processes: Pick<VoiceProcesses, 'load'>;
  readonly #clock: Clock;
  #fullSince: number | null = null;

  constructor(processes: Pick<VoiceProcesses, 'load'>, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** Factor by which the caller's partials are rarer now; Infinity if they are off. */
  stretchFor(caller: string): number {
    return this.#isAnothers(caller) ? 1 : this.#stretch;
  }

  /** Whether a new socket of this caller is refused. */
  isFullFor(caller: string): boolean {
    return this.full && !this.#isAnothers(caller);
  }

  /** Whether new sockets are refused, except for callers that do not cause the load. */
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
   * Whether another caller causes most of the load. Callers share the processes, so other callers wait for one order at
   * most.
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
