/**
 * What a connection owes. Replies come in the order of their commands, so one that owes its first for too long has fallen
 * silent, and is asked nothing more. A network may lose all that is sent and tell nobody: as long as something were written
 * the client would take the connection for alive, and TCP would try again ever more seldom. One that nothing is written to
 * is closed (`limits.redisSilenceMs`), and the next one works as soon as the network does.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import { StoreUnavailable } from '../../store.ts';

export class Owed {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #count = 0;
  /** When the connection last replied, or was asked while it owed nothing. */
  #since = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Rejects with `StoreUnavailable` and sends nothing if the connection has fallen silent. */
  ask<T>(send: () => Promise<T>): Promise<T> {
    const now = this.#clock.monotonic();
    if (this.#count > 0 && now - this.#since > limits.redisCallMs) return Promise.reject(new StoreUnavailable('Redis has fallen silent.'));
    if (this.#count++ === 0) this.#since = now;
    const answer = send();
    answer.then(this.#settled, this.#settled);
    return answer;
  }

  readonly #settled = (): void => {
    this.#count--;
    this.#since = this.#clock.monotonic();
  };
}
