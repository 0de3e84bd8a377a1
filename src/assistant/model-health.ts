/** The models that fail, counted by this process: one that failed repeatedly is passed over for a while (contract 19). */
import type { Clock } from '../base/clock.ts';
import { evictOldest } from '../base/evict-oldest.ts';

/** Failures in a row after which a model is passed over. */
const modelFailuresMax = 5;
/** Milliseconds for which it is passed over. */
const modelPassedOverMs = 30_000;
/** Models whose failures a process remembers. */
const modelsFailingMax = 1000;

export class ModelHealth {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Failures in a row by model, and the monotonic time until which it is passed over. */
  readonly #failing = new Map<string, { readonly failures: number; readonly untilMs: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isPassedOver(model: string): boolean {
    return (this.#failing.get(model)?.untilMs ?? -Infinity) > this.#clock.monotonic();
  }

  note(model: string, hasFailed: boolean): void {
    const failures = hasFailed ? (this.#failing.get(model)?.failures ?? 0) + 1 : 0;
    this.#failing.delete(model);
    if (failures === 0) return;
    const isOut = failures >= modelFailuresMax;
    this.#failing.set(model, { failures, untilMs: isOut ? this.#clock.monotonic() + modelPassedOverMs : 0 });
    evictOldest(this.#failing, modelsFailingMax);
  }
}
