/**
 * The history of each actor: every step has a row, written by the step. Only the steps that begin and end a turn have
 * none: the first is in the flight of the turn, and then both are in the turn's own row. So they stay as long as the
 * turn, though a history shows only its newest steps.
 */
import { limits } from '../../base/limits.ts';
import type { HistoryKind, HistoryStore, Move } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { moveOfRow, moveRow, movesKept, type MoveRow } from '../moves.ts';
import type { EarlierFlightRow, FlightRow } from './flights.ts';
import * as keys from './keys.ts';
import type { StoredSession, StoredTurn, TurnMoves } from './rows.ts';

/**
 * A step, or both steps of a turn: an earlier version stored both under the number of the second, as does the
 * withdrawal of an ended turn.
 */
export type MovesRow = MoveRow | TurnMoves;

const isOne = (row: MovesRow): row is MoveRow => Array.isArray(row);
const moveRowsOf = (row: MovesRow): MoveRow[] =>
  isOne(row) ? [row] : [row.begun, row.ended].filter((move) => move !== undefined);

/** The newest moves of an actor, oldest first, from all its rows and its flights. */
export const movesOf = (rows: Iterable<MovesRow>, flights: Iterable<FlightRow | EarlierFlightRow> = []): Move[] =>
  [...Array.from(rows, moveRowsOf).flat(), ...Array.from(flights, ({ move }) => (move ? [move] : [])).flat()]
    .map(moveOfRow)
    .sort((one, other) => one.seq - other.seq)
    .slice(-movesKept);

/** Adds a step to an actor's history. */
export function putMove(
  draft: Draft,
  kind: HistoryKind,
  workspaceId: string,
  id: string,
  move: Move | null | undefined,
): void {
  if (move) putMoves(draft, kind, workspaceId, id, moveRow(move));
}

/** Adds a step, or both steps of a turn, to an actor's history. */
export function putMoves(draft: Draft, kind: HistoryKind, workspaceId: string, id: string, moves: MovesRow): void {
  const rows = moveRowsOf(moves);
  const last = rows.at(-1);
  if (last === undefined) return;
  const key = keys.move(kind, workspaceId, id, last[0]);
  if (rows.length > 1) draft.put(key, moves, 'moves');
  else draft.put(key, last);
  dropBehind(draft, kind, workspaceId, id, moves);
}

/** Drops the rows of steps that are too old to be kept once these are there. */
export function dropBehind(draft: Draft, kind: HistoryKind, workspaceId: string, id: string, moves: MovesRow): void {
  for (const row of moveRowsOf(moves))
    if (row[0] > movesKept) draft.remove(keys.move(kind, workspaceId, id, row[0] - movesKept));
}

/** The steps of a turn, for its row; undefined if neither has a history. */
export function turnMovesOf(begun: MoveRow | null | undefined, move: Move | null | undefined): TurnMoves | undefined {
  if (!move) return begun ? { begun } : undefined;
  const ended = moveRow(move);
  return begun ? { begun, ended } : { ended };
}

const seqOf = (row: MovesRow): number => moveRowsOf(row).at(-1)?.[0] ?? 0;

/** The newest steps of ended turns, which have no fixed order. */
export class NewestMoves {
  #rows: TurnMoves[] = [];

  get rows(): readonly TurnMoves[] {
    return this.#rows;
  }

  add({ moves }: StoredTurn): void {
    if (moves === undefined) return;
    this.#rows.push(moves);
    if (this.#rows.length >= 2 * movesKept)
      this.#rows = this.#rows.sort((one, other) => seqOf(one) - seqOf(other)).slice(-movesKept);
  }
}

export class EmbeddedHistory implements HistoryStore {
  readonly #batcher: WriteBatcher;

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    const rows = this.#rows<MovesRow>(keys.history(kind, workspaceId, id));
    return kind === 'session' ? this.#ofSession(workspaceId, id, [...rows]) : movesOf(rows);
  }

  /** Steps that are made while the rows of many turns are read are left out. */
  async #ofSession(workspaceId: string, id: string, rows: readonly MovesRow[]): Promise<Move[]> {
    const newest = this.#batcher.committed<StoredSession>(keys.session(workspaceId, id))?.version ?? Infinity;
    const flights = [...this.#rows<FlightRow>(keys.sessionFlights(workspaceId, id))];
    const ofTurns = new NewestMoves();
    const prefix = keys.turns(workspaceId, id);
    for (let from: string | null = prefix; from !== null;)
      from = await this.#readTurns(from, keys.endOf(prefix), ofTurns);
    return movesOf([...rows, ...ofTurns.rows], flights).filter(
      ({ seq }, index, all) => seq <= newest && seq !== all[index - 1]?.seq,
    );
  }

  /** Returns the key to continue from, or null; yields to the event loop first. */
  async #readTurns(from: string, to: string, ofTurns: NewestMoves): Promise<string | null> {
    let looked = 0;
    for (const [key, turn] of this.#batcher.scan<StoredTurn>(from, to)) {
      ofTurns.add(turn);
      if (++looked < limits.scanRowsMax) continue;
      await this.#batcher.pause();
      return keys.justAfter(key);
    }
    return null;
  }

  *#rows<T>(prefix: string): Generator<T> {
    for (const [, row] of this.#batcher.scan<T>(prefix, keys.endOf(prefix))) yield row;
  }
}
