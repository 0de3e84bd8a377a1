/** An actor's past: its moves and refusals, from the server's history and from live events. */
import type { ActorKind } from '../../../../machines/all.ts';
import { begunTurn, type TurnContext } from '../../../../machines/turn.ts';
import type { Cause, Emitted, FeedEvent, HistoryRow } from '../types.ts';
import { decide, type AnyEvent } from './copy.ts';

const historyKinds: readonly ActorKind[] = ['session', 'key', 'assistant'];

/** The path of an actor's history; null for one that has none. A turn's is kept with its session. */
export function historyPath(kind: ActorKind, id: string, session: string | null): string | null {
  if (kind === 'turn') return session === null ? null : `/sessions/${encodeURIComponent(session)}/turns/${id}/history`;
  return historyKinds.includes(kind) ? `/${kind}s/${id}/history` : null;
}

export interface Step {
  /** Names it in the address: `16`; steps after it that moved nothing, such as refusals, are `16r1`, `16r2`. */
  readonly id: string;
  readonly seq: number;
  /** Milliseconds. */
  readonly at: number;
  readonly event: string;
  /** Null for the step that made the actor. */
  readonly from: string | null;
  readonly to: string;
  readonly outcomes: readonly Emitted[];
  readonly refused: boolean;
  readonly requestId: string | null;
  readonly by: Cause | null;
  /** Number of equal steps that this one represents. */
  readonly count: number;
  /** The event with its fields, where they are known. */
  readonly data?: AnyEvent | null;
  /** The context after it as the server said when it happened. */
  readonly context?: unknown;
  /** The context after it as the server works it out of the past. */
  readonly kept?: unknown;
}

export const codeOf = (outcomes: readonly Emitted[]): string | null =>
  outcomes.find(({ type }) => type === 'refused')?.code ?? null;

type Unnamed = Omit<Step, 'id'>;

export const stepOfRow = ({ at, request_id, context, data, ...row }: HistoryRow): Unnamed => ({
  ...row,
  at: at * 1000,
  requestId: request_id,
  data: data ?? null,
  kept: context ?? null,
});

export const stepOfEvent = ({
  seq,
  at,
  event,
  from,
  to,
  outcomes,
  refused,
  request_id,
  by,
  context,
  data,
}: FeedEvent): Unnamed => ({
  ...{ seq, at, event, from, to, outcomes, by, context, refused, data },
  requestId: request_id,
  count: 1,
});

/** A refusal, like an event that changed nothing, commits nothing and has the number of the step before it. */
const isRefusal = ({ refused, from, to }: Unnamed): boolean => refused && from === to;
const isSame = (one: Unnamed, other: Unnamed): boolean =>
  one.event === other.event && one.from === other.from && one.to === other.to;

/**
 * Appends a step. A committed one that is known already is left out; an equal one that moved nothing increases the last
 * one's count.
 */
export function withStep(steps: readonly Step[], step: Unnamed): readonly Step[] {
  const last = steps.at(-1);
  if (!isRefusal(step)) {
    if (last === undefined || step.seq > last.seq) return [...steps, { ...step, id: String(step.seq) }];
    const known = steps.findLast(({ id }) => id === String(step.seq));
    const isKnown =
      known !== undefined && isSame(known, step) && Math.floor(known.at / 1000) === Math.floor(step.at / 1000);
    if (step.seq < last.seq || isKnown || step.outcomes.every(({ type }) => type === 'unchanged')) return steps;
  }
  const isMore =
    last !== undefined &&
    last.id.includes('r') &&
    last.seq === step.seq &&
    isSame(last, step) &&
    codeOf(last.outcomes) === codeOf(step.outcomes);
  if (isMore) return steps.with(-1, { ...step, id: last.id, count: last.count + step.count });
  const before = steps.filter(({ id }) => id.startsWith(`${step.seq}r`)).length;
  return [...steps, { ...step, id: `${step.seq}r${before + 1}` }];
}

const isIdle = ({ from, to, outcomes }: Unnamed): boolean =>
  from === to && outcomes.every(({ type }) => type === 'unchanged');

/**
 * Appends a step of an actor that keeps no history. Equal steps in a row that changed nothing become one: a call gets
 * the playback position four times a second. The first step stays separate, since it shows when the actor was first
 * seen.
 */
export function withPassing(steps: readonly Step[], step: Unnamed): readonly Step[] {
  const last = steps.at(-1);
  if (
    last === undefined ||
    steps.length === 1 ||
    step.seq <= last.seq ||
    !isIdle(step) ||
    !isIdle(last) ||
    !isSame(last, step)
  )
    return withStep(steps, step);
  return steps.with(-1, { ...step, id: last.id, count: last.count + step.count });
}

