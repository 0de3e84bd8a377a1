/**
 * The replies that a connection owes. Replies come in the order of their commands, so a connection that owes its first
 * reply for too long has fallen silent, and gets no more commands. A network may lose everything without an error: as
 * long as commands were written, the client would take the connection for alive, and TCP would retry ever more seldom.
 * A connection that nothing is written to is closed (`limits.redisSilenceMs`), and the next one works as soon as the
 * network does.
 */
import { atTurnEnd, type Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { StoreUnavailable } from '../store.ts';

/** The commands of one connection that have no reply yet. */
interface Debt {
  count: number;
  /** When the connection last replied, or got a command while it owed nothing. */
  since: number;
  readonly settle: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Milliseconds after its last command until a silent connection has been replaced by one that owes nothing, and its
 * missing replies no longer count, settled or not. The connection may have sent a ping itself since, whose silence
 * counts too.
 */
const replacedMs = limits.redisPingMs + limits.redisSilenceMs + limits.redisReconnectMsMax;

export class InFlightReplies {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onError: (error: Error) => void;
  #debt: Debt;
  #askedAt = 0;

  /** `onError` is called with the error of each command that fails. */
  constructor(clock: Pick<Clock, 'monotonic'>, onError: (error: Error) => void = () => {}) {
    this.#clock = clock;
    this.#onError = onError;
    this.#debt = this.#none();
  }

  /**
   * Rejects with `StoreUnavailable` and sends nothing if the connection has fallen silent. Not at once: a process that
   * was suspended must first read what has arrived, and synchronous retries would keep it from that.
   */
  ask<T>(send: () => Promise<T>): Promise<T> {
    if (!this.#silent) return this.#send(send);
    return new Promise((resolve, reject) => {
      atTurnEnd(() =>
        this.#silent ? reject(new StoreUnavailable('Redis has stopped answering.')) : resolve(this.#send(send)),
      );
    });
  }

  get #silent(): boolean {
    const now = this.#clock.monotonic();
    if (this.#debt.count === 0 || now - this.#debt.since <= limits.redisCallMs) return false;
    if (now - this.#askedAt <= replacedMs) return true;
    this.#debt = this.#none();
    return false;
  }

  #send<T>(send: () => Promise<T>): Promise<T> {
    const debt = this.#debt;
    this.#askedAt = this.#clock.monotonic();
    const answer = send();
    if (debt.count++ === 0) debt.since = this.#askedAt;
    answer.then(debt.settle, debt.fail);
    return answer;
  }

  #none(): Debt {
    const debt: Debt = {
      count: 0,
      since: 0,
      settle: () => {
        debt.count--;
        debt.since = this.#clock.monotonic();
      },
      fail: (error) => {
        debt.settle();
        this.#onError(error);
      },
    };
    return debt;
  }
}
