/** Whether the workers together are ready. */
import type { Clock } from '../../base/clock.ts';
import { CoalescedQuery } from '../../base/coalesced-query.ts';
import type { SupervisedWorker } from './member.ts';
import { Broadcast } from './broadcast.ts';

/** Milliseconds for the answers of several processes, each with its own bound. */
const readyWorkersMs = 240;
/** Milliseconds for which the supervisor reuses an answer, beyond what its workers do. */
const readyWorkersKeptMs = 40;

const bounds = { keptMs: readyWorkersKeptMs, freshMax: 1 };

export class Readiness {
  readonly #broadcast: Broadcast;
  readonly #asked: CoalescedQuery<boolean>;
  /** Whether at least one worker has answered the present query with ready. */
  #ready = false;

  constructor(clock: Clock, members: ReadonlySet<SupervisedWorker>) {
    this.#broadcast = new Broadcast(clock, members);
    this.#asked = new CoalescedQuery(clock, bounds, async () => {
      this.#ready = false;
      await this.#broadcast.ask(
        readyWorkersMs,
        ({ listened, leaving }) => listened && !leaving,
        (request) => ({ type: 'query-readiness', request }),
      );
      return this.#ready;
    });
  }

  /**
   * True once one worker that stays accepts work and its store answers. Others may hang: if a load balancer removed
   * this address because of them, the ready worker would get no requests either.
   */
  isReady(): Promise<boolean> {
    return this.#asked.get();
  }

  receive(member: SupervisedWorker, request: number, ready: boolean): void {
    if (!this.#broadcast.isOpen(request)) return;
    this.#ready ||= ready;
    this.#broadcast.noteAnswer(member, request, ready);
  }

  remove(member: SupervisedWorker): void {
    this.#broadcast.remove(member);
  }
}
