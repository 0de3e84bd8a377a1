/** Asks all workers for their metrics, whichever of them a scrape has reached. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Samples } from '../metrics.ts';
import type { Member } from './member.ts';
import { Tally } from './tally.ts';

export class Scrapes {
  readonly #clock: Clock;
  readonly #members: ReadonlySet<Member>;
  readonly #tally = new Tally();
  /** For each request the workers that have not answered, and what to do when all have. */
  readonly #open = new Map<number, { readonly awaited: Set<Member>; readonly done: () => void }>();
  #requests = 0;

  constructor(clock: Clock, members: ReadonlySet<Member>) {
    this.#clock = clock;
    this.#members = members;
  }

  /** Of a worker that does not answer in time it tells what it said last. */
  async text(): Promise<string> {
    const request = ++this.#requests;
    const awaited = new Set([...this.#members].filter(({ listened }) => listened));
    for (const member of awaited) member.tell({ type: 'measure', request });
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(limits.workerMeasureMs, resolve);
      const done = (): void => {
        timer.cancel();
        resolve();
      };
      this.#open.set(request, { awaited, done });
    });
    this.#open.delete(request);
    return this.#tally.text();
  }

  hear(member: Member, request: number | null, samples: Samples): void {
    this.#tally.hear(member.worker.id, samples);
    if (request !== null) this.#answered(member, request);
  }

  async lose(member: Member): Promise<void> {
    for (const request of [...this.#open.keys()]) this.#answered(member, request);
    await this.#tally.end(member.worker.id);
  }

  #answered(member: Member, request: number): void {
    const open = this.#open.get(request);
    open?.awaited.delete(member);
    if (open?.awaited.size === 0) open.done();
  }
}
