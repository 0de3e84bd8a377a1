/**
 * The history of each actor: every step has a row, written by the step. Only the step that begins a turn has none: its move is in the flight of the turn, and then in one row
 * with that of the step that ends the turn.
 */
import type { HistoryKind, HistoryStore, Move } from '../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import { moveOfRow, moveRow, movesKept, type MoveRow } from '../moves.ts';
import type { EarlierFlightRow, FlightRow } from './flights.ts';
import * as keys from './keys.ts';

/** The steps that began and ended a turn, under the number of the second. */
interface TurnMoves {
  readonly begun: MoveRow;
  readonly ended: MoveRow;
}

export type MovesRow = MoveRow | TurnMoves;

/** The newest moves of an actor, oldest first, from all its rows and its flights. */
export const movesOf = (rows: Iterable<MovesRow>, flights: Iterable<FlightRow | EarlierFlightRow> = []): Move[] =>
  [...Array.from(rows, (row) => ('begun' in row ? [row.begun, row.ended] : [row])).flat(), ...Array.from(flights, ({ move }) => (move ? [move] : [])).flat()]
    .map(moveOfRow)
    .sort((one, other) => one.seq - other.seq)
    .slice(-movesKept);

/** Adds a step to an actor's history, after the step that began the turn which it ends; drops the steps that are too old to be kept. */
export function putMove(draft: Draft, kind: HistoryKind, workspaceId: string, id: string, move: Move | null | undefined, begun?: MoveRow | null): void {
  const ended = move ? moveRow(move) : null;
  const last = ended ?? begun;
  if (!last) return;
  const key = keys.move(kind, workspaceId, id, last[0]);
  if (begun && ended) draft.put(key, { begun, ended } satisfies TurnMoves, 'moves');
  else draft.put(key, last);
  for (const row of [begun, ended]) if (row && row[0] > movesKept) draft.remove(keys.move(kind, workspaceId, id, row[0] - movesKept));
}

export class EmbeddedHistory implements HistoryStore {
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
