/**
 * A transcription socket, from its token to its close (contract 8).
 *
 * `minted` is a token that no socket has opened yet. The socket is open in `listening`, `speaking` and `finishing`, and
 * `closed` for one reason: the code of the `error` that was sent before, or null after `done` or when the client left.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const socketVersion = versionAfter(migrations);

export interface SocketContext {
  /** Milliseconds since the epoch at which the token can no longer be opened. */
  readonly tokenUntil: number;
  /** Unix seconds at which the session expires that the socket belongs to; null without a session. */
  readonly expiresAt: number | null;
  /** The error code that it was closed with; null while it is open, and where no error closed it. */
  readonly reason: string | null;
}

/** Every event has the time at which it happens, in milliseconds since the epoch. */
export type SocketEvent =
  /**
   * The token's holder opens the socket. `refusal`: the reason why the assistant or the session rejects it, or null.
   */
  | { type: 'open'; at: number; refusal: string | null }
  /** Speech begins. `refusal`: the reason why the assistant no longer listens, or null. */
  | { type: 'speech'; at: number; refusal: string | null }
  /** The utterance ended. */
  | { type: 'silence'; at: number }
  /** No more audio will come. */
  | { type: 'finish'; at: number }
  /** The last final was sent. */
  | { type: 'done'; at: number }
  | { type: 'session.ended'; at: number }
  /** A deadline may be due. */
  | { type: 'tick'; at: number }
  | { type: 'drain'; at: number }
  /** The client broke a rule, or the server failed it: `code` is the error that is sent, `close` the close code. */
  | { type: 'fault'; at: number; code: string; close: number }
  /** The connection is closed. */
  | { type: 'leave'; at: number };

export type SocketOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  | { type: 'socket.opened' }
  | { type: 'utterance.begun' }
  | { type: 'utterance.ended' }
  | { type: 'socket.finishing' }
  /** `code`: the error to send before the close code; null if none is due. */
  | { type: 'socket.closed'; code: string | null; close: number };

/** The context of a token that was just minted. */
export const mintedSocket = (tokenUntil: number, expiresAt: number | null): SocketContext => ({
  tokenUntil,
  expiresAt,
  reason: null,
});

const [normal, refused, restart] = [1000, 1008, 1012];

const isOverdue = ({ expiresAt }: SocketContext, { at }: SocketEvent): boolean =>
  expiresAt !== null && at >= expiresAt * 1000;

/** The transitions that the states of an open socket share, in speech and in silence. */
const whileOpen = {
  open: { actions: { type: 'refuse', params: { code: 'invalid_token' } } },
  'session.ended': {
    target: 'closed',
    actions: [
      { type: 'noteReason', params: { code: 'session_ended' } },
      { type: 'close', params: { code: 'session_ended', close: refused } },
    ],
  },
  tick: [
    {
      guard: 'overdue',
      target: 'closed',
      actions: [
        { type: 'noteReason', params: { code: 'session_expired' } },
        { type: 'close', params: { code: 'session_expired', close: refused } },
      ],
    },
    { actions: 'unchanged' },
  ],
  drain: {
    target: 'closed',
    actions: [
      { type: 'noteReason', params: { code: 'api_error' } },
      { type: 'close', params: { code: 'api_error', close: restart } },
    ],
  },
  fault: { target: 'closed', actions: ['noteFault', 'closeForFault'] },
  leave: { target: 'closed', actions: 'left' },
} as const;

/** Only the deadline moves a token, and no event moves a closed socket. */
const unmoved = {
  speech: { actions: 'unchanged' },
  silence: { actions: 'unchanged' },
  finish: { actions: 'unchanged' },
  done: { actions: 'unchanged' },
  'session.ended': { actions: 'unchanged' },
  drain: { actions: 'unchanged' },
  fault: { actions: 'unchanged' },
  leave: { actions: 'unchanged' },
} as const;

