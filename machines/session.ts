/**
 * A session: one conversation with one assistant (contract 6).
 *
 * `open` takes turns, `streaming` has one in flight, `ended` was closed, `expired` ran past its seconds. If a turn is
 * in flight when the session ends or expires, the machine emits a stop for it; until the turn is sealed or withdrawn,
 * `activeTurnId` still names it.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const sessionVersion = versionAfter(migrations);

export interface SessionContext {
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly endedAt: number | null;
  readonly activeTurnId: string | null;
}

/** Every event has the time at which it happens, in milliseconds since the epoch. */
export type SessionEvent =
  /** A message arrives. `assistantRefusal`: the refusal of the assistant's machine to `converse`, or null. */
  | { type: 'chat'; at: number; turnId: string; assistantRefusal: string | null }
  | { type: 'abort'; at: number; turnId: string }
  | { type: 'end'; at: number }
  /** A deadline may be due. */
  | { type: 'tick'; at: number }
  /** The turn is sealed, or withdrawn before its first output. */
  | { type: 'finished'; at: number; turnId: string };

export type SessionOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  | { type: 'turn.begun'; turnId: string }
  | { type: 'turn.stop'; turnId: string; reason: 'aborted' | 'expired' }
  | { type: 'turn.closed'; turnId: string }
  | { type: 'session.ended' }
  | { type: 'session.expired' };

/** The context of a new session. */
export const openedSession = (expiresAt: number): SessionContext => ({ expiresAt, endedAt: null, activeTurnId: null });

const isOverdue = (context: SessionContext, event: SessionEvent): boolean => event.at >= context.expiresAt * 1000;

const namesActiveTurn = (context: SessionContext, event: SessionEvent): boolean =>
  'turnId' in event && event.turnId === context.activeTurnId;

export const sessionMachine = setup({
  types: typesOf<SessionContext, SessionEvent, SessionOutcome, { expiresAt: number }>(),
  guards: {
    overdue: ({ context, event }) => isOverdue(context, event),
    assistantRefuses: ({ event }) => event.type === 'chat' && event.assistantRefusal !== null,
    isActiveTurn: ({ context, event }) => namesActiveTurn(context, event),
    isActiveTurnOverdue: ({ context, event }) => namesActiveTurn(context, event) && isOverdue(context, event),
  },
  actions: {
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    refuseForAssistant: emit(({ event }) => ({
      type: 'refused' as const,
      code: event.type === 'chat' && event.assistantRefusal !== null ? event.assistantRefusal : 'api_error',
    })),
    unchanged: emit({ type: 'unchanged' }),
    takeTurn: assign(({ event }) => (event.type === 'chat' ? { activeTurnId: event.turnId } : {})),
    announceTurn: emit(({ context }) => ({ type: 'turn.begun' as const, turnId: context.activeTurnId! })),
    stopTurn: emit(({ context }, { reason }: { reason: 'aborted' | 'expired' }) => ({
      type: 'turn.stop' as const,
      turnId: context.activeTurnId!,
      reason,
    })),
    announceClosed: emit(({ context }) => ({ type: 'turn.closed' as const, turnId: context.activeTurnId! })),
    dropTurn: assign({ activeTurnId: null }),
    endNow: assign(({ event }) => ({ endedAt: Math.floor(event.at / 1000) })),
    // A session expires at its deadline, however late a process notices (contract 6).
    endAtDeadline: assign(({ context }) => ({ endedAt: context.expiresAt })),
    announceEnded: emit({ type: 'session.ended' }),
    announceExpired: emit({ type: 'session.expired' }),
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => openedSession(input.expiresAt),
  initial: 'open',
  states: {
    open: {
      description: 'Accepts turns.',
      on: {
        chat: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['endAtDeadline', 'announceExpired', { type: 'refuse', params: { code: 'session_expired' } }],
          },
          { guard: 'assistantRefuses', actions: 'refuseForAssistant' },
          { target: 'streaming', actions: ['takeTurn', 'announceTurn'] },
        ],
        abort: { actions: 'unchanged' },
        end: [
          { guard: 'overdue', target: 'expired', actions: ['endAtDeadline', 'announceExpired'] },
          { target: 'ended', actions: ['endNow', 'announceEnded'] },
        ],
        tick: [
          { guard: 'overdue', target: 'expired', actions: ['endAtDeadline', 'announceExpired'] },
          { actions: 'unchanged' },
        ],
        finished: { actions: 'unchanged' },
      },
    },
    streaming: {
      description: 'One turn is in flight.',
      on: {
        chat: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: [
              'endAtDeadline',
              { type: 'stopTurn', params: { reason: 'expired' } },
              'announceExpired',
              { type: 'refuse', params: { code: 'session_expired' } },
            ],
          },
          { guard: 'assistantRefuses', actions: 'refuseForAssistant' },
          { actions: { type: 'refuse', params: { code: 'turn_in_progress' } } },
        ],
        abort: [
          // The deadline cuts the turn at the first event after it, whichever that is (contract 6).
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['endAtDeadline', { type: 'stopTurn', params: { reason: 'expired' } }, 'announceExpired'],
          },
          { guard: 'isActiveTurn', actions: { type: 'stopTurn', params: { reason: 'aborted' } } },
          { actions: 'unchanged' },
        ],
        end: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['endAtDeadline', { type: 'stopTurn', params: { reason: 'expired' } }, 'announceExpired'],
          },
          {
            target: 'ended',
            actions: ['endNow', { type: 'stopTurn', params: { reason: 'aborted' } }, 'announceEnded'],
          },
        ],
        tick: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['endAtDeadline', { type: 'stopTurn', params: { reason: 'expired' } }, 'announceExpired'],
          },
          { actions: 'unchanged' },
        ],
        finished: [
          // If a turn is sealed after the deadline, as an orphan is, the session must not look open.
          {
            guard: 'isActiveTurnOverdue',
            target: 'expired',
            actions: ['announceClosed', 'dropTurn', 'endAtDeadline', 'announceExpired'],
          },
          { guard: 'isActiveTurn', target: 'open', actions: ['announceClosed', 'dropTurn'] },
          { actions: 'unchanged' },
        ],
      },
    },
    ended: {
      description: 'Tombstone of a conversation that was closed.',
      on: {
        chat: { actions: { type: 'refuse', params: { code: 'session_ended' } } },
        abort: { actions: 'unchanged' },
        end: { actions: 'unchanged' },
        tick: { actions: 'unchanged' },
        finished: [{ guard: 'isActiveTurn', actions: ['announceClosed', 'dropTurn'] }, { actions: 'unchanged' }],
      },
    },
    expired: {
      description: 'Tombstone of a conversation that ran past its seconds.',
      on: {
        chat: { actions: { type: 'refuse', params: { code: 'session_expired' } } },
        abort: { actions: 'unchanged' },
        end: { actions: 'unchanged' },
        tick: { actions: 'unchanged' },
        finished: [{ guard: 'isActiveTurn', actions: ['announceClosed', 'dropTurn'] }, { actions: 'unchanged' }],
      },
    },
  },
});

export const sessionKind: MachineKind = {
  name: 'session',
  machine: sessionMachine,
  version: sessionVersion,
  migrations,
};
