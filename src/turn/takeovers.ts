/**
 * Takeovers by this process that have not led to a seal yet: the next attempt uses the same fence, which no other
 * takeover would get.
 */
export class Takeovers {
  /**
   * The ends of takeovers by turn, in Unix milliseconds. A takeover that is sent again with the same end gets the same
   * answer from the store.
   */
  readonly #untilMs = new Map<string, number>();
  readonly #busy = new Set<string>();

  has(turnId: string): boolean {
    return this.#untilMs.has(turnId);
  }

  /**
   * Begins a takeover; returns its end in Unix milliseconds, or null while another job in this process seals the turn.
   * Every `begin` that returned a time needs an `end`.
   */
  begin(turnId: string, nowMs: number, leaseMs: number): number | null {
    if (this.#busy.has(turnId)) return null;
    // An end beyond a lease was made before the clock was set back: the turn would be locked for as long.
    for (const [id, untilMs] of this.#untilMs)
      if (untilMs <= nowMs || untilMs > nowMs + leaseMs) this.#untilMs.delete(id);
    const untilMs = this.#untilMs.get(turnId) ?? nowMs + leaseMs;
    this.#untilMs.set(turnId, untilMs);
    this.#busy.add(turnId);
    return untilMs;
  }

  /** `done`: nothing is left to seal under this takeover. */
  end(turnId: string, done: boolean): void {
    this.#busy.delete(turnId);
    if (done) this.#untilMs.delete(turnId);
  }
}
