/**
 * The attendance of a session (contract 23), which says who answers its visitor: the `assistant`, nobody while the
 * visitor is `waiting` for a person, or a `person`. A person takes an open session from any state and gives it up to the
 * assistant (`return`) or to the next person (`release`). Both other states have a deadline: a visitor waits for a bounded time, and a person must
 * be present. The end of the session ends its attendance, without an event.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const attendanceVersion = versionAfter(migrations);

export interface Attendant {
  readonly id: string;
  readonly name: string;
}

export interface AttendanceContext {
  /** Unix seconds. */
  readonly since: number;
  /** Null unless a person has the session. */
  readonly person: Attendant | null;
  /** The reason that the visitor waits for; null without one. */
  readonly reason: string | null;
  /** The deadline of the wait, or of the person's presence, in milliseconds since the epoch; null for the assistant. */
  readonly untilMs: number | null;
  /**
   * The turn in flight that the last take has silenced; null without one. Kept when the person gives the session up: the
   * turn may not be sealed yet.
   */
  readonly silencedTurnId: string | null;
}

/**
 * Every event has the time at which it happens, in milliseconds since the epoch. `untilMs`: the deadline of the state that
 * follows.
 */
export type AttendanceEvent =
  /** The visitor, a client or the model asks for a person. */
  | { type: 'ask'; at: number; reason: string | null; untilMs: number }
  /** A person takes the session. `turnId`: its turn in flight; null without one. */
  | { type: 'take'; at: number; by: Attendant; untilMs: number; turnId: string | null }
  /** A person sends a message. */
  | { type: 'say'; at: number; by: Attendant }
  | { type: 'return'; at: number; by: Attendant }
  | { type: 'release'; at: number; by: Attendant; untilMs: number }
  /** A deadline may be due. `presentUntilMs`: the time until which the person is known to be present; 0 if it is not. */
  | { type: 'tick'; at: number; presentUntilMs: number; untilMs: number };

export type AttendanceOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  | { type: 'asked' }
  | { type: 'taken' }
  | { type: 'said' }
  | { type: 'returned' }
  | { type: 'released' }
  /** The person stays present. */
  | { type: 'stayed' }
  /** The person is not present any more: the visitor waits for the next one. */
  | { type: 'lost' }
  /** Nobody has taken the session in time. */
  | { type: 'lapsed' };

/** The context of a session that no person has taken, from this Unix second on. */
export const unattended = (since: number): AttendanceContext => ({
  since,
  person: null,
  reason: null,
  untilMs: null,
  silencedTurnId: null,
});

const isDue = ({ untilMs }: AttendanceContext, { at }: AttendanceEvent): boolean => untilMs !== null && at >= untilMs;
/** Whether the person stays present beyond the deadline. */
const isPresent = ({ untilMs }: AttendanceContext, event: AttendanceEvent): boolean =>
  event.type === 'tick' && event.presentUntilMs > Math.max(event.at, untilMs ?? 0);
const hasSession = ({ person }: AttendanceContext, event: AttendanceEvent): boolean =>
  'by' in event && event.by.id === person?.id;

const refused = { actions: 'refuse' } as const;
const unchanged = { actions: 'unchanged' } as const;
const taken = { target: 'person', actions: ['noteTaken', 'announceTaken'] } as const;

export const attendanceMachine = setup({
  types: typesOf<AttendanceContext, AttendanceEvent, AttendanceOutcome, { since: number }>(),
  guards: {
    due: ({ context, event }) => isDue(context, event),
    present: ({ context, event }) => isPresent(context, event),
    hasSession: ({ context, event }) => hasSession(context, event),
  },
  actions: {
    refuse: emit({ type: 'refused', code: 'session_taken' }),
    unchanged: emit({ type: 'unchanged' }),
    noteAsked: assign(({ context, event }) =>
      event.type === 'ask'
        ? {
            ...unattended(Math.floor(event.at / 1000)),
            reason: event.reason,
            untilMs: event.untilMs,
            silencedTurnId: context.silencedTurnId,
          }
        : {},
    ),
    noteTaken: assign(({ context, event }) =>
      event.type === 'take'
        ? {
            ...unattended(Math.floor(event.at / 1000)),
            person: { id: event.by.id, name: event.by.name },
            reason: context.reason,
            untilMs: event.untilMs,
            silencedTurnId: event.turnId,
          }
        : {},
    ),
    noteAssistant: assign(({ context, event }) => ({
      ...unattended(Math.floor(event.at / 1000)),
      silencedTurnId: context.silencedTurnId,
    })),
    noteWaiting: assign(({ context, event }) => ({
      ...unattended(Math.floor(event.at / 1000)),
      silencedTurnId: context.silencedTurnId,
      reason: context.reason,
      untilMs: 'untilMs' in event ? event.untilMs : null,
    })),
    notePresence: assign(({ event }) => (event.type === 'tick' ? { untilMs: event.presentUntilMs } : {})),
    announceAsked: emit({ type: 'asked' }),
    announceTaken: emit({ type: 'taken' }),
    announceSaid: emit({ type: 'said' }),
    announceReturned: emit({ type: 'returned' }),
    announceReleased: emit({ type: 'released' }),
    announceStayed: emit({ type: 'stayed' }),
    announceLost: emit({ type: 'lost' }),
    announceLapsed: emit({ type: 'lapsed' }),
  },
}).createMachine({
  id: 'attendance',
  context: ({ input }) => unattended(input.since),
  initial: 'assistant',
  states: {
    assistant: {
      description: 'The assistant answers.',
      on: {
        ask: { target: 'waiting', actions: ['noteAsked', 'announceAsked'] },
        take: taken,
        say: refused,
        return: refused,
        release: refused,
        tick: unchanged,
      },
    },
    waiting: {
      description: 'The visitor waits for a person.',
      on: {
        ask: unchanged,
        take: taken,
        say: refused,
        return: refused,
        release: refused,
        tick: [{ guard: 'due', target: 'assistant', actions: ['noteAssistant', 'announceLapsed'] }, unchanged],
      },
    },
    person: {
      description: 'A person answers; the assistant is silent.',
      on: {
        ask: unchanged,
        take: [{ guard: 'hasSession', ...unchanged }, refused],
        say: [{ guard: 'hasSession', actions: 'announceSaid' }, refused],
        return: [{ guard: 'hasSession', target: 'assistant', actions: ['noteAssistant', 'announceReturned'] }, refused],
        release: [{ guard: 'hasSession', target: 'waiting', actions: ['noteWaiting', 'announceReleased'] }, refused],
        tick: [
          { guard: 'present', actions: ['notePresence', 'announceStayed'] },
          { guard: 'due', target: 'waiting', actions: ['noteWaiting', 'announceLost'] },
          unchanged,
        ],
      },
    },
  },
});

export const attendanceKind: MachineKind = {
  name: 'attendance',
  machine: attendanceMachine,
  version: attendanceVersion,
  migrations,
};
