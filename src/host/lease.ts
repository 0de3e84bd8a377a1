/** The owner's lease on a turn: renewed by its appends, and by a heartbeat where nothing is appended. */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Appended, Fence, Renewed, StopRequest, Store, TurnPlace } from '../store.ts';

export interface LeaseEvents {
  /** Somebody asks the turn to stop. */
  stop(reason: StopRequest): void;
  /** Another process may own the turn, or soon will. */
  lost(): void;
}

/**
 * Until when an owner has a turn. It ends soon after its session does: by then a living owner has cut the turn, and that of a
 * dead one is not to outlive the session by what was left of its lease.
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
  /** When the last renewal that was granted was asked for: the lease runs at least from there. */
  #renewedAt: number;
  #renewing = false;
  #timer: Timer | null = null;

  /** `expiresAt` is the session's, `begunAt` the monotonic time from which the lease runs. */
  constructor(
    parts: { store: Store; clock: Clock; place: TurnPlace; fence: Fence; leaseMs: number; expiresAt: number; begunAt: number },
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

  /** Stores a piece of output; it renews the lease as well. */
  async append(position: number, text: string): Promise<'stored' | 'fenced'> {
    const askedAt = this.#clock.monotonic();
    const nowMs = this.#clock.now();
    const step = { ...this.#place, fence: this.#fence, position, text, leaseUntilMs: this.#until(nowMs), nowMs };
    return this.#heard(await this.#store.appendOutput(step), askedAt) ? 'stored' : 'fenced';
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Several looks for each renewal, so that a lease that nobody could renew is given up well before it runs out. */
  #arm(): void {
    this.#timer = this.#clock.after(this.#leaseMs / 6, () => {
      this.#arm();
      const age = this.#clock.monotonic() - this.#renewedAt;
      if (age > this.#leaseMs * 0.8) this.#events.lost();
      else if (age >= this.#leaseMs / 3 && !this.#renewing) void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    this.#renewing = true;
    const askedAt = this.#clock.monotonic();
    const nowMs = this.#clock.now();
    try {
      const answer = await this.#store.renewTurn(this.#place, this.#fence, this.#until(nowMs), nowMs);
      if (!this.#heard(answer, askedAt) && this.#timer !== null) this.#events.lost();
    } catch {
      // The store is away: its age tells when to give up.
    } finally {
      this.#renewing = false;
    }
  }

  #until(nowMs: number): number {
    return leaseUntil(nowMs, this.#leaseMs, this.#expiresAt);
  }

  #heard(answer: Appended | Renewed, askedAt: number): boolean {
    if (answer === 'fenced') return false;
    this.#renewedAt = Math.max(this.#renewedAt, askedAt);
    if (typeof answer === 'object') this.#events.stop(answer.stop);
    return true;
  }
}
