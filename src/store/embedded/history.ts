/**
 * What moved each actor: every step has a row, written by the step. Only the step that begins a turn has none: its move is in the flight of the turn, and in one row
 * with that of the step that ends the turn.
 */
import type { HistoryKind, HistoryStore, Move } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import { moveOfRow, moveRow, movesKept, type MoveRow } from '../moves.ts';
import type { EarlierFlightRow, FlightRow } from './flights.ts';
import * as keys from './keys.ts';

export type MovesRow = MoveRow | readonly MoveRow[];

const isMove = (row: MovesRow): row is MoveRow => typeof row[0] === 'number';

/** The moves of an actor, oldest first, of all its rows and of its flights. */
export const movesOf = (rows: Iterable<MovesRow>, flights: Iterable<FlightRow | EarlierFlightRow> = []): Move[] =>
  [...rows, ...Array.from(flights, ({ move }) => (move ? [move] : []))]
    .flatMap((row) => (isMove(row) ? [moveOfRow(row)] : row.map(moveOfRow)))
    .sort((one, other) => one.seq - other.seq)
    .slice(-movesKept);

/** Adds a step to an actor's history, after the step that began the turn which it ends; drops the steps that are too old to be kept. */
export function putMove(draft: Draft, kind: HistoryKind, workspaceId: string, id: string, move: Move | null | undefined, begun?: MoveRow | null): void {
  const rows = [...(begun ? [begun] : []), ...(move ? [moveRow(move)] : [])];
  if (rows.length === 0) return;
  draft.put(keys.move(kind, workspaceId, id, rows.at(-1)![0]), rows.length === 1 ? rows[0]! : rows);
  for (const [seq] of rows) if (seq > movesKept) draft.remove(keys.move(kind, workspaceId, id, seq - movesKept));
}

export class History implements HistoryStore {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    return movesOf(this.#rows<MovesRow>(keys.history(kind, workspaceId, id)), kind === 'session' ? this.#rows<FlightRow>(keys.sessionFlights(workspaceId, id)) : []);
  }

  *#rows<T>(prefix: string): Generator<T> {
    for (const [, row] of this.#ledger.scan<T>(prefix, keys.endOf(prefix))) yield row;
  }
}
