/** Queries that a supervisor sends to all of its workers. */
import type { Clock } from '../../base/clock.ts';
import type { SupervisedWorker } from './member.ts';
import type { FromSupervisor } from './messages.ts';

interface PendingQuery {
  /** The workers that have not answered. */
  readonly awaited: Set<SupervisedWorker>;
  readonly done: () => void;
}

export class Broadcast {
  readonly #clock: Clock;
  readonly #members: ReadonlySet<SupervisedWorker>;
  /** Pending requests, by number. */
  readonly #open = new Map<number, PendingQuery>();
  #requests = 0;

  constructor(clock: Clock, members: ReadonlySet<SupervisedWorker>) {
    this.#clock = clock;
    this.#members = members;
  }

  /**
   * Sends a query to the workers for which `may` is true. Resolves when all have answered or ended, when one answer is
   * enough, or after `waitMs` milliseconds.
   */
  async ask(
    waitMs: number,
    may: (member: SupervisedWorker) => boolean,
    message: (request: number) => FromSupervisor,
  ): Promise<void> {
    const request = ++this.#requests;
    const awaited = new Set([...this.#members].filter(may));
    if (awaited.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(waitMs, resolve);
      const done = (): void => {
        timer.cancel();
        resolve();
      };
      this.#open.set(request, { awaited, done });
      for (const member of awaited) member.send(message(request));
    });
    this.#open.delete(request);
  }

  /** True while the query waits for answers. */
  isOpen(request: number): boolean {
    return this.#open.has(request);
  }

  noteAnswer(member: SupervisedWorker, request: number, enough = false): void {
    const query = this.#open.get(request);
    query?.awaited.delete(member);
    if (query?.awaited.size === 0 || enough) query?.done();
  }

  /** Stops waiting for a worker that has ended. */
  remove(member: SupervisedWorker): void {
    for (const request of [...this.#open.keys()]) this.noteAnswer(member, request);
  }
}
