/**
 * The waits that a 429 asks for, shared by all requests of one client that use the same budget. When a wait has ended,
 * the waiting requests are sent one by one: a refused request costs one as well (contract 5), so requests that woke
 * together would make the wait of all of them longer.
 */
import type { Clock } from './clock.ts';

/**
 * The limit that a call is charged to: the key's requests, its speech, its tokens, or the workspace's turns in flight.
 */
export type Budget = 'requests' | 'speech' | 'tokens' | 'turns';
/**
 * The budgets of a call. Its own budget comes before the requests, so that a call that waits for its own budget does
 * not keep other calls waiting.
 */
export type Budgets = readonly ['requests'] | readonly ['speech' | 'tokens' | 'turns', 'requests'];

class Gate {
  /** The ceiling a minute as an answer last gave it; before, the service's default. */
  limit: number;
  readonly #clock: Clock;
  readonly #line: (() => void)[] = [];
  /** No request is sent before this time. */
  #until = -Infinity;
  /** The next call that waits in line is not sent before this time. */
  #next = -Infinity;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, limit = 60) {
    this.#clock = clock;
    this.limit = limit;
  }

  /** Milliseconds until it opens; 0 or less when it is open. */
  get shutMs(): number {
    return this.#until - this.#clock.now();
  }

  enter(signal: AbortSignal | undefined): Promise<void> | undefined {
    if (this.#line.length === 0 && this.shutMs <= 0) return undefined;
    return new Promise((resolve, reject) => {
      const pass = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#line.splice(this.#line.indexOf(pass), 1);
        this.#arm();
        reject(signal!.reason);
      };
      this.#line.push(pass);
      signal?.addEventListener('abort', leave, { once: true });
      this.#arm();
    });
  }

  refuse(ms: number): void {
    this.#until = Math.max(this.#until, this.#clock.now() + ms);
    this.#arm();
  }

  /** An answer that was no refusal: if requests are left, the next call in line need not wait. */
  pass(limit: number, remaining: number): void {
    if (limit > 0) this.limit = limit;
    if (remaining === 0) return;
    this.#next = -Infinity;
    this.#arm();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#line.length === 0) return;
    this.#cancel = this.#clock.after(Math.max(0, Math.max(this.#until, this.#next) - this.#clock.now()), () => {
      this.#next = this.#clock.now() + 60_000 / this.limit;
      this.#line.shift()?.();
      this.#arm();
    });
  }
}

export class Gates {
  readonly #gates: Record<Budget, Gate>;
  readonly #described: boolean;

  /**
   * `described`: answers have headers that describe a budget. A visitor's have none, and a link's limits refuse the
   * call's own budget alone.
   */
  constructor(clock: Clock, described: boolean) {
    this.#described = described;
    this.#gates = {
      requests: new Gate(clock),
      speech: new Gate(clock, 30),
      tokens: new Gate(clock, 10),
      turns: new Gate(clock),
    };
  }

  /** The longest of the waits that these budgets ask for, in milliseconds. */
  shutMs(budgets: Budgets): number {
    return Math.max(...budgets.map((budget) => this.#gates[budget].shutMs));
  }

  /** Waits until the call may be sent; rejects with the signal's reason. */
  async enter(budgets: Budgets, signal: AbortSignal | undefined): Promise<void> {
    for (const budget of budgets) await this.#gates[budget].enter(signal);
  }

  /**
   * Takes over a response's headers for the request's first budget. `waitMs`: the wait of a 429, or null. A 429 has the
   * headers of the budget that refused: for speech, or for a token, that may be the request budget, which is charged
   * first, and only the ceiling shows which one it is. If even the ceiling does not, an unneeded wait is better than a
   * refused request, which makes the wait of all longer.
   */
  note(budgets: Budgets, headers: Headers, waitMs: number | null): void {
    const [limit, remaining] = ['limit', 'remaining'].map((name) =>
      Number(headers.get(`x-ratelimit-${name}`) ?? NaN),
    ) as [number, number];
    const [own] = budgets;
    // A chat's headers describe the requests: if some are left, the workspace's turns refused.
    const described = own === 'turns' && this.#described ? 'requests' : own;
    if (waitMs !== null) {
      const { requests, [own === 'turns' && remaining > 0 ? own : described]: refusing } = this.#gates;
      refusing.refuse(waitMs);
      if (refusing !== requests && remaining === 0 && (limit === requests.limit || limit !== refusing.limit))
        requests.refuse(waitMs);
    } else
      for (const budget of budgets)
        this.#gates[budget].pass(budget === described ? limit : NaN, budget === described ? remaining : NaN);
  }
}
