/** Whether the workers together are ready. */
import type { Clock } from '../clock.ts';
import { Coalesced } from '../coalesced.ts';
import { limits } from '../limits.ts';
import type { Member } from './member.ts';
import { Rounds } from './rounds.ts';

const bounds = { keptMs: limits.readyKeptMs, freshMax: 1 };

export class Looks {
  readonly #rounds: Rounds;
  readonly #asked: Coalesced<boolean>;
  /** Whether at least one worker has answered the present query with ready. */
  #ready = false;

  constructor(clock: Clock, members: ReadonlySet<Member>) {
    this.#rounds = new Rounds(clock, members);
    this.#asked = new Coalesced(clock, bounds, async () => {
      this.#ready = false;
      await this.#rounds.ask(limits.readyWorkersMs, ({ listened, leaving }) => listened && !leaving, (request) => ({ type: 'look', request }));
      return this.#ready;
    });
  }

  /**
   * True once one worker that stays accepts work and its store answers. Others may hang: if a load balancer removed this address
   * because of them, the ready worker would get no requests either.
   */
  look(): Promise<boolean> {
    return this.#asked.get();
  }

  hear(member: Member, request: number, ready: boolean): void {
    if (!this.#rounds.isOpen(request)) return;
    this.#ready ||= ready;
    this.#rounds.answered(member, request, ready);
  }

  lose(member: Member): void {
    this.#rounds.lose(member);
  }
}
