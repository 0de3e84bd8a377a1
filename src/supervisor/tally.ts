/** The metrics of all workers as one. */
import { metricsText, summed, type Samples } from '../metrics.ts';

/**
 * The last metrics of each worker, and the counts of workers that have ended: without these a sum would fall when a worker is
 * replaced, and Prometheus would take that for a restart and count everything again.
 */
export class Tally {
  readonly #last = new Map<number, Samples>();
  #ended: Samples = [];

  hear(worker: number, samples: Samples): void {
    this.#last.set(worker, samples);
  }

  /** Keeps a worker's counts and drops its gauges. */
  async end(worker: number): Promise<void> {
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    if (last !== undefined) this.#ended = await summed([this.#ended, last.filter(({ type }) => String(type) !== 'gauge')]);
  }

  text(): Promise<string> {
    return metricsText([this.#ended, ...this.#last.values()]);
  }
}
