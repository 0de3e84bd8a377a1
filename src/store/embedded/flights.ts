/**
 * The turns in flight, mirrored in memory so that a step need not count them: one process owns the store. The rows are
 * the authority, and the mirror is built from them again when the store opens and when a batch failed.
 */
import type { Fence, StopRequest, TurnPlace } from '../../store.ts';
import type { Ledger } from '../ledger.ts';
import { codePoints } from '../../text.ts';
import * as keys from './keys.ts';

export interface FlightRow {
  readonly place: TurnPlace;
  readonly fence: Fence;
  readonly leaseUntilMs: number;
  /** Until when it holds one of the workspace's slots; 0 for a turn that takes none, as one that was seized. */
  readonly slotUntilMs: number;
  /** The workspace's ceiling when the turn began: a slot that lapsed is taken again only beneath it. */
  readonly slotsMax: number;
  /** The key of the memory of the request that began it. */
  readonly memory: string | null;
  /** Absent in rows of versions that knew no such request. */
  readonly stop?: StopRequest | null;
}

export interface Flight {
  readonly row: FlightRow;
  /** Code points of output stored so far. */
  readonly position: number;
  /** The row of output that grows: its key, the position that it begins at and its length; null if the next piece begins one. */
  readonly tail: { readonly key: string; readonly position: number; readonly length: number } | null;
}

const isAt = ({ row: { place } }: Flight, { workspaceId, sessionId, turnId }: TurnPlace): boolean =>
  place.turnId === turnId && place.sessionId === sessionId && place.workspaceId === workspaceId;

export class Flights {
  readonly #ledger: Ledger;
  /** By the turn's id; of one id there is hardly ever more than one. */
  readonly #byTurn = new Map<string, Flight[]>();
  /** Per workspace, until when each slot is held. */
  readonly #slots = new Map<string, Map<string, number>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    ledger.onDropped(() => this.#load());
  }

  /** Makes void every lease and slot: their holders were of an earlier process, and two cannot have the store open. */
  async voidLeases(): Promise<void> {
    await this.#ledger.step((draft) => {
      for (const [key, row] of this.#ledger.range<FlightRow>(keys.flights, keys.endOf(keys.flights))) {
        if (row.leaseUntilMs > 0) draft.put(key, { ...row, leaseUntilMs: 0, slotUntilMs: 0 } satisfies FlightRow);
      }
    });
    this.#load();
  }

  get(place: TurnPlace): Flight | undefined {
    return this.#byTurn.get(place.turnId)?.find((flight) => isAt(flight, place));
  }

  set(flight: Flight): void {
    const { place, slotUntilMs } = flight.row;
    const flights = this.#byTurn.get(place.turnId) ?? [];
    const at = flights.findIndex((other) => isAt(other, place));
    if (at >= 0 && flights[at]!.row === flight.row) {
      flights[at] = flight;
      return;
    }
    if (at >= 0) flights[at] = flight;
    else this.#byTurn.set(place.turnId, [...flights, flight]);
    if (slotUntilMs === 0) return;
    const key = keys.flight(place);
    let slots = this.#slots.get(place.workspaceId);
    if (slots === undefined) this.#slots.set(place.workspaceId, (slots = new Map()));
    slots.set(key, slotUntilMs);
  }

  delete(place: TurnPlace): void {
    const key = keys.flight(place);
    const others = (this.#byTurn.get(place.turnId) ?? []).filter((flight) => !isAt(flight, place));
    if (others.length > 0) this.#byTurn.set(place.turnId, others);
    else this.#byTurn.delete(place.turnId);
    const slots = this.#slots.get(place.workspaceId);
    if (slots?.delete(key) && slots.size === 0) this.#slots.delete(place.workspaceId);
  }

  forget(workspaceId: string): void {
    for (const { row } of [...this.#all()]) if (row.place.workspaceId === workspaceId) this.delete(row.place);
  }

  /** Whether the workspace has no slot left. The slots are looked at one by one only when they seem to be all taken. */
  full(workspaceId: string, slotsMax: number, nowMs: number): boolean {
    const held = this.#slots.get(workspaceId)?.size ?? 0;
    return held >= slotsMax && this.taken(workspaceId, nowMs) >= slotsMax;
  }

  taken(workspaceId: string, nowMs: number): number {
    let count = 0;
    for (const untilMs of this.#slots.get(workspaceId)?.values() ?? []) if (untilMs > nowMs) count++;
    return count;
  }

  lapsed(nowMs: number, limit: number): TurnPlace[] {
    const places: TurnPlace[] = [];
    for (const { row } of this.#all()) {
      if (places.length === limit) break;
      if (row.leaseUntilMs <= nowMs) places.push(row.place);
    }
    return places;
  }

  *#all(): Generator<Flight> {
    for (const flights of this.#byTurn.values()) yield* flights;
  }

  #load(): void {
    this.#byTurn.clear();
    this.#slots.clear();
    for (const [, row] of [...this.#ledger.scan<FlightRow>(keys.flights, keys.endOf(keys.flights))]) {
      this.set({ row, position: this.#stored(row.place), tail: null });
    }
  }

  #stored(place: TurnPlace): number {
    const prefix = keys.output(place);
    for (const [key, text] of this.#ledger.scan<string>(prefix, keys.endOf(prefix), true)) {
      return Number(keys.lastPart(key)) + codePoints(text);
    }
    return 0;
  }
}