export const socketMachine = setup({
  types: typesOf<SocketContext, SocketEvent, SocketOutcome, { tokenUntil: number; expiresAt: number | null }>(),
  guards: {
    tokenOverdue: ({ context, event }) => event.at >= context.tokenUntil,
    overdue: ({ context, event }) => isOverdue(context, event),
    refusing: ({ event }) => (event.type === 'open' || event.type === 'speech') && event.refusal !== null,
  },
  actions: {
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    refuseAsSaid: emit(({ event }) => ({
      type: 'refused' as const,
      code: 'refusal' in event ? (event.refusal ?? 'api_error') : 'api_error',
    })),
    unchanged: emit({ type: 'unchanged' }),
    opened: emit({ type: 'socket.opened' }),
    begun: emit({ type: 'utterance.begun' }),
    ended: emit({ type: 'utterance.ended' }),
    finishing: emit({ type: 'socket.finishing' }),
    noteReason: assign((_, { code }: { code: string }) => ({ reason: code })),
    close: emit((_, { code, close }: { code: string; close: number }) => ({
      type: 'socket.closed' as const,
      code,
      close,
    })),
    noteRefusal: assign(({ event }) => ({ reason: 'refusal' in event ? event.refusal : null })),
    closeForRefusal: emit(({ event }) => ({
      type: 'socket.closed' as const,
      code: 'refusal' in event ? event.refusal : null,
      close: refused,
    })),
    noteFault: assign(({ event }) => ({ reason: 'code' in event ? event.code : null })),
    closeForFault: emit(({ event }) => ({
      type: 'socket.closed' as const,
      code: 'code' in event ? event.code : null,
      close: 'close' in event ? event.close : refused,
    })),
    finished: emit({ type: 'socket.closed', code: null, close: normal }),
    left: emit({ type: 'socket.closed', code: null, close: normal }),
  },
}).createMachine({
  id: 'socket',
  context: ({ input }) => mintedSocket(input.tokenUntil, input.expiresAt),
  initial: 'minted',
  states: {
    minted: {
      description: 'A token, good for one socket.',
      on: {
        ...unmoved,
        open: [
          {
            guard: 'tokenOverdue',
            target: 'closed',
            actions: [
              { type: 'noteReason', params: { code: 'invalid_token' } },
              { type: 'refuse', params: { code: 'invalid_token' } },
            ],
          },
          { guard: 'refusing', actions: 'refuseAsSaid' },
          { target: 'listening', actions: 'opened' },
        ],
        tick: [
          {
            guard: 'tokenOverdue',
            target: 'closed',
            actions: [{ type: 'noteReason', params: { code: 'invalid_token' } }, 'unchanged'],
          },
          { actions: 'unchanged' },
        ],
      },
    },
    listening: {
      description: 'Open; nobody speaks.',
      on: {
        ...whileOpen,
        speech: [
          { guard: 'refusing', target: 'closed', actions: ['noteRefusal', 'closeForRefusal'] },
          { target: 'speaking', actions: 'begun' },
        ],
        silence: { actions: 'unchanged' },
        finish: { target: 'finishing', actions: 'finishing' },
        done: { actions: 'unchanged' },
      },
    },
    speaking: {
      description: 'Open; an utterance is under way.',
      on: {
        ...whileOpen,
        speech: [
          { guard: 'refusing', target: 'closed', actions: ['noteRefusal', 'closeForRefusal'] },
          { actions: 'unchanged' },
        ],
        silence: { target: 'listening', actions: 'ended' },
        finish: { target: 'finishing', actions: 'finishing' },
        done: { actions: 'unchanged' },
      },
    },
    finishing: {
      description: 'Open; takes no more audio, and owes the last finals.',
      on: {
        ...whileOpen,
        // Audio that came before the end may still be looked at.
        speech: [
          { guard: 'refusing', target: 'closed', actions: ['noteRefusal', 'closeForRefusal'] },
          { actions: 'unchanged' },
        ],
        silence: { actions: 'unchanged' },
        finish: { actions: 'unchanged' },
        done: { target: 'closed', actions: 'finished' },
      },
    },
    closed: {
      description: 'Over; its token opens no other socket.',
      on: {
        ...unmoved,
        open: { actions: { type: 'refuse', params: { code: 'invalid_token' } } },
        tick: { actions: 'unchanged' },
      },
    },
  },
});

export const socketKind: MachineKind = { name: 'socket', machine: socketMachine, version: socketVersion, migrations };