export const stepsOf = (rows: readonly HistoryRow[]): readonly Step[] =>
  rows.map(stepOfRow).reduce(withStep, [] as readonly Step[]);

/**
 * The steps of the history. Those that were seen before stay as they are, since the machine's own context came with
 * them; without rows they all stay.
 */
export function withRows(seen: readonly Step[], rows: readonly HistoryRow[]): readonly Step[] {
  if (rows.length === 0) return seen;
  const known = new Map(seen.map((step) => [step.id, step]));
  return stepsOf(rows).map((step) => {
    const before = known.get(step.id);
    return before !== undefined && isSame(before, step) && before.count === step.count ? before : step;
  });
}

/** The turn that a step of its session begins or closes; null for other steps. */
export function turnOf({ outcomes }: Pick<Step, 'outcomes'>): string | null {
  return textIn(outcomes, 'turn.begun', 'turnId') ?? textIn(outcomes, 'turn.closed', 'turnId');
}

/** Facts about an actor that its history lacks. */
export interface Subject {
  readonly expiresAt: number | null;
  readonly endedAt: number | null;
}

/**
 * The context after each step: as the server sent it with the step, else the fold of the machine over the steps before.
 * Null from an event on whose fields the history does not keep, or that a machine of another version decided.
 */
export function contextsOf(kind: ActorKind, steps: readonly Step[], subject: Subject, known?: Contexts): unknown[] {
  let context: unknown = begun(kind, steps[0], subject);
  const same = known === undefined ? 0 : commonOf(steps, known.steps);
  const kept = known?.contexts.slice(0, same) ?? [];
  if (same > 0) context = kept.at(-1);
  return [
    ...kept,
    ...steps.slice(same).map((step) => (context = step.context ?? folded(kind, step, context) ?? step.kept ?? null)),
  ];
}

/** The steps folded so far, with their contexts: later steps alone are folded. */
export interface Contexts {
  readonly steps: readonly Step[];
  readonly contexts: readonly unknown[];
}

/** Number of equal steps at the beginning of both lists. */
function commonOf(one: readonly Step[], other: readonly Step[]): number {
  const most = Math.min(one.length, other.length);
  if (most === 0 || one[0] !== other[0]) return 0;
  // Steps are added at the end, and only the last one changes.
  let same = most;
  while (same > 0 && one[same - 1] !== other[same - 1]) same--;
  return same;
}

/** The machine's own decision over the context before; null where it is not known or leads elsewhere. */
function folded(kind: ActorKind, step: Step, before: unknown): unknown {
  if (isRefusal(step)) return before;
  const event = step.data ?? eventOf(kind, step);
  if (before === null || event === null || step.from === null) return null;
  try {
    const decision = decide(kind, { state: step.from, context: before }, event);
    return decision.state === step.to ? decision.context : null;
  } catch {
    return null;
  }
}

/** The context before the first step that is known. */
export function begun(kind: ActorKind, first: Step | undefined, { expiresAt }: Subject): unknown {
  if (kind === 'session')
    return first?.from === 'streaming' ? null : { expiresAt: expiresAt ?? 0, endedAt: null, activeTurnId: null };
  if (kind === 'assistant') return null;
  if (kind === 'key')
    return first === undefined || first.from === 'active' ? { expiresAt, revokedAt: null, debt: null } : null;
  if (kind === 'turn' && first?.seq === 1)
    return begunTurnOf((first.context ?? first.kept) as TurnContext | null | undefined);
  return null;
}

/** Context at the beginning of a turn: two fields never change, and the others have the values of every new turn. */
const begunTurnOf = (context: TurnContext | null | undefined): TurnContext | null =>
  context ? begunTurn(context) : null;

const textIn = (outcomes: readonly Emitted[], type: string, field: string): string | null => {
  const found = outcomes.find((outcome) => outcome.type === type)?.[field];
  return typeof found === 'string' ? found : null;
};

const ofSessionItself = ['session_ended', 'session_expired', 'turn_in_progress'];

/** Returns the event of a step, as far as its row determines it; null if it does not. */
function eventOf(kind: ActorKind, { event: type, at, outcomes }: Step): AnyEvent | null {
  if (kind === 'session') {
    const code = codeOf(outcomes);
    const turnId =
      textIn(outcomes, 'turn.begun', 'turnId') ??
      textIn(outcomes, 'turn.closed', 'turnId') ??
      textIn(outcomes, 'turn.stop', 'turnId') ??
      '';
    return { type, at, turnId, assistantRefusal: code === null || ofSessionItself.includes(code) ? null : code };
  }
  if (kind !== 'key' || type === 'configure') return null;
  if (type !== 'request') return { type, at };
  return codeOf(outcomes) === 'rate_limited' ? null : { type, at, debt: null };
}
