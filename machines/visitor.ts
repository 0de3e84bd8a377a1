/**
 * A visitor of an assistant's public link or widget (contract 9): whether a place is taken and minutes are counted. The
 * store's atomic step decides what a limit lets through, as with a key's budgets; the machine receives the verdict.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const visitorVersion = versionAfter(migrations);

/**
 * The reason why a message was refused: the limit, and when it may let the next one pass, in milliseconds since the
 * epoch.
 */
export interface LimitRefusal {
  readonly limit: string;
  readonly until: number;
}

export interface VisitorContext {
  /** The end of the visitor's last clock, in milliseconds since the epoch. */
  readonly clockUntil: number;
  /** Null unless a limit refused the last message. */
  readonly refusal: LimitRefusal | null;
}

/**
 * Every event has the time at which it happens, in milliseconds since the epoch. `clockUntil`: as in the context, after
 * the event.
 */
export type VisitorEvent =
  | { type: 'message'; at: number; refusal: LimitRefusal | null; clockUntil: number }
  /** A reply has ended, in any way. */
  | { type: 'sealed'; at: number; clockUntil: number }
  /** The visitor has ended the last session whose clock ran. */
  | { type: 'left'; at: number }
  /** A clock may have run out, or a refusal have expired. */
  | { type: 'tick'; at: number };

export type VisitorOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  | { type: 'accepted' }
  | { type: 'visitor.arrived' }
  | { type: 'visitor.limited' }
  | { type: 'visitor.recovered' }
  | { type: 'visitor.left' };

/** The context of a visitor who has sent nothing yet. */
export const newVisitor = (): VisitorContext => ({ clockUntil: 0, refusal: null });

const clockOf = (event: VisitorEvent, context: VisitorContext): number =>
  'clockUntil' in event ? event.clockUntil : context.clockUntil;

export const visitorMachine = setup({
  types: typesOf<VisitorContext, VisitorEvent, VisitorOutcome>(),
  guards: {
    refused: ({ event }) => event.type === 'message' && event.refusal !== null,
    clockRuns: ({ context, event }) => context.clockUntil > event.at,
    clockRanOut: ({ context, event }) => context.clockUntil <= event.at,
    refusalLasts: ({ context, event }) => context.refusal !== null && context.refusal.until > event.at,
    runsOn: ({ event }) => 'clockUntil' in event && event.clockUntil > event.at,
  },
  actions: {
    setClock: assign(({ context, event }) => ({ clockUntil: clockOf(event, context) })),
    stopClock: assign(({ event }) => ({ clockUntil: event.at })),
    noteRefusal: assign(({ event }) => ({ refusal: event.type === 'message' ? event.refusal : null })),
    clearRefusal: assign({ refusal: null }),
    refuse: emit({ type: 'refused', code: 'rate_limited' }),
    accept: emit({ type: 'accepted' }),
    unchanged: emit({ type: 'unchanged' }),
    arrived: emit({ type: 'visitor.arrived' }),
    limited: emit({ type: 'visitor.limited' }),
    recovered: emit({ type: 'visitor.recovered' }),
    left: emit({ type: 'visitor.left' }),
  },
}).createMachine({
  id: 'visitor',
  context: newVisitor,
  initial: 'away',
  states: {
    away: {
      description: 'Not in conversation; costs no minutes and has no place.',
      on: {
        message: [
          { guard: 'refused', target: 'limited', actions: ['noteRefusal', 'limited', 'refuse'] },
          { target: 'present', actions: ['setClock', 'arrived', 'accept'] },
        ],
        sealed: [{ guard: 'runsOn', target: 'present', actions: ['setClock', 'arrived'] }, { actions: 'unchanged' }],
        left: { actions: 'unchanged' },
        tick: { actions: 'unchanged' },
      },
    },
    present: {
      description: 'In conversation; a clock runs and a place is taken.',
      on: {
        message: [
          { guard: 'refused', target: 'limited', actions: ['noteRefusal', 'limited', 'refuse'] },
          { actions: ['setClock', 'accept'] },
        ],
        sealed: [
          { guard: 'runsOn', actions: ['setClock', 'unchanged'] },
          { target: 'away', actions: ['setClock', 'left'] },
        ],
        left: { target: 'away', actions: ['stopClock', 'left'] },
        tick: [
          { guard: 'clockRuns', actions: 'unchanged' },
          { target: 'away', actions: 'left' },
        ],
      },
    },
    limited: {
      description: 'A limit refused the last message; a clock may still run.',
      on: {
        message: [
          { guard: 'refused', actions: ['noteRefusal', 'refuse'] },
          { target: 'present', actions: ['clearRefusal', 'setClock', 'recovered', 'accept'] },
        ],
        sealed: { actions: ['setClock', 'unchanged'] },
        left: { target: 'away', actions: ['clearRefusal', 'stopClock', 'left'] },
        tick: [
          { guard: 'refusalLasts', actions: 'unchanged' },
          { guard: 'clockRanOut', target: 'away', actions: ['clearRefusal', 'recovered', 'left'] },
          { target: 'present', actions: ['clearRefusal', 'recovered'] },
        ],
      },
    },
  },
});

export const visitorKind: MachineKind = {
  name: 'visitor',
  machine: visitorMachine,
  version: visitorVersion,
  migrations,
};
