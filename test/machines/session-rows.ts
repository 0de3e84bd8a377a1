import type { SessionContext, SessionEvent } from '../../machines/session.ts';
import type { Row } from './machine.ts';

const inTime = 1_999_999;
const due = 2_000_000;
/** The deadline is noticed late; the session expired at it all the same (contract 6). */
const late = 2_005_000;

const open: SessionContext = { expiresAt: 2000, endedAt: null, activeTurnId: null };
const streaming: SessionContext = { ...open, activeTurnId: 'turn_1' };
const ended: SessionContext = { ...open, endedAt: 1000 };
const endedHolding: SessionContext = { ...ended, activeTurnId: 'turn_1' };
const expired: SessionContext = { ...open, endedAt: 2000 };
const expiredHolding: SessionContext = { ...expired, activeTurnId: 'turn_1' };

const chat = (at: number, assistantRefusal: string | null = null): SessionEvent => ({
  type: 'chat',
  at,
  turnId: 'turn_2',
  assistantRefusal,
});
const abort = (at: number, turnId = 'turn_1'): SessionEvent => ({ type: 'abort', at, turnId });
const end = (at: number): SessionEvent => ({ type: 'end', at });
const tick = (at: number): SessionEvent => ({ type: 'tick', at });
const finished = (at: number, turnId = 'turn_1'): SessionEvent => ({ type: 'finished', at, turnId });

const refused = (code: string) => ({ type: 'refused', code });
const unchanged = { type: 'unchanged' };
const begun = { type: 'turn.begun', turnId: 'turn_2' };
const stop = (reason: string) => ({ type: 'turn.stop', turnId: 'turn_1', reason });
const closed = { type: 'turn.closed', turnId: 'turn_1' };
const sessionEnded = { type: 'session.ended' };
const sessionExpired = { type: 'session.expired' };
const atDeadline = { endedAt: 2000 };

export const sessionRows: Row<SessionContext, SessionEvent>[] = [
  {
    from: 'open',
    context: open,
    event: chat(inTime),
    to: 'streaming',
    outcomes: [begun],
    changes: { activeTurnId: 'turn_2' },
  },
  {
    from: 'open',
    context: open,
    event: chat(inTime, 'assistant_disabled'),
    to: 'open',
    outcomes: [refused('assistant_disabled')],
  },
  {
    from: 'open',
    context: open,
    event: chat(due),
    to: 'expired',
    outcomes: [sessionExpired, refused('session_expired')],
    changes: atDeadline,
  },
  // The session's own end comes before the assistant's state (contract 3, step 7).
  {
    from: 'open',
    context: open,
    event: chat(late, 'assistant_disabled'),
    to: 'expired',
    outcomes: [sessionExpired, refused('session_expired')],
    changes: atDeadline,
  },
  { from: 'open', context: open, event: abort(inTime), to: 'open', outcomes: [unchanged] },
  { from: 'open', context: open, event: abort(due), to: 'open', outcomes: [unchanged] },
  {
    from: 'open',
    context: open,
    event: end(inTime),
    to: 'ended',
    outcomes: [sessionEnded],
    changes: { endedAt: 1999 },
  },
  { from: 'open', context: open, event: end(late), to: 'expired', outcomes: [sessionExpired], changes: atDeadline },
  { from: 'open', context: open, event: tick(inTime), to: 'open', outcomes: [unchanged] },
  { from: 'open', context: open, event: tick(due), to: 'expired', outcomes: [sessionExpired], changes: atDeadline },
  { from: 'open', context: open, event: tick(late), to: 'expired', outcomes: [sessionExpired], changes: atDeadline },
  { from: 'open', context: open, event: finished(inTime), to: 'open', outcomes: [unchanged] },

  {
    from: 'streaming',
    context: streaming,
    event: chat(inTime),
    to: 'streaming',
    outcomes: [refused('turn_in_progress')],
  },
  {
    from: 'streaming',
    context: streaming,
    event: chat(inTime, 'assistant_not_published'),
    to: 'streaming',
    outcomes: [refused('assistant_not_published')],
  },
  {
    from: 'streaming',
    context: streaming,
    event: chat(late),
    to: 'expired',
    outcomes: [stop('expired'), sessionExpired, refused('session_expired')],
    changes: atDeadline,
  },
  { from: 'streaming', context: streaming, event: abort(inTime), to: 'streaming', outcomes: [stop('aborted')] },
  { from: 'streaming', context: streaming, event: abort(inTime, 'turn_0'), to: 'streaming', outcomes: [unchanged] },
  // The deadline cuts the turn, not the request that comes after it (contract 6).
  {
    from: 'streaming',
    context: streaming,
    event: abort(late),
    to: 'expired',
    outcomes: [stop('expired'), sessionExpired],
    changes: atDeadline,
  },
  {
    from: 'streaming',
    context: streaming,
    event: end(inTime),
    to: 'ended',
    outcomes: [stop('aborted'), sessionEnded],
    changes: { endedAt: 1999 },
  },
  {
    from: 'streaming',
    context: streaming,
    event: end(late),
    to: 'expired',
    outcomes: [stop('expired'), sessionExpired],
    changes: atDeadline,
  },
  { from: 'streaming', context: streaming, event: tick(inTime), to: 'streaming', outcomes: [unchanged] },
  {
    from: 'streaming',
    context: streaming,
    event: tick(due),
    to: 'expired',
    outcomes: [stop('expired'), sessionExpired],
    changes: atDeadline,
  },
  {
    from: 'streaming',
    context: streaming,
    event: tick(late),
    to: 'expired',
    outcomes: [stop('expired'), sessionExpired],
    changes: atDeadline,
  },
  {
    from: 'streaming',
    context: streaming,
    event: finished(inTime),
    to: 'open',
    outcomes: [closed],
    changes: { activeTurnId: null },
  },
  {
    from: 'streaming',
    context: streaming,
    event: finished(late),
    to: 'expired',
    outcomes: [closed, sessionExpired],
    changes: { ...atDeadline, activeTurnId: null },
  },
  { from: 'streaming', context: streaming, event: finished(inTime, 'turn_0'), to: 'streaming', outcomes: [unchanged] },
  { from: 'streaming', context: streaming, event: finished(due, 'turn_0'), to: 'streaming', outcomes: [unchanged] },

  ...(['ended', 'expired'] as const).flatMap((state): Row<SessionContext, SessionEvent>[] => {
    const idle = state === 'ended' ? ended : expired;
    const holding = state === 'ended' ? endedHolding : expiredHolding;
    const at = state === 'ended' ? inTime : due;
    return [
      { from: state, context: idle, event: chat(at), to: state, outcomes: [refused(`session_${state}`)] },
      {
        from: state,
        context: idle,
        event: chat(at, 'assistant_disabled'),
        to: state,
        outcomes: [refused(`session_${state}`)],
      },
      { from: state, context: holding, event: chat(at), to: state, outcomes: [refused(`session_${state}`)] },
      { from: state, context: holding, event: abort(at), to: state, outcomes: [unchanged] },
      { from: state, context: idle, event: end(at), to: state, outcomes: [unchanged] },
      { from: state, context: idle, event: tick(due + 1), to: state, outcomes: [unchanged] },
      {
        from: state,
        context: holding,
        event: finished(at),
        to: state,
        outcomes: [closed],
        changes: { activeTurnId: null },
      },
      { from: state, context: holding, event: finished(at, 'turn_0'), to: state, outcomes: [unchanged] },
      { from: state, context: idle, event: finished(at), to: state, outcomes: [unchanged] },
    ];
  }),
];
