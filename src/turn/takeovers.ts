/**
 * Takeovers by this process that have not led to a seal yet: the next attempt uses the same fence, which no other
 * takeover would get.
 */
export class Takeovers {
  /**
   * By turn: when its takeover ends, in Unix milliseconds. A takeover that is sent again with the same end gets the
   * same answer from the store.
   */
  readonly #untilMs = new Map<string, number>();
  readonly #busy = new Set<string>();

  has(turnId: string): boolean {
    return this.#untilMs.has(turnId);
  }

  /**
   * When the takeover of the turn must end, in Unix milliseconds; null while another call in this process seals the
   * turn. Every `begin` that returned a time needs an `end`.
   */
  begin(turnId: string, nowMs: number, leaseMs: number): number | null {
    if (this.#busy.has(turnId)) return null;
    // An end that is further away than a lease is one of a clock that has been set back: the turn would be locked for
    // as long.
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
