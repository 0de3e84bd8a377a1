/**
 * The live actors of one kind: activated on demand (concurrent requests load once), kept in order of use, passivated when idle for
 * `actorIdleMs` and, the longest idle first, when there are more than `actorsLiveMax`.
 */
import type { Clock, Timer } from '../clock.ts';

export interface Resident {
  /** True while the actor must not be passivated: an event waits in its mailbox, or a turn is in flight. */
  readonly busy: boolean;
  /** Milliseconds of the clock at the last use. */
  usedAt: number;
  /** Called once when the actor is passivated or discarded. */
  passivated(): void;
}

/** Uses within this part of the idle time count as one. */
const sameUse = 1 / 64;

export class Population<R extends Resident> {
  readonly #live = new Map<string, R>();
  /** Loads under way, by id and asker. */
  readonly #loading = new Map<string, Map<string, Promise<R | null>>>();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #liveMax: number;
  #timer: Timer | null = null;

  constructor(clock: Clock, bounds: { actorIdleMs: number; actorsLiveMax: number }) {
    this.#clock = clock;
    this.#idleMs = bounds.actorIdleMs;
    this.#liveMax = bounds.actorsLiveMax;
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
   * The live actor, or the one that `load` returns; null if there is none. Calls with the same `asker` share one load: a call for
   * another workspace must not get its answer.
   */
  activate(id: string, load: () => Promise<R | null>, asker = ''): R | Promise<R | null> {
    return this.peek(id) ?? this.#load(id, load, asker);
  }

  async #load(id: string, load: () => Promise<R | null>, asker: string): Promise<R | null> {
    const loads = this.#loading.get(id) ?? new Map<string, Promise<R | null>>();
    this.#loading.set(id, loads);
    let loading = loads.get(asker);
    if (loading === undefined) {
      loading = load().then((resident) => (resident === null || this.#loading.get(id) !== loads ? resident : this.#admit(id, resident)));
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
    resident.passivated();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const id of [...this.#live.keys()]) this.discard(id);
  }

  /** Of two loads of the same actor the first one is kept. */
  #admit(id: string, resident: R): R {
    const earlier = this.peek(id);
    if (earlier !== undefined) return earlier;
    this.#use(id, resident);
    if (this.#live.size > this.#liveMax) this.#evict(this.#live.size - this.#liveMax);
    this.#timer ??= this.#clock.after(this.#idleMs, () => this.#sweep());
    return resident;
  }

  // Re-insertion keeps the map in order of use: its first entry is the longest idle. An actor that was used a moment ago keeps its place.
  #use(id: string, resident: R): void {
    const now = this.#clock.now();
    if (now - resident.usedAt < this.#idleMs * sameUse && now >= resident.usedAt && this.#live.has(id)) return;
    resident.usedAt = now;
    this.#live.delete(id);
    this.#live.set(id, resident);
  }

  #evict(excess: number): void {
    for (const [id, resident] of this.#live) {
      if (excess <= 0) return;
      if (resident.busy) continue;
      this.discard(id);
      excess--;
    }
  }

  #sweep(): void {
    this.#timer = null;
    const before = this.#clock.now() - this.#idleMs;
    for (const [id, resident] of this.#live) {
      if (resident.usedAt > before) break;
      if (!resident.busy) this.discard(id);
    }
    if (this.#live.size > 0) this.#timer = this.#clock.after(this.#idleMs / 2, () => this.#sweep());
  }
}
