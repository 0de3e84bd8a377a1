import type { SocketContext, SocketEvent } from '../../machines/socket.ts';
import type { Row } from './machine.ts';

const tokenUntil = 1_060_000;
/** Times while the token is good, after its end, and after the session's end. */
const [inTime, spoilt, due] = [1_059_999, tokenUntil, 2_000_000];

const token: SocketContext = { tokenUntil, expiresAt: 2000, reason: null };
const unbound: SocketContext = { ...token, expiresAt: null };
const because = (reason: string | null): Partial<SocketContext> => ({ reason });

const open = (at: number, refusal: string | null = null): SocketEvent => ({ type: 'open', at, refusal });
const speech = (refusal: string | null = null): SocketEvent => ({ type: 'speech', at: inTime, refusal });
const plain = (type: 'silence' | 'finish' | 'done' | 'session.ended' | 'drain' | 'leave'): SocketEvent => ({
  type,
  at: inTime,
});
const tick = (at: number): SocketEvent => ({ type: 'tick', at });
const fault: SocketEvent = { type: 'fault', at: inTime, code: 'voice_unavailable', close: 1011 };

const refused = (code: string) => ({ type: 'refused', code });
const unchanged = { type: 'unchanged' };
const closed = (code: string | null, close: number) =>
  ({ type: 'socket.closed', code, close }) as { type: string; code?: string };

/** Rows common to every state in which the socket is open. */
const whileOpen = (state: 'listening' | 'speaking' | 'finishing'): Row<SocketContext, SocketEvent>[] => [
  // The token is used up, before and after its end, also if another rule would refuse it.
  { from: state, context: token, event: open(inTime), to: state, outcomes: [refused('invalid_token')] },
  {
    from: state,
    context: token,
    event: open(spoilt, 'assistant_disabled'),
    to: state,
    outcomes: [refused('invalid_token')],
  },
  {
    from: state,
    context: token,
    event: plain('session.ended'),
    to: 'closed',
    outcomes: [closed('session_ended', 1008)],
    changes: because('session_ended'),
  },
  // A token's time is for opening it: an open socket lives on.
  { from: state, context: token, event: tick(spoilt), to: state, outcomes: [unchanged] },
  { from: state, context: token, event: tick(due - 1), to: state, outcomes: [unchanged] },
  {
    from: state,
    context: token,
    event: tick(due),
    to: 'closed',
    outcomes: [closed('session_expired', 1008)],
    changes: because('session_expired'),
  },
  { from: state, context: unbound, event: tick(due), to: state, outcomes: [unchanged] },
  {
    from: state,
    context: token,
    event: plain('drain'),
    to: 'closed',
    outcomes: [closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from: state,
    context: token,
    event: fault,
    to: 'closed',
    outcomes: [closed('voice_unavailable', 1011)],
    changes: because('voice_unavailable'),
  },
  { from: state, context: token, event: plain('leave'), to: 'closed', outcomes: [closed(null, 1000)] },
];

/** Only its opening and its time are anything to a token, and nothing is to a socket that is closed. */
const unmoved = (state: 'minted' | 'closed', context: SocketContext): Row<SocketContext, SocketEvent>[] =>
  [
    speech(),
    speech('assistant_disabled'),
    fault,
    ...(['silence', 'finish', 'done', 'session.ended', 'drain', 'leave'] as const).map(plain),
  ].map((event) => ({
    from: state,
    context,
    event,
    to: state,
    outcomes: [unchanged],
  }));

export const socketRows: Row<SocketContext, SocketEvent>[] = [
  { from: 'minted', context: token, event: open(inTime), to: 'listening', outcomes: [{ type: 'socket.opened' }] },
  { from: 'minted', context: unbound, event: open(inTime), to: 'listening', outcomes: [{ type: 'socket.opened' }] },
  // A refusal at the upgrade leaves the token good (contract 8).
  {
    from: 'minted',
    context: token,
    event: open(inTime, 'voice_disabled'),
    to: 'minted',
    outcomes: [refused('voice_disabled')],
  },
  {
    from: 'minted',
    context: token,
    event: open(spoilt),
    to: 'closed',
    outcomes: [refused('invalid_token')],
    changes: because('invalid_token'),
  },
  {
    from: 'minted',
    context: token,
    event: open(spoilt, 'voice_disabled'),
    to: 'closed',
    outcomes: [refused('invalid_token')],
    changes: because('invalid_token'),
  },
  { from: 'minted', context: token, event: tick(inTime), to: 'minted', outcomes: [unchanged] },
  {
    from: 'minted',
    context: token,
    event: tick(spoilt),
    to: 'closed',
    outcomes: [unchanged],
    changes: because('invalid_token'),
  },
  ...unmoved('minted', token),

  { from: 'listening', context: token, event: speech(), to: 'speaking', outcomes: [{ type: 'utterance.begun' }] },
  {
    from: 'listening',
    context: token,
    event: speech('assistant_disabled'),
    to: 'closed',
    outcomes: [closed('assistant_disabled', 1008)],
    changes: because('assistant_disabled'),
  },
  { from: 'listening', context: token, event: plain('silence'), to: 'listening', outcomes: [unchanged] },
  {
    from: 'listening',
    context: token,
    event: plain('finish'),
    to: 'finishing',
    outcomes: [{ type: 'socket.finishing' }],
  },
  { from: 'listening', context: token, event: plain('done'), to: 'listening', outcomes: [unchanged] },
  ...whileOpen('listening'),

  // A continuing utterance is the same one, for any state of the assistant since it began.
  { from: 'speaking', context: token, event: speech(), to: 'speaking', outcomes: [unchanged] },
  {
    from: 'speaking',
    context: token,
    event: speech('assistant_disabled'),
    to: 'closed',
    outcomes: [closed('assistant_disabled', 1008)],
    changes: { reason: 'assistant_disabled' },
  },
  {
    from: 'speaking',
    context: token,
    event: plain('silence'),
    to: 'listening',
    outcomes: [{ type: 'utterance.ended' }],
  },
  {
    from: 'speaking',
    context: token,
    event: plain('finish'),
    to: 'finishing',
    outcomes: [{ type: 'socket.finishing' }],
  },
  { from: 'speaking', context: token, event: plain('done'), to: 'speaking', outcomes: [unchanged] },
  ...whileOpen('speaking'),

  // The finals that are owed are sent, for any state of the assistant.
  { from: 'finishing', context: token, event: speech(), to: 'finishing', outcomes: [unchanged] },
  {
    from: 'finishing',
    context: token,
    event: speech('assistant_disabled'),
    to: 'closed',
    outcomes: [closed('assistant_disabled', 1008)],
    changes: { reason: 'assistant_disabled' },
  },
  { from: 'finishing', context: token, event: plain('silence'), to: 'finishing', outcomes: [unchanged] },
  { from: 'finishing', context: token, event: plain('finish'), to: 'finishing', outcomes: [unchanged] },
  { from: 'finishing', context: token, event: plain('done'), to: 'closed', outcomes: [closed(null, 1000)] },
  ...whileOpen('finishing'),

  ...unmoved('closed', { ...token, reason: 'session_expired' }),
  { from: 'closed', context: token, event: open(inTime), to: 'closed', outcomes: [refused('invalid_token')] },
  { from: 'closed', context: token, event: tick(due), to: 'closed', outcomes: [unchanged] },
];
