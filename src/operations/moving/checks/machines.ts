/** The states of actors and their histories: each is one that its machine has, and the steps can be folded. */
import { Type, type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { kinds } from '../../../../machines/all.ts';
import type { SessionContext } from '../../../../machines/session.ts';
import { migrated } from '../../../../machines/version.ts';
import { folded } from '../../../actors/history.ts';
import type { DumpRow } from '../../../store/dump.ts';
import type { HistoryKind, Move, Session, Snapshot } from '../../../store/records.ts';
import { pastOf } from '../../../turn/event-log.ts';

const Nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const Seconds = () => Nullable(Type.Integer());
const Debt = () => Nullable(Type.Object({ budget: Type.String(), until: Type.Integer() }));

/** The contexts of this version's machines; one that an earlier version stored is migrated first. */
const contexts: Readonly<Record<HistoryKind, TSchema>> = {
  assistant: Type.Object({ voice: Type.Boolean() }),
  key: Type.Object({ expiresAt: Seconds(), revokedAt: Seconds(), debt: Debt() }),
  session: Type.Object({ expiresAt: Type.Integer(), endedAt: Seconds(), activeTurnId: Nullable(Type.String()) }),
};

const compiled = new Map<HistoryKind, Validator>();

function isContext(kind: HistoryKind, context: unknown): boolean {
  let validator = compiled.get(kind);
  if (validator === undefined) compiled.set(kind, (validator = Compile(contexts[kind])));
  return validator.Check(context);
}

/** `record.machine` if the actor's machine cannot continue from it; null if it can, or the row has none. */
export function machineProblem(row: DumpRow): string | null {
  if (row.type !== 'assistant' && row.type !== 'key' && row.type !== 'session') return null;
  const snapshot = migrated(kinds[row.type], row.record.machine);
  if (snapshot === null || !isContext(row.type, snapshot.context)) return 'record.machine';
  return row.type === 'session' && !isSessionState(snapshot, row.record) ? 'record.machine' : null;
}

/** A session names its turn while one streams, and the time of its end afterwards. */
function isSessionState({ state, context }: Snapshot, { expiresAt }: Session): boolean {
  const session = context as SessionContext;
  const isOver = state === 'ended' || state === 'expired';
  if (session.expiresAt !== expiresAt || isOver !== (session.endedAt !== null)) return false;
  return isOver || (state === 'streaming') === (session.activeTurnId !== null);
}

/** The first step that its machine could not have taken, or null. */
export function movesProblem(row: DumpRow): string | null {
  if (row.type !== 'history') return null;
  const { kind, moves } = row;
  const wrong = moves.findIndex((move, index) => !isMove(kind, move, moves[index - 1]));
  if (wrong >= 0) return `moves[${wrong}]`;
  return canFold(kind, moves) ? null : 'moves';
}

function isMove(kind: HistoryKind, { seq, version, from, to, snapshot }: Move, before: Move | undefined): boolean {
  if (before !== undefined && seq <= before.seq) return false;
  const machine = kinds[kind];
  // A step of another version may have other states, and is not folded.
  if (version !== machine.version) return true;
  const has = (state: string): boolean => Object.hasOwn(machine.machine.states, state);
  const stored = snapshot && migrated(machine, snapshot);
  return (
    has(to) &&
    (from === null || has(from)) &&
    (snapshot === null || (stored !== null && isContext(kind, stored.context)))
  );
}

/** Whether the console can show the steps: a guard or an action that an event's fields break would throw. */
function canFold(kind: HistoryKind, moves: readonly Move[]): boolean {
  try {
    for (const snapshot of folded(kinds[kind], moves))
      if (snapshot !== null && !isContext(kind, snapshot.context)) return false;
    return moves.every((move) => move.turn === undefined || pastOf(move.turn, move).length >= 0);
  } catch {
    return false;
  }
}
