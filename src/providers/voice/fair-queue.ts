/**
 * Queue of orders for the voice processes, shared fairly: the next order belongs to the caller that has used the least
 * process time. A caller that sends many orders, or long ones, waits for them; other callers wait for the running
 * order.
 */

/** Orders that wait for a voice process. */
export const voiceOrdersMax = 10_000;
/** Orders of one caller that wait for a voice process. */
export const voiceOrdersOfCallerMax = 1_000;

export interface Queued<Urgency extends string> {
  readonly urgency: Urgency;
  /** Caller whose process time is charged. */
  readonly caller: string;
}

interface Entry<Job> {
  readonly job: Job;
  /** Time at which it began to wait, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** A caller with waiting or running orders; it is dropped with its last order. */
interface Account<Job> {
  /**
   * Milliseconds of process time that the caller has used; a new caller starts at the usage of those already present.
   */
  usedMs: number;
  running: number;
  size: number;
  readonly waiting: Map<string, Entry<Job>[]>;
}

/** Milliseconds assumed for an order before any has ended, and the weight of the newest in their average. */
const [supposedMs, newestShare] = [100, 0.2];

export class FairQueue<Urgency extends string, Job extends Queued<Urgency>> {
  readonly #ranks: readonly (readonly Urgency[])[];
  readonly #accounts = new Map<string, Account<Job>>();
  #size = 0;
  /** Number of waiting orders of each urgency. */
  readonly #counts = new Map<Urgency, number>();
  /** Used time of the caller that was served last: a new caller starts there and has no claim on earlier time. */
  #floorMs = 0;
  #averageMs = supposedMs;

  /**
   * Constructs a queue. `ranks`: groups of urgencies. An order of a later rank is taken only while no earlier one
   * waits; within a rank the callers share, and a caller's orders follow the order of the urgencies.
   */
  constructor(ranks: readonly (readonly Urgency[])[]) {
    this.#ranks = ranks;
  }

  /** Whether the queue is full, for all callers or for this one. */
  isFull(caller: string): boolean {
    const { size = 0 } = this.#accounts.get(caller) ?? {};
    return this.#size >= voiceOrdersMax || size >= voiceOrdersOfCallerMax;
  }

  /** Adds an order. `first`: before the caller's other orders of this urgency. */
  push(job: Job, sinceMs: number, first = false): void {
    const account = this.#accountOf(job.caller);
    const queue = account.waiting.get(job.urgency) ?? [];
    account.waiting.set(job.urgency, queue);
    if (first) queue.unshift({ job, sinceMs });
    else queue.push({ job, sinceMs });
    this.#count(account, job.urgency, 1);
  }

  /** Takes the next order to run; null for an empty queue. */
  take(): Job | null {
    for (const urgencies of this.#ranks) {
      const account = this.#least(urgencies);
      if (account === null) continue;
      const urgency = urgencies.find((name) => has(account, name))!;
      const { job } = account.waiting.get(urgency)!.shift()!;
      this.#count(account, urgency, -1);
      account.running++;
      this.#floorMs = Math.max(this.#floorMs, account.usedMs);
      return job;
    }
    return null;
  }

  /** Charges the time that an order has run. */
  ended({ caller }: Job, ms: number): void {
    const account = this.#accounts.get(caller)!;
    account.running--;
    account.usedMs += ms;
    this.#averageMs += (ms - this.#averageMs) * newestShare;
    this.#forget(caller, account);
  }

  /** Removes an order; false if it does not wait. */
  remove(job: Job): boolean {
    const account = this.#accounts.get(job.caller);
    const queue = account?.waiting.get(job.urgency) ?? [];
    const place = queue.findIndex((entry) => entry.job === job);
    if (place < 0) return false;
    queue.splice(place, 1);
    this.#count(account!, job.urgency, -1);
    this.#forget(job.caller, account!);
    return true;
  }

  /** Removes all orders. */
  drain(): Job[] {
    const jobs: Job[] = [];
    for (const [caller, account] of this.#accounts) {
      for (const queue of account.waiting.values()) jobs.push(...queue.splice(0).map(({ job }) => job));
      account.size = 0;
      this.#forget(caller, account);
    }
    this.#size = 0;
    this.#counts.clear();
    return jobs;
  }

  count(urgency: Urgency): number {
    return this.#counts.get(urgency) ?? 0;
  }

  /** Time at which the oldest order of this urgency began to wait; null if no such order waits. */
  oldest(urgency: Urgency): number | null {
    if (this.count(urgency) === 0) return null;
    const heads = [...this.#accounts.values()].flatMap(({ waiting }) => waiting.get(urgency)?.[0] ?? []);
    return heads.reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), Infinity);
  }

  #accountOf(caller: string): Account<Job> {
    let account = this.#accounts.get(caller);
    if (account === undefined)
      this.#accounts.set(caller, (account = { usedMs: this.#floorMs, running: 0, size: 0, waiting: new Map() }));
    return account;
  }

  #count(account: Account<Job>, urgency: Urgency, by: 1 | -1): void {
    account.size += by;
    this.#size += by;
    this.#counts.set(urgency, this.count(urgency) + by);
  }

  #forget(caller: string, { running, size }: Account<Job>): void {
    if (running === 0 && size === 0) this.#accounts.delete(caller);
  }

  /**
   * Returns the caller with the least used time that has a waiting order of one of these urgencies; of equals, the
   * first.
   */
  #least(urgencies: readonly Urgency[]): Account<Job> | null {
    let least: Account<Job> | null = null;
    const timeOf = ({ usedMs, running }: Account<Job>): number => usedMs + running * this.#averageMs;
    for (const account of this.#accounts.values()) {
      if (!urgencies.some((name) => has(account, name))) continue;
      if (least === null || timeOf(account) < timeOf(least)) least = account;
    }
    return least;
  }
}

const has = ({ waiting }: Account<unknown>, urgency: string): boolean => (waiting.get(urgency)?.length ?? 0) > 0;
