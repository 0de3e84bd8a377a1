/**
 * What a connection owes. Replies come in the order of their commands, so one that owes its first for too long has fallen
 * silent, and is asked nothing more. A network may lose all that is sent and tell nobody: as long as something were written
 * the client would take the connection for alive, and TCP would try again ever more seldom. One that nothing is written to
 * is closed (`limits.redisSilenceMs`), and the next one works as soon as the network does.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import { StoreUnavailable } from '../../store.ts';

/** The commands of one connection that have no reply yet. */
interface Debt {
  count: number;
  /** When the connection last replied, or was asked while it owed nothing. */
  since: number;
  readonly settle: () => void;
}

export class Owed {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  #debt: Debt;
  #askedAt = 0;

  constructor(clock: Pick<Clock, 'monotonic' | 'after'>) {
    this.#clock = clock;
    this.#debt = this.#none();
  }

  /** Rejects with `StoreUnavailable` and sends nothing if the connection has fallen silent. */
  ask<T>(send: () => Promise<T>): Promise<T> {
    const now = this.#clock.monotonic();
    if (this.#debt.count > 0 && now - this.#debt.since > limits.redisCallMs) {
      // By now a silent connection has been replaced by one that owes nothing: what the old one owed counts no more, settled or not.
      if (now - this.#askedAt <= limits.redisSilenceMs + limits.redisReconnectMsMax) return this.#refusal();
      this.#debt = this.#none();
    }
    const debt = this.#debt;
    if (debt.count++ === 0) debt.since = now;
    this.#askedAt = now;
    const answer = send();
    answer.then(debt.settle, debt.settle);
    return answer;
  }

  /** Not at once: whoever tries again and again would let nothing else have its turn, the reply that is waited for included. */
  #refusal(): Promise<never> {
    return new Promise((_, reject) => void this.#clock.after(0, () => reject(new StoreUnavailable('Redis has fallen silent.'))));
  }

  #none(): Debt {
    const debt: Debt = {
      count: 0,
      since: 0,
      settle: () => {
        debt.count--;
        debt.since = this.#clock.monotonic();
      },
    };
    return debt;
  }
}
