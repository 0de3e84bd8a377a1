/** The events that moved a turn's machine. The step that ends the turn stores them with its session's history (P23). */
import {
  begunTurn,
  completions,
  turnKind,
  turnVersion,
  type NewTurn,
  type TurnEnding,
  type TurnEvent,
  type TurnOutcome,
} from '../../machines/turn.ts';
import { openActor } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { Inspector, type Decision } from '../actors/inspector.ts';
import { limits } from '../base/limits.ts';
import type { Cause, Move, TurnPast } from '../store/store.ts';

/** The events of a running turn. */
export class TurnEventLog {
  readonly turnId: string;
  readonly version = turnVersion;
  readonly runsUntil: number;
  readonly shared: boolean;
  readonly spoken: boolean;
  readonly fallbacks: number;
  readonly events: TurnEvent[] = [];
  /** The cause of the stop; `nobody` without a stop. */
  stoppedBy = nobody;

  constructor(turnId: string, { runsUntil, shared, spoken = false, fallbacks = 0 }: NewTurn) {
    this.turnId = turnId;
    this.runsUntil = runsUntil;
    this.shared = shared;
    this.spoken = spoken;
    this.fallbacks = fallbacks;
  }

  /** The events so far, for a step that stores them. */
  past(): TurnPast {
    const { turnId, version, runsUntil, shared, spoken, fallbacks, events, stoppedBy } = this;
    return {
      turnId,
      version,
      runsUntil,
      shared,
      events: events.slice(),
      stoppedBy,
      ...(spoken && { spoken }),
      ...(fallbacks > 0 && { fallbacks }),
    };
  }

  /**
   * Keeps an event that changed something; true if it is a new step. An end that the store rejects repeatedly, for the
   * same fault, is one step.
   */
  note(event: TurnEvent, moved: boolean): boolean {
    const { events } = this;
    if (!moved && isRepeat(events.at(-1), event)) return false;
    if (events.length < limits.turnEventsKept) events.push(event);
    return true;
  }
}

const isRepeat = (one: TurnEvent | undefined, other: TurnEvent): boolean =>
  one?.type === 'unsealed' &&
  other.type === 'unsealed' &&
  one.fault === other.fault &&
  one.certain === other.certain &&
  one.last === other.last;

/** Events that no request causes. */
const ofItself: ReadonlySet<TurnEvent['type']> = new Set(['tick', 'lease.lost', 'fenced', 'taken', 'fate']);

/**
 * The cause of a turn's step. The chat is the cause of the turn's normal steps and its end; a request that stops the
 * turn is the cause of its end from then on. A deadline, a lease and a drain have no cause. `ending`: the end that is
 * being stored at the step, null before.
 */
export function causeOf(type: TurnEvent['type'], ending: TurnEnding | null, chat: Cause, stop: Cause): Cause {
  if (type === 'stop') return stop;
  if (ofItself.has(type)) return nobody;
  if (ending === null || completions.has(ending) || ending === 'provider' || ending === 'voice') return chat;
  return ending === 'aborted' || ending === 'taken' ? stop : nobody;
}

const unwatched = new Inspector();

/**
 * The decisions of the turn's machine, replayed from its events, and the step that the session's step has stored, if it
 * is given. Empty if a later version of the machine has run the turn. A turn of an earlier version is replayed by this
 * one.
 */
export function pastOf(past: TurnPast, stored: Pick<Move, 'atMs'> | null): Decision<TurnEvent, TurnOutcome>[] {
  if (past.version > turnVersion) return [];
  const identity = { kind: 'turn', id: past.turnId, workspaceId: '' } as const;
  const machine = openActor<TurnEvent, TurnOutcome>(
    turnKind,
    { snapshot: { version: turnVersion, state: 'waiting', context: begunTurn(past) } },
    identity,
    unwatched,
  );
  const decisions = past.events.map((event) => machine.decide(event as TurnEvent));
  const last = stored === null ? null : storedEndEvent(machine.state, stored.atMs);
  return last === null ? decisions : [...decisions, machine.decide(last)];
}

function storedEndEvent(state: string, at: number): TurnEvent | null {
  if (state === 'sealing') return { type: 'sealed', at };
  return state === 'withdrawing' ? { type: 'withdrawn', at, stored: true } : null;
}
