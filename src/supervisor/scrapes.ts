/** Reads the metrics of all workers, whichever of them a scrape has reached. */
import type { Clock } from '../clock.ts';
import { Coalesced } from '../coalesced.ts';
import { limits } from '../limits.ts';
import type { Samples } from '../metrics.ts';
import type { Member } from './member.ts';
import { Rounds } from './rounds.ts';
import { Tally } from './tally.ts';

const bounds = { keptMs: limits.scrapeKeptMs, freshMax: limits.scrapesFreshMax };

/** The supervisor's own place among the workers' numbers, which begin at 1. */
const own = 0;

export class Scrapes {
  readonly #rounds: Rounds;
  readonly #tally = new Tally();
  readonly #scrape: Coalesced<string>;

  /** `counted` returns the supervisor's own metrics. */
  constructor(clock: Clock, members: ReadonlySet<Member>, counted: () => Promise<Samples> = async () => []) {
    this.#rounds = new Rounds(clock, members);
    this.#scrape = new Coalesced(clock, bounds, async () => {
      this.#tally.hear(own, await counted());
      await this.#rounds.ask(limits.workerMeasureMs, ({ listened }) => listened, (request) => ({ type: 'measure', request }));
      return this.#tally.text();
    });
  }

  /** The metrics of all workers. Concurrent calls share one query. For a worker that does not answer in time, its last answer is used. */
  text(): Promise<string> {
    return this.#scrape.get();
  }

  hear(member: Member, request: number | null, samples: Samples): void {
    this.#tally.hear(member.worker.id, samples);
    if (request !== null) this.#rounds.answered(member, request);
  }

  async lose(member: Member): Promise<void> {
    this.#rounds.lose(member);
    await this.#tally.end(member.worker.id);
  }
}
