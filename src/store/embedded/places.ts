/**
 * The places that are taken, mirrored in memory so that a step need not count them, which is possible because one
 * process owns the store. The rows decide: each name is read from them when it is first used, and anew after a failed
 * batch.
 */
import type { WriteBatcher } from '../write-batcher.ts';
import { Ends } from './ends.ts';
import * as keys from './keys.ts';
import { evictOldest } from '../../base/evict-oldest.ts';

/** Names of places whose holders are mirrored in memory. */
const placeNamesKeptMax = 1_000;

/** The ends of the holders' places by name: each ends when the last of its seats does. */
interface Taken {
  readonly holders: Ends;
  readonly seats: Map<string, Ends>;
}

/** A seat: the key of its limit, its holder, and its own name among the holder's. */
export interface Seat {
  readonly limit: string;
  readonly holder: string;
  readonly seat: string;
}

export class Places {
  readonly #batcher: WriteBatcher;
  /** Places by the limit's key, least recently used first. */
  readonly #names = new Map<string, Taken>();

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
    batcher.onDropped(() => this.#names.clear());
  }

  /** The end of each holder's place. Frees the places that end after `latestMs`. */
  holders(limit: string, nowMs: number, latestMs = Infinity): Ends {
    const { holders, seats } = this.#of(limit, nowMs);
    for (const holder of holders.dropAfter(latestMs)) seats.delete(holder);
    return holders;
  }

  /** When the seat ends; 0 if it has, or was never taken. */
  endOf({ limit, holder, seat }: Seat, nowMs: number): number {
    const endMs = this.#of(limit, nowMs).seats.get(holder)?.get(seat) ?? 0;
    return endMs > nowMs ? endMs : 0;
  }

  /** Notes a step's write: the seat ends then, or is free. */
  set({ limit, holder, seat }: Seat, endMs: number | null, nowMs: number): void {
    const taken = this.#names.get(limit);
    if (taken !== undefined) put(taken, holder, seat, endMs, nowMs);
  }

  /** Drops a workspace from memory. */
  forget(workspaceId: string): void {
    const prefix = keys.limits(workspaceId);
    for (const name of this.#names.keys()) if (name.startsWith(prefix)) this.#names.delete(name);
  }

  #of(limit: string, nowMs: number): Taken {
    const taken = this.#names.get(limit) ?? this.#read(limit, nowMs);
    this.#names.delete(limit);
    this.#names.set(limit, taken);
    evictOldest(this.#names, placeNamesKeptMax, placeNamesKeptMax);
    for (const holder of taken.holders.drop(nowMs)) taken.seats.delete(holder);
    return taken;
  }

  #read(limit: string, nowMs: number): Taken {
    const taken: Taken = { holders: new Ends(), seats: new Map() };
    const prefix = `${limit}/`;
    for (const [key, { endMs }] of this.#batcher.range<{ readonly endMs: number }>(prefix, keys.endOf(prefix))) {
      const [holder, seat] = key.slice(prefix.length).split('/') as [string, string];
      if (endMs > nowMs) put(taken, holder, seat, endMs, nowMs);
    }
    return taken;
  }
}

function put({ holders, seats }: Taken, holder: string, seat: string, endMs: number | null, nowMs: number): void {
  let own = seats.get(holder);
  if (own === undefined) seats.set(holder, (own = new Ends()));
  if (endMs === null) own.delete(seat);
  else own.set(seat, endMs);
  own.drop(nowMs);
  const last = own.at(-1);
  if (last !== undefined) return holders.set(holder, last);
  holders.delete(holder);
  seats.delete(holder);
}
