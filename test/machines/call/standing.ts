/** Contexts, events and outcomes of the call in its table, and the rows that several states share. */
import { mintedCall, type CallContext, type CallEvent, type CutBy, type Ignored } from '../../../machines/call.ts';
import type { Row } from '../machine.ts';

export type CallRow = Row<CallContext, CallEvent>;
export const tokenUntil = 1_060_000;
/** A time before the token expires, the token's expiry, and the session's. */
export const [at, spoilt, due] = [1_000_000, tokenUntil, 2_000_000];
export const token = mintedCall({ tokenUntil, expiresAt: 2000 });
export const open: CallContext = { ...token, turn: 'none' };
export const asked: CallContext = { ...open, turn: 'asked', asked: 1 };
export const beginning: CallContext = { ...open, turn: 'beginning', until: at + 10_000 };
export const begun: CallContext = { ...open, turn: 'begun', replyUntil: at + 30_000 };
export const held: CallContext = { ...begun, decideUntil: at + 1000 };
export const busy: CallContext = { ...open, until: at + 600_000 };
export const drainingTurn: CallContext = { ...begun, drainUntil: at + 30_000 };
export const standing: Readonly<Record<string, CallContext>> = {
  minted: token,
  listening: open,
  hearing: open,
  thinking: begun,
  held,
  speaking: begun,
  paused: held,
  busy,
  draining: drainingTurn,
  closed: { ...token, reason: 'hangup' },
};
/** The fields of a context without a turn. */
export const cleared = {
  turn: 'none',
  until: null,
  replyUntil: null,
  playUntil: null,
  decideUntil: null,
  failing: null,
} as const;
export const because = (reason: string | null) => ({ ...cleared, reason });
export const opens = (when: number, refusal: string | null = null, greets = false): CallEvent => ({
  type: 'open',
  at: when,
  refusal,
  greets,
  bargeIn: 'voice',
});
export const plain = <T extends CallEvent['type']>(type: T): CallEvent => ({ type, at }) as CallEvent;
export const configure: CallEvent = { type: 'configure', at, bargeIn: 'off' };
export const said = (kept: boolean): CallEvent => ({ type: 'said', at, kept });
export const unsaid = (ignored: Ignored): CallEvent => ({ type: 'unsaid', at, ignored });
export const refused: CallEvent = { type: 'refused', at, code: 'api_error' };
export const failed = (code: string): CallEvent => ({ type: 'failed', at, code });
export const sentence = (last: boolean): CallEvent => ({ type: 'sentence', at, last });
export const isDue = (yes: boolean): CallEvent => ({ type: 'due', at, due: yes });
export const fault: CallEvent = { type: 'fault', at, code: 'invalid_request', close: 1008 };
export const tick = (when: number): CallEvent => ({ type: 'tick', at: when });
export const elsewhere = { type: 'elsewhere', at, owed: false, typed: false } as const;
export const full = (when: number): CallEvent => ({ type: 'full', at: when });
export const unchanged = { type: 'unchanged' };
export const says = (type: string) => ({ type });
export const cut = (reason: CutBy) => ({ type: 'turn.cut', reason });
export const closed = (code: string | null, close: number) =>
  ({ type: 'call.closed', code, close }) as { type: string; code?: string };
export const refuses = (code: string) => ({ type: 'refused', code });
export const turnFailed = (code: string) => ({ type: 'turn.failed', code });
export const [begin, withdraw, clear, resume, stop] = [
  'turn.begin',
  'turn.withdraw',
  'audio.clear',
  'audio.resume',
  'reply.stop',
].map(says) as [{ type: string }, { type: string }, { type: string }, { type: string }, { type: string }];
export const beginningNow = {
  turn: 'beginning',
  asked: 0,
  owed: false,
  until: at + 10_000,
  replyUntil: null,
  failing: null,
} as const;
/** The ends that every open state shares; a turn under way is sealed before. */
export const ends = (from: string): CallRow[] => [
  { from, context: standing[from]!, event: opens(at), to: from, outcomes: [refuses('invalid_token')] },
  { from, context: standing[from]!, event: configure, to: from, outcomes: [unchanged], changes: { bargeIn: 'off' } },
  ...(
    [
      [begun, true],
      [open, false],
    ] as const
  ).flatMap(([context, has]): CallRow[] => {
    const sealed = (reason: CutBy) => (has ? [cut(reason)] : []);
    const changes = (reason: string | null) => (has ? because(reason) : { reason });
    return [
      {
        from,
        context,
        event: plain('session.ended'),
        to: 'closed',
        outcomes: [...sealed('none'), closed('session_ended', 1008)],
        changes: changes('session_ended'),
      },
      {
        from,
        context,
        event: plain('replaced'),
        to: 'closed',
        outcomes: [...sealed('lost'), closed(null, 1000)],
        changes: changes('replaced'),
      },
      {
        from,
        context,
        event: plain('hangup'),
        to: 'closed',
        outcomes: [...sealed('client'), closed(null, 1000)],
        changes: changes('hangup'),
      },
      {
        from,
        context,
        event: plain('leave'),
        to: 'closed',
        outcomes: [...sealed('lost'), closed(null, 1000)],
        changes: changes(null),
      },
      {
        from,
        context,
        event: fault,
        to: 'closed',
        outcomes: [...sealed('none'), closed('invalid_request', 1008)],
        changes: changes('invalid_request'),
      },
      {
        from,
        context,
        event: tick(due),
        to: 'closed',
        outcomes: [...sealed('none'), closed('session_expired', 1008)],
        changes: changes('session_expired'),
      },
      {
        from,
        context: { ...context, unheard: 2 },
        event: unsaid('failed'),
        to: 'closed',
        outcomes: [...sealed('none'), closed('voice_unavailable', 1011)],
        changes: { ...changes('voice_unavailable'), unheard: 3 },
      },
    ];
  }),
];
/** Drains where no reply is under way. */
export const drains = (from: string): CallRow[] => [
  {
    from,
    context: asked,
    event: plain('drain'),
    to: 'closed',
    outcomes: [cut('none'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from,
    context: open,
    event: plain('drain'),
    to: 'closed',
    outcomes: [closed('api_error', 1012)],
    changes: { reason: 'api_error' },
  },
];
export const reports = (from: string): CallRow => ({
  from,
  context: standing[from]!,
  event: plain('report'),
  to: from,
  outcomes: [unchanged],
  changes: { reports: true },
});
export const silent = (from: string): CallRow => ({
  from,
  context: { ...standing[from]!, unheard: 1, echoes: 2 },
  event: unsaid('echo'),
  to: from,
  outcomes: [unchanged],
  changes: { unheard: 0, echoes: 3, bargeIn: 'off' },
});
export const spoken = (from: string): CallRow => ({
  from,
  context: { ...standing[from]!, unheard: 1 },
  event: said(false),
  to: from,
  outcomes: [unchanged],
  changes: { unheard: 0 },
});
