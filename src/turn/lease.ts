/** The owner's lease on a turn: renewed by its appends, and by a heartbeat between them. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { AppendResult, Fence, StopRequest, Store, TurnPlace } from '../store/store.ts';

export interface LeaseEvents {
  /** The turn was requested to stop. */
  stop(reason: StopRequest): unknown;
  /** Another process may own the turn soon. */
  lost(): void;
  /** Another process owns the turn or its slot, or the turn has ended. */
  fenced(): void;
}

/**
 * Returns the end of an owner's lease on a turn. It ends soon after its session expires: by then a living owner has
 * stopped the turn, and the turn of a dead owner must not outlive the session by the rest of its lease.
 */
export const leaseUntil = (nowMs: number, leaseMs: number, expiresAt: number): number =>
  nowMs + Math.min(leaseMs, Math.max(0, expiresAt * 1000 - nowMs) + limits.stopMs);

export class Lease {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #place: TurnPlace;
  readonly #fence: Fence;
  readonly #leaseMs: number;
  readonly #expiresAt: number;
  readonly #events: LeaseEvents;
  /**
   * The time at which the last successful renewal was sent, in monotonic milliseconds: the lease runs at least from
   * then.
   */
  #renewedAt: number;
  #renewing = false;
  /**
   * Appends without an answer yet. The heartbeat does not renew the lease while there are any: if the first append is
   * lost, no step may renew it.
   */
  #appending = 0;
  #timer: Timer | null = null;

  /** `expiresAt`: when the session expires; `begunAt`: the monotonic time from which the lease runs. */
  constructor(
    parts: {
      store: Store;
      clock: Clock;
      place: TurnPlace;
      fence: Fence;
      leaseMs: number;
      expiresAt: number;
      begunAt: number;
    },
    events: LeaseEvents,
  ) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#place = parts.place;
    this.#fence = parts.fence;
    this.#leaseMs = parts.leaseMs;
    this.#expiresAt = parts.expiresAt;
    this.#renewedAt = parts.begunAt;
    this.#events = events;
    this.#arm();
  }

  /** Stores a piece of output, and renews the lease unless it was just renewed: a renewal costs as much as a piece. */
  async append(position: number, text: string): Promise<AppendResult> {
    const askedAt = this.#clock.monotonic();
    const renews = askedAt - this.#renewedAt >= this.#leaseMs / 12;
    // Not spread from the place: V8 makes new hidden classes with each object that gets further fields behind a spread.
    const step = { fence: this.#fence, position, text, ...this.#place, ...(renews && this.#renewal()) };
    this.#appending++;
    try {
      const answer = await this.#store.turns.append(step);
      if (answer !== 'fenced' && renews) this.#renewedAt = Math.max(this.#renewedAt, askedAt);
      return answer;
    } finally {
      this.#appending--;
    }
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /**
   * Checks the lease several times for each renewal, so that a lease that could not be renewed is abandoned well before
   * it runs out.
   */
  #arm(): void {
    this.#timer = this.#clock.after(this.#leaseMs / 6, () => {
      this.#arm();
      const age = this.#clock.monotonic() - this.#renewedAt;
      if (age > this.#leaseMs * 0.8) this.#events.lost();
      else if (age >= this.#leaseMs / 3 && !this.#renewing && this.#appending === 0) void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    this.#renewing = true;
    const askedAt = this.#clock.monotonic();
    const { leaseUntilMs, nowMs } = this.#renewal();
    try {
      const answer = await this.#store.turns.renew(this.#place, this.#fence, leaseUntilMs, nowMs);
      if (answer !== 'fenced') this.#renewedAt = Math.max(this.#renewedAt, askedAt);
      else if (this.#timer !== null) this.#events.fenced();
      if (typeof answer === 'object') void this.#events.stop(answer.stop);
    } catch {
      // The store is away: the lease's age decides when it is lost.
    } finally {
      this.#renewing = false;
    }
  }

  #renewal(): { leaseUntilMs: number; nowMs: number } {
    const nowMs = this.#clock.now();
    return { leaseUntilMs: leaseUntil(nowMs, this.#leaseMs, this.#expiresAt), nowMs };
  }
}
