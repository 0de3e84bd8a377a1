/**
 * The turns in flight, mirrored in memory so that a step need not count them, which is possible because one process
 * owns the store. The rows decide; the mirror is rebuilt from them when the store opens and when a batch failed.
 */
import type { Fence, Message, Slot, StopRequest, Turn, TurnPlace } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import type { MoveRow } from '../moves.ts';
import { codePoints } from '../../base/text.ts';
import * as keys from './keys.ts';
import type { StoredTurn } from './rows.ts';

/**
 * A turn in flight, whole: neither the turn nor its messages nor the step that began it has a separate row before the
 * turn's end.
 */
export interface FlightRow {
  readonly place: TurnPlace;
  readonly fence: Fence;
  readonly leaseUntilMs: number;
  /** When the turn's slot of `slotName` runs out; 0 if the turn takes none, as after a takeover. */
  readonly slotUntilMs: number;
  /** The ceiling of that name when the turn began: a lapsed slot is taken again only if fewer are taken. */
  readonly slotsMax: number;
  /** Absent in rows of versions that knew only the API's slots. */
  readonly slotName?: string;
  /** The key of the remembered request that began the turn. */
  readonly memory: string | null;
  /** Absent in rows of versions without requests to stop. */
  readonly stop?: StopRequest | null;
  /**
   * The end of the lease that the last takeover requested. It identifies the takeover if it is sent again, even after
   * that lease has ended.
   */
  readonly seizedUntilMs?: number;
  readonly turn: Turn;
  /** The answer of the step that began the turn, to return it again. */
  readonly begun: StoredTurn['begun'];
  /** The user's message. Absent in flights of imports and of earlier versions, which gave it a separate row. */
  readonly said?: Message;
  /** The step that began the turn. Absent if the step has a separate row, or is not recorded. */
  readonly move?: MoveRow | null;
  /** Code points that readers may see; -1 hides the turn. Absent where they see all that is stored. */
  readonly released?: number | undefined;
  /** Number of the turn's tool calls, each in a separate row. */
  readonly calls?: number;
  /** Number of ended tool calls in the message that its steps amend. */
  readonly amended?: number;
}

/**
 * A flight's row of an earlier version: beside it the turn has a row, and the assistant's message one with the status
 * `streaming`.
 */
export type EarlierFlightRow = Omit<FlightRow, 'turn' | 'begun' | 'said' | 'move'> & {
  readonly turn?: never;
  readonly move?: never;
};

export interface Flight {
  readonly row: FlightRow;
  /** Code points of output stored so far. */
  readonly position: number;
  /**
   * The row that output is appended to: its key, the position where it begins, and its length; null if the next piece
   * begins a row.
   */
  readonly tail: { readonly key: string; readonly position: number; readonly length: number } | null;
}

export const slotNameOf = ({ slotName }: FlightRow): string => slotName ?? 'api';

/** Returns the row of a turn in flight, in the form of a turn that has ended. */
export const turnRowOf = ({ turn, begun }: FlightRow): StoredTurn => ({ turn, begun, finished: null });

/** The committed state of a turn. */
export function committedTurn(batcher: WriteBatcher, place: TurnPlace): StoredTurn | undefined {
  const flight = batcher.committed<FlightRow>(keys.flight(place));
  return flight === undefined ? batcher.committed<StoredTurn>(keys.turn(place)) : turnRowOf(flight);
}

const isAt = ({ row: { place } }: Flight, { workspaceId, sessionId, turnId }: TurnPlace): boolean =>
  place.turnId === turnId && place.sessionId === sessionId && place.workspaceId === workspaceId;

const slotsOf = (workspaceId: string, name: string): string => `${workspaceId}/${name}`;

export class Flights {
  readonly #batcher: WriteBatcher;
  /** Flights by turn id; an id hardly ever has more than one. */
  readonly #byTurn = new Map<string, Flight[]>();
  /** Expiry times of the slots, by workspace and name. */
  readonly #slots = new Map<string, Map<string, number>>();

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
    batcher.onDropped(() => this.#load());
  }

  /**
   * Voids every lease and slot: their holders belonged to an earlier process, and two processes cannot have the store
   * open. Gives the flights of earlier versions the form of this one, and removes those without a turn.
   */
  async voidLeases(): Promise<void> {
    await this.#batcher.step((draft) => {
      for (const [key, row] of this.#batcher.range<FlightRow | EarlierFlightRow>(
        keys.flights,
        keys.endOf(keys.flights),
      )) {
        const whole = row.turn === undefined ? this.#join(draft, row) : row;
        if (whole === null) draft.remove(key);
        else if (whole !== row || row.leaseUntilMs > 0)
          draft.put(key, { ...whole, leaseUntilMs: 0, slotUntilMs: 0 } satisfies FlightRow, 'flight');
      }
    });
    this.#load();
  }

  /** The flight of an earlier version with its turn, whose own rows are removed; null if there is no turn. */
  #join(draft: Draft, { turn: _, ...row }: EarlierFlightRow): FlightRow | null {
    const { workspaceId, sessionId } = row.place;
    const key = keys.turn(row.place);
    const earlier = this.#batcher.get<StoredTurn>(key);
    if (earlier === undefined) return null;
    draft.remove(key);
    draft.remove(keys.message(workspaceId, sessionId, earlier.turn.messageIndex));
    return { ...row, turn: earlier.turn, begun: earlier.begun };
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
    const named = slotsOf(place.workspaceId, slotNameOf(flight.row));
    let slots = this.#slots.get(named);
    if (slots === undefined) this.#slots.set(named, (slots = new Map()));
    slots.set(key, slotUntilMs);
  }

  delete(place: TurnPlace): void {
    const key = keys.flight(place);
    const flights = this.#byTurn.get(place.turnId) ?? [];
    const ended = flights.find((flight) => isAt(flight, place));
    const others = flights.filter((flight) => flight !== ended);
    if (others.length > 0) this.#byTurn.set(place.turnId, others);
    else this.#byTurn.delete(place.turnId);
    if (ended === undefined) return;
    const named = slotsOf(place.workspaceId, slotNameOf(ended.row));
    const slots = this.#slots.get(named);
    if (slots?.delete(key) && slots.size === 0) this.#slots.delete(named);
  }

  /** Drops the turns in flight of a workspace, and returns them. */
  forget(workspaceId: string): TurnPlace[] {
    const places = [...this.#all()].map(({ row }) => row.place).filter((place) => place.workspaceId === workspaceId);
    for (const place of places) this.delete(place);
    return places;
  }

  /**
   * Whether the workspace has no free slot of the name. The slots are checked one by one only if all seem to be taken.
   */
  full(workspaceId: string, { name, ceiling }: Slot, nowMs: number): boolean {
    const count = this.#slots.get(slotsOf(workspaceId, name))?.size ?? 0;
    return count >= ceiling && this.taken(workspaceId, name, nowMs) >= ceiling;
  }

  taken(workspaceId: string, name: string, nowMs: number): number {
    let count = 0;
    for (const untilMs of this.#slots.get(slotsOf(workspaceId, name))?.values() ?? []) if (untilMs > nowMs) count++;
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
    for (const [, row] of [...this.#batcher.scan<FlightRow>(keys.flights, keys.endOf(keys.flights))]) {
      this.set({ row, position: this.#stored(row.place), tail: null });
    }
  }

  #stored(place: TurnPlace): number {
    const prefix = keys.output(place);
    for (const [key, text] of this.#batcher.scan<string>(prefix, keys.endOf(prefix), true)) {
      return Number(keys.lastPart(key)) + codePoints(text);
    }
    return 0;
  }
}
