/**
 * The live actors of one kind: activated on demand (concurrent requests load once), passivated when idle for
 * `actorIdleMs` and, the longest idle first, when there are more than `actorsLiveMax`.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

export interface Resident {
  /** True while the actor must not be passivated: an event waits in its mailbox, or a turn is in flight. */
  readonly busy: boolean;
  /** Monotonic milliseconds at the last use. */
  usedAt: number;
  /** Called once when the actor is passivated or discarded. */
  passivated(): void;
}

/** Uses within this part of the idle time count as one. */
const sameUse = 1 / 64;

export class Population<R extends Resident> {
  readonly #live = new Map<string, R>();
  /** The live actors that were not found busy since their last use, the longest unused first. */
  readonly #idle = new Map<string, R>();
  /** Loads under way, by id and asker. */
  readonly #loading = new Map<string, Map<string, Promise<R | null>>>();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #liveMax: number;
  /** An actor used within this time is not evicted: its caller may not have sent it the event yet. */
  readonly #heldMs: number;
  /** Before this time every actor that may be idle is held. */
  #heldUntil = 0;
  #timer: Timer | null = null;

  constructor(clock: Clock, bounds: { actorIdleMs: number; actorsLiveMax: number }) {
    this.#clock = clock;
    this.#idleMs = bounds.actorIdleMs;
    this.#liveMax = bounds.actorsLiveMax;
    this.#heldMs = 2 * sameUse * bounds.actorIdleMs;
  }

  get size(): number {
    return this.#live.size;
  }

  residents(): Iterable<R> {
    return this.#live.values();
  }

  /** The live actor with this id, if there is one; counts as no use. */
  find(id: string): R | undefined {
    return this.#live.get(id);
  }

  /** The live actor with this id, if there is one; counts as a use. */
  peek(id: string): R | undefined {
    const resident = this.#live.get(id);
    if (resident !== undefined) this.#use(id, resident);
    return resident;
  }

  /**
   * The live actor, or the one that `load` returns; null without either. Calls with the same `asker` share one load: a
   * call for another workspace must not get its answer.
   */
  activate(id: string, load: () => Promise<R | null>, asker = ''): R | Promise<R | null> {
    return this.peek(id) ?? this.#load(id, load, asker);
  }

  async #load(id: string, load: () => Promise<R | null>, asker: string): Promise<R | null> {
    const loads = this.#loading.get(id) ?? new Map<string, Promise<R | null>>();
    this.#loading.set(id, loads);
    let loading = loads.get(asker);
    if (loading === undefined) {
      loading = load().then((resident) => {
        if (resident === null) return null;
        if (this.#loading.get(id) === loads) return this.#admit(id, resident);
        // Discarded during its load: the store may have another record by now, or none.
        resident.passivated();
        return this.activate(id, load, asker);
      });
      loads.set(asker, loading);
    }
    try {
      return await loading;
    } finally {
      if (loads.get(asker) === loading) loads.delete(asker);
      if (loads.size === 0 && this.#loading.get(id) === loads) this.#loading.delete(id);
    }
  }

  /** Drops the actor without writing to the store: the next use loads it anew. */
  discard(id: string): void {
    this.#loading.delete(id);
    const resident = this.#live.get(id);
    if (resident === undefined) return;
    this.#live.delete(id);
    this.#idle.delete(id);
    resident.passivated();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const id of [...this.#live.keys()]) this.discard(id);
  }

  /** Keeps a loaded actor. If the same actor was loaded twice, the first is kept. */
  #admit(id: string, resident: R): R {
    const earlier = this.peek(id);
    if (earlier !== undefined) return earlier;
    if (this.#live.size >= this.#liveMax) this.#makeRoom();
    this.#live.set(id, resident);
    this.#use(id, resident);
    this.#timer ??= this.#clock.after(this.#idleMs, () => this.#sweep());
    return resident;
  }

  // Re-insertion keeps the map in order of use. An actor that was used a moment ago keeps its place.
  #use(id: string, resident: R): void {
    const now = this.#clock.monotonic();
    if (now - resident.usedAt < this.#idleMs * sameUse && this.#idle.has(id)) return;
    resident.usedAt = now;
    this.#idle.delete(id);
    this.#idle.set(id, resident);
  }

  /**
   * Evicts many actors at a time: to find its first entry a map skips all that were deleted before it. A busy actor is
   * not looked at again before its next use or the next sweep.
   */
  #makeRoom(): void {
    const now = this.#clock.monotonic();
    if (now < this.#heldUntil) return;
    const keptMax = Math.floor(this.#liveMax * limits.cacheShareKept);
    for (const [id, resident] of this.#idle) {
      if (this.#live.size <= keptMax) return;
      this.#heldUntil = resident.usedAt + this.#heldMs;
      if (now < this.#heldUntil) return;
      if (resident.busy) this.#idle.delete(id);
      else this.discard(id);
    }
  }

  #sweep(): void {
    this.#timer = null;
    const before = this.#clock.monotonic() - this.#idleMs;
    for (const [id, resident] of this.#live) {
      if (resident.busy) continue;
      if (resident.usedAt <= before) this.discard(id);
      else if (!this.#idle.has(id)) this.#idle.set(id, resident);
    }
    if (this.#live.size > 0) this.#timer = this.#clock.after(this.#idleMs / 2, () => this.#sweep());
  }
}
