/** The steps of an actor, as its history keeps them. */
import type { MachineKind } from '../../machines/version.ts';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { firstLine } from '../base/text.ts';
import type { Unsealed } from '../store/records.ts';
import type { Cause, Move, Session, Snapshot, TurnPast } from '../store/store.ts';
import { openActor, UnreadableSnapshot, type MachineInstance } from './actor.ts';
import { Inspector, type Decision } from './inspector.ts';

/**
 * A step that was decided: `seq` is the number that it will have, `stored` the snapshot after it, `turn` the events of
 * the turn that it ends.
 */
export function moveOf(
  { event, from, to, outcomes }: Omit<Decision, 'context'>,
  seq: number,
  atMs: number,
  cause: Cause,
  stored: Snapshot,
  turn?: TurnPast,
  isCheckpoint = seq % limits.historyCheckpointSteps === 0,
): Move {
  const snapshot = isCheckpoint ? stored : null;
  const { version } = stored;
  return turn === undefined
    ? { seq, atMs, version, event, from, to, outcomes, cause, snapshot }
    : { seq, atMs, version, event, from, to, outcomes, cause, snapshot, turn };
}

/** A step of a session. The desk's steps are in no history, so each step after one has its snapshot. */
export const sessionMoveOf = (
  decision: Omit<Decision, 'context'>,
  seq: number,
  atMs: number,
  cause: Cause,
  { machine, attendance }: Pick<Session, 'machine' | 'attendance'>,
  turn?: TurnPast,
): Move => moveOf(decision, seq, atMs, cause, machine, turn, attendance === undefined ? undefined : true);

/**
 * A session that a step at `atMs` has moved. Its fields are set one after another: for a literal that spreads a record
 * and replaces fields of it, optimised code calls V8's runtime for each of them.
 */
export function movedSession(
  before: Session,
  atMs: number,
  mark: string,
  machine: Snapshot,
  messageCount = before.messageCount,
): Session {
  const session: Unsealed<Session> = { ...before };
  session.messageCount = messageCount;
  session.lastActivityAt = secondsOf(atMs);
  session.mark = mark;
  session.machine = machine;
  return session;
}

/**
 * Keeps the beginning of a session's first message of a user, in one line, unless an earlier one is kept whose turn was
 * not withdrawn.
 */
export function noteOpening(session: Unsealed<Session>, index: number, message: string): void {
  if (session.opening !== undefined && session.opening.index < index) return;
  session.opening = { index, text: firstLine(message, limits.openingCharactersMax) };
}

/** The step that makes an actor: a fold begins with its snapshot. */
export function createdMove(stored: Snapshot, atMs: number, cause: Cause): Move {
  return {
    seq: 1,
    atMs,
    version: stored.version,
    event: { type: 'create' },
    from: null,
    to: stored.state,
    outcomes: [],
    cause,
    snapshot: stored,
  };
}

const unwatched = new Inspector();

/**
 * The stored snapshot after each of the moves: their fold through the machine. Null before the first checkpoint, after
 * a step that no history has, and after steps of another version of the machine, each until the next checkpoint.
 */
export function* folded(kind: MachineKind, moves: Iterable<Move>): Generator<Snapshot | null> {
  let machine: MachineInstance<{ type: string }, { type: string }> | null = null;
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
function opened(kind: MachineKind, snapshot: Snapshot): MachineInstance<{ type: string }, { type: string }> | null {
  try {
    return openActor(kind, { snapshot }, { kind: kind.name, id: '', workspaceId: '' }, unwatched);
  } catch (error) {
    if (error instanceof UnreadableSnapshot) return null;
    throw error;
  }
}
