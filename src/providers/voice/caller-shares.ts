/** The share of the voice processes' time that each caller has had of late. */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';

export class CallerShares {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds by caller, since `#from`. */
  readonly #spent = new Map<string, number>();
  #from: number;
  #dominant: string | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#from = clock.monotonic();
  }

  /** An order of the caller has run for so long. */
  note(caller: string, ms: number): void {
    this.#look();
    this.#spent.set(caller, (this.#spent.get(caller) ?? 0) + ms);
  }

  /** The caller that had more than half of the time in the last whole stretch of `voiceShareMs`; null if none had. */
  get dominant(): string | null {
    this.#look();
    return this.#dominant;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    if (now - this.#from < limits.voiceShareMs) return;
    const all = [...this.#spent.values()].reduce((sum, ms) => sum + ms, 0);
    this.#dominant = [...this.#spent].find(([, ms]) => 2 * ms > all)?.[0] ?? null;
    this.#spent.clear();
    this.#from = now;
  }
}
