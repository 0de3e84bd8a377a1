/** The metrics of all workers as one. */
import { metricsText, summed, type Samples } from '../metrics.ts';

/**
 * What each worker said last, and the counts of those that have ended: without these a sum would fall when a worker is replaced, and
 * Prometheus would take the fall for a restart and count everything again.
 */
export class Tally {
  readonly #last = new Map<number, Samples>();
  #ended: Samples = [];

  hear(worker: number, samples: Samples): void {
    this.#last.set(worker, samples);
  }

  /** Keeps what a worker has counted and forgets what it measured. */
  async end(worker: number): Promise<void> {
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    if (last !== undefined) this.#ended = await summed([this.#ended, last.filter(({ type }) => String(type) !== 'gauge')]);
  }

  text(): Promise<string> {
    return metricsText([this.#ended, ...this.#last.values()]);
  }
}
