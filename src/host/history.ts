/** What moved an actor, as its history keeps it. */
import type { MachineKind } from '../../machines/version.ts';
import { limits } from '../limits.ts';
import type { Cause, Move, Snapshot } from '../store.ts';
import { openActor, UnreadableSnapshot, type Stateful } from './actor.ts';
import { Inspector, type Decision } from './inspector.ts';

/** A step that was decided: `seq` is the number that it will have, `stored` the snapshot after it. */
export function moveOf({ event, from, to, outcomes }: Omit<Decision, 'context'>, seq: number, atMs: number, cause: Cause, stored: Snapshot): Move {
  const snapshot = seq % limits.historyCheckpointSteps === 0 ? stored : null;
  return { seq, atMs, version: stored.version, event, from, to, outcomes, cause, snapshot };
}

/** The step that makes an actor: a fold begins with its snapshot. */
export function createdMove(stored: Snapshot, atMs: number, cause: Cause): Move {
  return { seq: 1, atMs, version: stored.version, event: { type: 'create' }, from: null, to: stored.state, outcomes: [], cause, snapshot: stored };
}

const unwatched = new Inspector();

/**
 * The stored snapshot after each of the moves: their fold through the machine. Null where it is not known: before the first
 * checkpoint, behind a step that no history has, and after steps of another version of the machine, each until the next checkpoint.
 */
export function* folded(kind: MachineKind, moves: Iterable<Move>): Generator<Snapshot | null> {
  let machine: Stateful<{ type: string }, { type: string }> | null = null;
  let seq = 0;
  for (const move of moves) {
    const follows: boolean = machine !== null && move.seq === seq + 1 && move.version === kind.version;
    if (follows) machine!.decide(move.event);
    else machine = move.snapshot === null ? null : opened(kind, move.snapshot);
    seq = move.seq;
    yield machine?.snapshot() ?? null;
  }
}

/** Null if this process cannot read the snapshot. */
function opened(kind: MachineKind, snapshot: Snapshot): Stateful<{ type: string }, { type: string }> | null {
  try {
    return openActor(kind, { snapshot }, { kind: kind.name, id: '', workspaceId: '' }, unwatched);
  } catch (error) {
    if (error instanceof UnreadableSnapshot) return null;
    throw error;
  }
}
