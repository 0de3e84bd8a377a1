/** Whether the store accepts writes. Any client may query this at any rate, so the store itself is pinged seldom. */
import { atTurnEnd, type Clock } from '../base/clock.ts';
import { CoalescedQuery } from '../base/coalesced-query.ts';
import type { Log } from '../base/log.ts';
import type { Store } from './store.ts';

/** Milliseconds for the answer of a store on a disk: a probe gets 503 within two seconds. */
export const readyAnswerMs = 1_900;
/** Milliseconds for the answer of a shared store: a probe gets 503 within a quarter of a second. */
export const readySharedMs = 200;
/** Milliseconds for which an answer is reused, unless the store rejects a step. */
export const readyKeptMs = 250;

const bounds = { keptMs: readyKeptMs, freshMax: 1 };

export class Readiness {
  readonly #store: Pick<Store, 'ping' | 'leaseMs'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #asked: CoalescedQuery<boolean>;
  /** The ping that is under way. If it does not return, later queries wait for the same ping, and no other is sent. */
  #ping: Promise<boolean> | null = null;
  #ready = true;
  #doubtedAt = -Infinity;

  constructor(store: Pick<Store, 'ping' | 'leaseMs'>, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#asked = new CoalescedQuery(clock, bounds, () => this.#ask());
  }

  /**
   * Resolves within `readyAnswerMs`, or `readySharedMs`, with an answer that is `readyKeptMs` old at most; never
   * rejects.
   */
  isReady(): Promise<boolean> {
    return this.#asked.get();
  }

  /** Notes that the store has refused a step: the next query pings it again. */
  doubt(): void {
    const now = this.#clock.monotonic();
    if (now - this.#doubtedAt < readyKeptMs) return;
    this.#doubtedAt = now;
    this.#asked.forget();
  }

  #ask(): Promise<boolean> {
    this.#ping ??= this.#store.ping().then(
      () => this.#turn(true),
      (error: unknown) => this.#turn(false, error),
    );
    const ping = this.#ping;
    // A disk that is slow does its work all the same; a store beside the process answers at once, or not for long.
    const answerMs = this.#store.leaseMs === null ? readyAnswerMs : readySharedMs;
    return new Promise((resolve) => {
      let answered = false;
      // A process that was held up first reads the answer that has come meanwhile.
      const deadline = this.#clock.after(answerMs, () => atTurnEnd(() => answered || resolve(this.#change(false))));
      void ping.then((ready) => {
        answered = true;
        deadline.cancel();
        resolve(ready);
      });
    });
  }

  #turn(ready: boolean, error?: unknown): boolean {
    this.#ping = null;
    return this.#change(ready, error);
  }

  /** Logs a change, not every query. */
  #change(ready: boolean, error?: unknown): boolean {
    if (ready !== this.#ready) {
      if (ready) this.#log.info('ready again');
      else this.#log.warn({ err: error }, 'not ready: the store cannot do its work');
    }
    this.#ready = ready;
    return ready;
  }
}
