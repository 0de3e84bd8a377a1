/** Moves as stores keep them: by position, because there is one for each step. */
import { limits } from '../base/limits.ts';
import type { By, CatalogKind, Move, Snapshot, TurnPast } from './store.ts';
import { packRow, unpackRow } from './codec.ts';

/** Number of stored rows of an actor: the rows that are shown, and enough rows before them to include a checkpoint. */
export const movesKept = limits.historyKept + limits.historyCheckpointSteps;

/** Credentials have no machine, and a workspace's is not stored. */
export const hasHistory = (kind: CatalogKind): kind is 'key' | 'assistant' => kind === 'key' || kind === 'assistant';

export type MoveRow = [
  seq: number,
  atMs: number,
  version: number,
  event: Move['event'],
  from: string | null,
  to: string,
  outcomes: Move['outcomes'],
  requestId: string | null,
  by: ByRow,
  snapshot: Snapshot | null,
  turn?: [
    turnId: string,
    version: number,
    runsUntil: number,
    shared: boolean,
    events: TurnPast['events'],
    stopId: string | null,
    stoppedBy: ByRow,
    fallbacks?: number,
  ],
];

type ByRow = [kind: By['kind'], id: string, name: string] | null;

const byRow = (by: By | null): ByRow => by && [by.kind, by.id, by.name];
const byOfRow = (by: ByRow): By | null => by && { kind: by[0], id: by[1], name: by[2] };

export function moveRow({
  seq,
  atMs,
  version,
  event,
  from,
  to,
  outcomes,
  cause: { requestId, by },
  snapshot,
  turn,
}: Move): MoveRow {
  const row: MoveRow = [seq, atMs, version, event, from, to, outcomes, requestId, byRow(by), snapshot];
  if (turn === undefined) return row;
  const past: NonNullable<MoveRow[10]> = [
    turn.turnId,
    turn.version,
    turn.runsUntil,
    turn.shared,
    turn.events,
    turn.stoppedBy.requestId,
    byRow(turn.stoppedBy.by),
  ];
  if (turn.fallbacks !== undefined) past.push(turn.fallbacks);
  row.push(past);
  return row;
}

export function moveOfRow([
  seq,
  atMs,
  version,
  event,
  from,
  to,
  outcomes,
  requestId,
  by,
  snapshot,
  turn,
]: MoveRow): Move {
  const cause = { requestId, by: byOfRow(by) };
  const move = { seq, atMs, version, event, from, to, outcomes, cause, snapshot };
  if (turn === undefined) return move;
  const [turnId, turnVersion, runsUntil, shared, events, stopId, stoppedBy, fallbacks] = turn;
  return {
    ...move,
    turn: {
      turnId,
      version: turnVersion,
      runsUntil,
      shared,
      events,
      stoppedBy: { requestId: stopId, by: byOfRow(stoppedBy) },
      ...(fallbacks !== undefined && { fallbacks }),
    },
  };
}

export const packMove = (move: Move): Uint8Array => packRow(moveRow(move));
export const unpackMove = (bytes: Uint8Array): Move => moveOfRow(unpackRow<MoveRow>(bytes));
