/** Reads the metrics of all workers, whichever of them a scrape has reached. */
import type { Clock } from '../../base/clock.ts';
import { CoalescedQuery } from '../../base/coalesced-query.ts';
import { limits } from '../../base/limits.ts';
import { type Samples, metricsText, sumSamples } from '../../metrics/metrics.ts';
import type { SupervisedWorker } from './member.ts';
import { Broadcast } from './broadcast.ts';

const bounds = { keptMs: limits.scrapeKeptMs, freshMax: limits.scrapesFreshMax };

/** The supervisor's own place among the workers' numbers, which begin at 1. */
const own = 0;

export class Scrapes {
  readonly #broadcast: Broadcast;
  readonly #tally = new Tally();
  readonly #scrape: CoalescedQuery<string>;

  /** `counted` returns the supervisor's own metrics. */
  constructor(clock: Clock, members: ReadonlySet<SupervisedWorker>, counted: () => Promise<Samples> = async () => []) {
    this.#broadcast = new Broadcast(clock, members);
    this.#scrape = new CoalescedQuery(clock, bounds, async () => {
      this.#tally.receive(own, await counted());
      await this.#broadcast.ask(
        limits.workerMeasureMs,
        ({ listened }) => listened,
        (request) => ({ type: 'measure', request }),
      );
      return this.#tally.text();
    });
  }

  /**
   * The metrics of all workers. Concurrent calls share one query. For a worker that does not answer in time, its last
   * answer is used.
   */
  text(): Promise<string> {
    return this.#scrape.get();
  }

  receive(member: SupervisedWorker, request: number | null, samples: Samples): void {
    this.#tally.receive(member.worker.id, samples);
    if (request !== null) this.#broadcast.noteAnswer(member, request);
  }

  async remove(member: SupervisedWorker): Promise<void> {
    this.#broadcast.remove(member);
    await this.#tally.end(member.worker.id);
  }
}

/**
 * The last metrics of each worker, and the counts of workers that have ended: without these a sum would fall when a
 * worker is replaced, and Prometheus would take that for a restart and count everything again.
 */
class Tally {
  readonly #last = new Map<number, Samples>();
  #ended: Samples = [];

  receive(worker: number, samples: Samples): void {
    this.#last.set(worker, samples);
  }

  /** Keeps a worker's counts and drops its gauges. */
  async end(worker: number): Promise<void> {
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    if (last !== undefined)
      this.#ended = await sumSamples([this.#ended, last.filter(({ type }) => String(type) !== 'gauge')]);
  }

  text(): Promise<string> {
    return metricsText([this.#ended, ...this.#last.values()]);
  }
}
