/** An actor's past: what moved it and what it refused, from the server's history and from what happens meanwhile. */
import type { ActorKind } from '../../../machines/all.ts';
import type { Cause, Emitted, FeedEvent, HistoryRow } from '../types.ts';
import { decide, type AnyEvent, type Standing } from './copy.ts';

export interface Step {
  /** Names it in the address: `16`, and for the refusals that followed that step `16r1`, `16r2`. */
  readonly id: string;
  readonly seq: number;
  /** Milliseconds. */
  readonly at: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly outcomes: readonly Emitted[];
  readonly refused: boolean;
  readonly requestId: string | null;
  readonly by: Cause | null;
  /** How many equal refusals it stands for. */
  readonly count: number;
  /** After it, if the server has told; else it is folded. */
  readonly context?: unknown;
}

export const codeOf = (outcomes: readonly Emitted[]): string | null => outcomes.find(({ type }) => type === 'refused')?.code ?? null;

type Unnamed = Omit<Step, 'id'>;

export const stepOfRow = ({ at, request_id, ...row }: HistoryRow): Unnamed => ({ ...row, at: at * 1000, requestId: request_id });

export const stepOfEvent = ({ seq, at, event, from, to, outcomes, refused, request_id, by, context }: FeedEvent): Unnamed => ({
  ...{ seq, at, event: event.type, from, to, outcomes, by, context, refused },
  requestId: request_id,
  count: 1,
});

/** Adds a step behind those that there are. A committed one that is known already is left out; an equal refusal counts the last one up. */
export function withStep(steps: readonly Step[], step: Unnamed): readonly Step[] {
  const last = steps.at(-1);
  // What a refusal did commit, as a deadline that was due, has a number of its own.
  const committed = !step.refused || step.from !== step.to;
  if (committed) {
    if (last !== undefined && step.seq <= last.seq) return steps;
    return [...steps, { ...step, id: String(step.seq) }];
  }
  const equal = last !== undefined && last.refused && last.from === last.to && last.seq === step.seq && last.event === step.event && codeOf(last.outcomes) === codeOf(step.outcomes);
  if (equal) return steps.with(-1, { ...step, id: last.id, count: last.count + step.count });
  const before = steps.filter(({ seq, refused, from, to }) => seq === step.seq && refused && from === to).length;
  return [...steps, { ...step, id: `${step.seq}r${before + 1}` }];
}

export const stepsOf = (rows: readonly HistoryRow[]): readonly Step[] => rows.map(stepOfRow).reduce(withStep, [] as readonly Step[]);

/** What is known of an actor beside its history. */
export interface Subject {
  readonly expiresAt: number | null;
  readonly endedAt: number | null;
}

/**
 * The context after each step: the server's word where it came with the step, else the fold of the machine over what came before. Null
 * from where an event brought what the history does not keep, or where a machine of another version decided.
 */
export function contextsOf(kind: ActorKind, steps: readonly Step[], subject: Subject): unknown[] {
  let context: unknown = begun(kind, steps[0], subject);
  return steps.map((step) => {
    if (step.context !== undefined) return (context = step.context);
    const event = context === null ? null : eventOf(kind, step);
    if (event === null) return (context = null);
    return (context = folded(kind, { state: step.from, context }, step, event));
  });
}

function folded(kind: ActorKind, standing: Standing, step: Step, event: AnyEvent): unknown {
  try {
    const decision = decide(kind, standing, event);
    return decision.state === step.to ? decision.context : null;
  } catch {
    return null;
  }
}

/** The context before the first step that is known. */
export function begun(kind: ActorKind, first: Step | undefined, { expiresAt }: Subject): unknown {
  if (kind === 'session') return first?.from === 'streaming' ? null : { expiresAt: expiresAt ?? 0, endedAt: null, activeTurnId: null };
  if (kind === 'assistant') return null;
  if (kind === 'key') return first === undefined || first.from === 'active' ? { expiresAt, revokedAt: null, debt: null } : null;
  return null;
}

const textIn = (outcomes: readonly Emitted[], type: string, field: string): string | null => {
  const found = outcomes.find((outcome) => outcome.type === type)?.[field];
  return typeof found === 'string' ? found : null;
};

const ofSessionItself = ['session_ended', 'session_expired', 'turn_in_progress'];

/** The event of a step, as far as its row tells; null if it does not. */
function eventOf(kind: ActorKind, { event: type, at, outcomes }: Step): AnyEvent | null {
  if (kind === 'session') {
    const code = codeOf(outcomes);
    const turnId = textIn(outcomes, 'turn.begun', 'turnId') ?? textIn(outcomes, 'turn.closed', 'turnId') ?? textIn(outcomes, 'turn.stop', 'turnId') ?? '';
    return { type, at, turnId, assistantRefusal: code === null || ofSessionItself.includes(code) ? null : code };
  }
  if (kind !== 'key' || type === 'configure') return null;
  if (type !== 'request') return { type, at };
  return codeOf(outcomes) === 'rate_limited' ? null : { type, at, debt: null };
}
