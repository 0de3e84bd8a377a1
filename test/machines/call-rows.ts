import {
  callMachine,
  mintedCall,
  type CallContext,
  type CallEvent,
  type CutBy,
  type Ignored,
} from '../../machines/call.ts';
import type { Row } from './machine.ts';

type CallRow = Row<CallContext, CallEvent>;

const tokenUntil = 1_060_000;
/** A time before the token expires, the token's expiry, and the session's. */
const [at, spoilt, due] = [1_000_000, tokenUntil, 2_000_000];

const token = mintedCall({ tokenUntil, expiresAt: 2000 });
const open: CallContext = { ...token, turn: 'none' };
const asked: CallContext = { ...open, turn: 'asked', asked: 1 };
const beginning: CallContext = { ...open, turn: 'beginning', until: at + 10_000 };
const begun: CallContext = { ...open, turn: 'begun', replyUntil: at + 30_000 };
const reporting: CallContext = { ...begun, reports: true, playUntil: at + 10_000 };
const held: CallContext = { ...begun, decideUntil: at + 1000 };
const busy: CallContext = { ...open, until: at + 600_000 };
const drainingTurn: CallContext = { ...begun, drainUntil: at + 30_000 };
const standing: Readonly<Record<string, CallContext>> = {
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
const cleared = {
  turn: 'none',
  until: null,
  replyUntil: null,
  playUntil: null,
  decideUntil: null,
  failing: null,
} as const;
const because = (reason: string | null) => ({ ...cleared, reason });

const opens = (when: number, refusal: string | null = null, greets = false): CallEvent => ({
  type: 'open',
  at: when,
  refusal,
  greets,
  bargeIn: 'voice',
});
const plain = <T extends CallEvent['type']>(type: T): CallEvent => ({ type, at }) as CallEvent;
const configure: CallEvent = { type: 'configure', at, bargeIn: 'off' };
const said = (kept: boolean): CallEvent => ({ type: 'said', at, kept });
const unsaid = (ignored: Ignored): CallEvent => ({ type: 'unsaid', at, ignored });
const refused: CallEvent = { type: 'refused', at, code: 'api_error' };
const failed = (code: string): CallEvent => ({ type: 'failed', at, code });
const sentence = (last: boolean): CallEvent => ({ type: 'sentence', at, last });
const isDue = (yes: boolean): CallEvent => ({ type: 'due', at, due: yes });
const fault: CallEvent = { type: 'fault', at, code: 'invalid_request', close: 1008 };
const tick = (when: number): CallEvent => ({ type: 'tick', at: when });
const elsewhere = { type: 'elsewhere', at, owed: false, typed: false } as const;
const full = (when: number): CallEvent => ({ type: 'full', at: when });
const every = [
  configure,
  ...(
    [
      'voice',
      'voiced',
      'words',
      'early',
      'typed',
      'interrupt',
      'abort',
      'begun',
      'elsewhere.over',
      'audio',
      'report',
      'played',
      'session.ended',
      'replaced',
      'hangup',
      'leave',
      'drain',
      'accepted',
    ] as const
  ).map(plain),
  said(false),
  unsaid(null),
  full(at),
  elsewhere,
  refused,
  failed('api_error'),
  sentence(false),
  isDue(true),
  fault,
  tick(at),
  opens(at),
];

const unchanged = { type: 'unchanged' };
const says = (type: string) => ({ type });
const cut = (reason: CutBy) => ({ type: 'turn.cut', reason });
const closed = (code: string | null, close: number) =>
  ({ type: 'call.closed', code, close }) as { type: string; code?: string };
const refuses = (code: string) => ({ type: 'refused', code });
const turnFailed = (code: string) => ({ type: 'turn.failed', code });
const [begin, withdraw, clear, resume, stop] = [
  'turn.begin',
  'turn.withdraw',
  'audio.clear',
  'audio.resume',
  'reply.stop',
].map(says) as [{ type: string }, { type: string }, { type: string }, { type: string }, { type: string }];
const beginningNow = {
  turn: 'beginning',
  asked: 0,
  owed: false,
  until: at + 10_000,
  replyUntil: null,
  failing: null,
} as const;

/** The ends that every open state shares; a turn under way is sealed before. */
const ends = (from: string): CallRow[] => [
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
const drains = (from: string): CallRow[] => [
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

const reports = (from: string): CallRow => ({
  from,
  context: standing[from]!,
  event: plain('report'),
  to: from,
  outcomes: [unchanged],
  changes: { reports: true },
});
const silent = (from: string): CallRow => ({
  from,
  context: { ...standing[from]!, unheard: 1, echoes: 2 },
  event: unsaid('echo'),
  to: from,
  outcomes: [unchanged],
  changes: { unheard: 0, echoes: 3, bargeIn: 'off' },
});
const spoken = (from: string): CallRow => ({
  from,
  context: { ...standing[from]!, unheard: 1 },
  event: said(false),
  to: from,
  outcomes: [unchanged],
  changes: { unheard: 0 },
});

const unanswered = (from: 'listening' | 'hearing'): CallRow[] => [
  ...ends(from),
  ...drains(from),
  reports(from),
  { from, context: asked, event: said(true), to: 'thinking', outcomes: [says('turn.announce')], changes: beginningNow },
  {
    from,
    context: asked,
    event: said(false),
    to: 'thinking',
    outcomes: [withdraw, begin],
    changes: { ...cleared, ...beginningNow },
  },
  { from, context: open, event: said(true), to: 'thinking', outcomes: [begin], changes: beginningNow },
  {
    from,
    context: asked,
    event: plain('typed'),
    to: 'thinking',
    outcomes: [withdraw, begin],
    changes: { ...cleared, ...beginningNow },
  },
  { from, context: open, event: plain('typed'), to: 'thinking', outcomes: [begin], changes: beginningNow },
  {
    from,
    context: asked,
    event: elsewhere,
    to: 'busy',
    outcomes: [says('call.busy')],
    changes: { ...cleared, until: at + 600_000 },
  },
];

/** A turn without audio. */
const unspoken = (from: 'thinking' | 'held'): CallRow[] => [
  ...ends(from),
  reports(from),
  spoken(from),
  { from, context: begun, event: plain('words'), to: 'hearing', outcomes: [withdraw], changes: cleared },
  {
    from,
    context: begun,
    event: plain('typed'),
    to: 'thinking',
    outcomes: [withdraw, begin],
    changes: { ...cleared, ...beginningNow },
  },
  { from, context: begun, event: plain('interrupt'), to: 'listening', outcomes: [withdraw], changes: cleared },
  { from, context: begun, event: plain('abort'), to: 'listening', outcomes: [cut('api')], changes: cleared },
  {
    from,
    context: beginning,
    event: plain('begun'),
    to: from,
    outcomes: [says('turn.started')],
    changes: { turn: 'begun', until: null, replyUntil: at + 30_000 },
  },
  { from, context: beginning, event: full(at), to: from, outcomes: [begin] },
  {
    from,
    context: beginning,
    event: full(at + 10_000),
    to: 'listening',
    outcomes: [turnFailed('rate_limited')],
    changes: cleared,
  },
  { from, context: beginning, event: refused, to: 'listening', outcomes: [turnFailed('api_error')], changes: cleared },
  {
    from,
    context: beginning,
    event: plain('accepted'),
    to: 'listening',
    outcomes: [says('message.accepted')],
    changes: cleared,
  },
  {
    from,
    context: beginning,
    event: { ...elsewhere, owed: true },
    to: 'busy',
    outcomes: [says('call.busy')],
    changes: { ...cleared, owed: true, until: at + 600_000 },
  },
  {
    from,
    context: beginning,
    event: { ...elsewhere, typed: true },
    to: 'busy',
    outcomes: [says('call.busy'), { type: 'turn.failed', code: 'turn_in_progress' }],
    changes: { ...cleared, until: at + 600_000 },
  },
  {
    from,
    context: begun,
    event: failed('assistant_unavailable'),
    to: 'listening',
    outcomes: [withdraw, turnFailed('assistant_unavailable')],
    changes: cleared,
  },
  {
    from,
    context: begun,
    event: failed('voice_unavailable'),
    to: 'listening',
    outcomes: [withdraw, turnFailed('voice_unavailable')],
    changes: { ...cleared, unspoken: 1 },
  },
  {
    from,
    context: { ...begun, unspoken: 2 },
    event: failed('voice_unavailable'),
    to: 'closed',
    outcomes: [withdraw, turnFailed('voice_unavailable'), closed('voice_unavailable', 1011)],
    changes: because('voice_unavailable'),
  },
  {
    from,
    context: begun,
    event: sentence(false),
    to: from,
    outcomes: [unchanged],
    changes: { replyUntil: at + 30_000 },
  },
  { from, context: begun, event: sentence(true), to: from, outcomes: [unchanged], changes: { replyUntil: null } },
  {
    from,
    context: begun,
    event: plain('drain'),
    to: 'draining',
    outcomes: [says('call.draining')],
    changes: { drainUntil: at + 30_000, decideUntil: null },
  },
  {
    from,
    context: beginning,
    event: tick(at + 11_000),
    to: 'listening',
    outcomes: [withdraw, turnFailed('api_error')],
    changes: cleared,
  },
  { from, context: beginning, event: tick(at + 10_999), to: from, outcomes: [unchanged] },
  {
    from,
    context: begun,
    event: tick(at + 30_000),
    to: 'listening',
    outcomes: [withdraw, turnFailed('assistant_unavailable')],
    changes: cleared,
  },
];

/** A reply, or the greeting, which has no turn. */
const voiced = (from: 'speaking' | 'paused'): CallRow[] => [
  ...ends(from),
  spoken(from),
  { from, context: begun, event: plain('words'), to: 'hearing', outcomes: [clear, cut('speech')], changes: cleared },
  { from, context: open, event: plain('words'), to: 'hearing', outcomes: [clear], changes: cleared },
  {
    from,
    context: begun,
    event: plain('typed'),
    to: 'thinking',
    outcomes: [clear, cut('client'), begin],
    changes: { ...cleared, ...beginningNow },
  },
  {
    from,
    context: open,
    event: plain('typed'),
    to: 'thinking',
    outcomes: [clear, begin],
    changes: { ...cleared, ...beginningNow },
  },
  {
    from,
    context: begun,
    event: plain('interrupt'),
    to: 'listening',
    outcomes: [clear, cut('client')],
    changes: cleared,
  },
  { from, context: open, event: plain('interrupt'), to: 'listening', outcomes: [clear], changes: cleared },
  { from, context: begun, event: plain('abort'), to: 'listening', outcomes: [clear, cut('api')], changes: cleared },
  {
    from,
    context: begun,
    event: plain('audio'),
    to: from,
    outcomes: [says('audio.begin')],
    changes: { playUntil: null, decideUntil: null },
  },
  {
    from,
    context: begun,
    event: sentence(false),
    to: from,
    outcomes: [unchanged],
    changes: { replyUntil: at + 30_000 },
  },
  {
    from,
    context: begun,
    event: failed('voice_unavailable'),
    to: from,
    outcomes: [stop],
    changes: { unspoken: 1, failing: 'voice_unavailable', replyUntil: null },
  },
  {
    from,
    context: begun,
    event: tick(at + 30_000),
    to: from,
    outcomes: [stop],
    changes: { replyUntil: null, failing: 'assistant_unavailable' },
  },
  {
    from,
    context: { ...begun, failing: 'voice_unavailable', unspoken: 3 },
    event: plain('played'),
    to: 'closed',
    outcomes: [says('turn.fail'), closed('voice_unavailable', 1011)],
    changes: because('voice_unavailable'),
  },
  {
    from,
    context: { ...begun, failing: 'api_error' },
    event: plain('played'),
    to: 'listening',
    outcomes: [says('turn.fail')],
    changes: cleared,
  },
  {
    from,
    context: { ...begun, unspoken: 2 },
    event: plain('played'),
    to: 'listening',
    outcomes: [says('turn.finish')],
    changes: { ...cleared, unspoken: 0 },
  },
];

const rows: CallRow[] = [
  {
    from: 'minted',
    context: token,
    event: opens(at),
    to: 'listening',
    outcomes: [says('call.opened')],
    changes: { bargeIn: 'voice' },
  },
  {
    from: 'minted',
    context: token,
    event: opens(at, null, true),
    to: 'speaking',
    outcomes: [says('call.opened'), says('greeting.begin')],
    changes: { bargeIn: 'voice' },
  },
  {
    from: 'minted',
    context: token,
    event: opens(at, 'voice_disabled'),
    to: 'minted',
    outcomes: [refuses('voice_disabled')],
  },
  {
    from: 'minted',
    context: token,
    event: opens(spoilt),
    to: 'closed',
    outcomes: [refuses('invalid_token')],
    changes: { reason: 'invalid_token' },
  },
  {
    from: 'minted',
    context: token,
    event: tick(spoilt),
    to: 'closed',
    outcomes: [unchanged],
    changes: { reason: 'invalid_token' },
  },

  ...unanswered('listening'),
  silent('listening'),
  { from: 'listening', context: open, event: plain('voice'), to: 'hearing', outcomes: [says('utterance.begun')] },

  ...unanswered('hearing'),
  { from: 'hearing', context: asked, event: plain('voice'), to: 'hearing', outcomes: [withdraw], changes: cleared },
  {
    from: 'hearing',
    context: open,
    event: plain('early'),
    to: 'hearing',
    outcomes: [says('turn.prepare')],
    changes: { turn: 'asked', asked: 1 },
  },
  { from: 'hearing', context: { ...open, asked: 3 }, event: plain('early'), to: 'hearing', outcomes: [unchanged] },
  { from: 'hearing', context: open, event: unsaid(null), to: 'listening', outcomes: [says('utterance.ended')] },
  {
    from: 'hearing',
    context: asked,
    event: unsaid(null),
    to: 'listening',
    outcomes: [withdraw, says('utterance.ended')],
    changes: cleared,
  },
  { from: 'hearing', context: asked, event: full(at), to: 'hearing', outcomes: [unchanged], changes: cleared },
  { from: 'hearing', context: asked, event: refused, to: 'hearing', outcomes: [unchanged], changes: cleared },
  {
    from: 'hearing',
    context: asked,
    event: failed('assistant_unavailable'),
    to: 'hearing',
    outcomes: [withdraw],
    changes: cleared,
  },

  ...unspoken('thinking'),
  silent('thinking'),
  {
    from: 'thinking',
    context: begun,
    event: plain('voiced'),
    to: 'held',
    outcomes: [says('reply.held')],
    changes: { decideUntil: at + 1000 },
  },
  { from: 'thinking', context: begun, event: plain('audio'), to: 'speaking', outcomes: [says('audio.begin')] },
  {
    from: 'thinking',
    context: { ...begun, reports: true },
    event: plain('audio'),
    to: 'speaking',
    outcomes: [says('audio.begin')],
    changes: { playUntil: at + 10_000 },
  },
  { from: 'thinking', context: beginning, event: plain('audio'), to: 'thinking', outcomes: [unchanged] },

  ...unspoken('held'),
  {
    from: 'held',
    context: held,
    event: unsaid('backchannel'),
    to: 'thinking',
    outcomes: [says('reply.resumed')],
    changes: { decideUntil: null },
  },
  {
    from: 'held',
    context: held,
    event: tick(at + 1000),
    to: 'thinking',
    outcomes: [says('reply.resumed')],
    changes: { decideUntil: null },
  },

  ...voiced('speaking'),
  silent('speaking'),
  {
    from: 'speaking',
    context: reporting,
    event: plain('voiced'),
    to: 'paused',
    outcomes: [says('audio.pause')],
    changes: { playUntil: null, decideUntil: at + 1000 },
  },
  {
    from: 'speaking',
    context: { ...begun, bargeIn: 'off' },
    event: plain('voiced'),
    to: 'speaking',
    outcomes: [unchanged],
  },
  {
    from: 'speaking',
    context: begun,
    event: plain('report'),
    to: 'speaking',
    outcomes: [unchanged],
    changes: { reports: true, playUntil: at + 10_000 },
  },
  {
    from: 'speaking',
    context: reporting,
    event: isDue(false),
    to: 'speaking',
    outcomes: [unchanged],
    changes: { playUntil: null },
  },
  {
    from: 'speaking',
    context: { ...reporting, playUntil: null },
    event: isDue(true),
    to: 'speaking',
    outcomes: [unchanged],
    changes: { playUntil: at + 10_000 },
  },
  {
    from: 'speaking',
    context: begun,
    event: plain('drain'),
    to: 'draining',
    outcomes: [says('call.draining')],
    changes: { drainUntil: at + 30_000 },
  },
  ...(['speaking', 'paused'] as const).map((from): CallRow => ({
    from,
    context: open,
    event: plain('drain'),
    to: 'closed',
    outcomes: [clear, closed('api_error', 1012)],
    changes: { reason: 'api_error' },
  })),
  {
    from: 'speaking',
    context: reporting,
    event: tick(at + 10_000),
    to: 'listening',
    outcomes: [clear, cut('lost')],
    changes: cleared,
  },

  ...voiced('paused'),
  reports('paused'),
  {
    from: 'paused',
    context: held,
    event: unsaid('echo'),
    to: 'speaking',
    outcomes: [resume],
    changes: { echoes: 1, decideUntil: null },
  },
  {
    from: 'paused',
    context: { ...held, reports: true },
    event: tick(at + 1000),
    to: 'speaking',
    outcomes: [resume],
    changes: { decideUntil: null, playUntil: at + 11_000 },
  },
  {
    from: 'paused',
    context: held,
    event: plain('drain'),
    to: 'draining',
    outcomes: [resume, says('call.draining')],
    changes: { drainUntil: at + 30_000, decideUntil: null },
  },

  ...ends('busy'),
  ...drains('busy'),
  reports('busy'),
  silent('busy'),
  { from: 'busy', context: busy, event: said(false), to: 'busy', outcomes: [unchanged], changes: { owed: true } },
  { from: 'busy', context: busy, event: plain('typed'), to: 'busy', outcomes: [turnFailed('turn_in_progress')] },
  {
    from: 'busy',
    context: { ...busy, owed: true },
    event: plain('elsewhere.over'),
    to: 'thinking',
    outcomes: [begin],
    changes: beginningNow,
  },
  {
    from: 'busy',
    context: busy,
    event: plain('elsewhere.over'),
    to: 'listening',
    outcomes: [says('call.free')],
    changes: cleared,
  },
  {
    from: 'busy',
    context: busy,
    event: tick(at + 600_000),
    to: 'listening',
    outcomes: [says('call.free')],
    changes: cleared,
  },

  ...ends('draining'),
  spoken('draining'),
  silent('draining'),
  ...(
    [
      ['typed', 'client'],
      ['interrupt', 'client'],
      ['abort', 'api'],
    ] as const
  ).flatMap(([type, reason]): CallRow[] => [
    {
      from: 'draining',
      context: drainingTurn,
      event: plain(type),
      to: 'closed',
      outcomes: [cut(reason), clear, closed('api_error', 1012)],
      changes: because('api_error'),
    },
    {
      from: 'draining',
      context: open,
      event: plain(type),
      to: 'closed',
      outcomes: [clear, closed('api_error', 1012)],
      changes: { reason: 'api_error' },
    },
  ]),
  {
    from: 'draining',
    context: beginning,
    event: plain('begun'),
    to: 'draining',
    outcomes: [says('turn.started')],
    changes: { turn: 'begun', until: null, replyUntil: at + 30_000 },
  },
  ...[full(at), refused, elsewhere].map((event): CallRow => ({
    from: 'draining',
    context: beginning,
    event,
    to: 'closed',
    outcomes: [closed('api_error', 1012)],
    changes: because('api_error'),
  })),
  {
    from: 'draining',
    context: beginning,
    event: plain('accepted'),
    to: 'closed',
    outcomes: [says('message.accepted'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  { from: 'draining', context: drainingTurn, event: plain('audio'), to: 'draining', outcomes: [says('audio.begin')] },
  {
    from: 'draining',
    context: drainingTurn,
    event: sentence(true),
    to: 'draining',
    outcomes: [unchanged],
    changes: { replyUntil: null },
  },
  {
    from: 'draining',
    context: drainingTurn,
    event: failed('api_error'),
    to: 'draining',
    outcomes: [stop],
    changes: { failing: 'api_error', replyUntil: null },
  },
  {
    from: 'draining',
    context: drainingTurn,
    event: plain('report'),
    to: 'draining',
    outcomes: [unchanged],
    changes: { reports: true, playUntil: at + 10_000 },
  },
  {
    from: 'draining',
    context: { ...drainingTurn, reports: true },
    event: isDue(true),
    to: 'draining',
    outcomes: [unchanged],
    changes: { playUntil: at + 10_000 },
  },
  {
    from: 'draining',
    context: drainingTurn,
    event: plain('played'),
    to: 'closed',
    outcomes: [says('turn.finish'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from: 'draining',
    context: { ...drainingTurn, failing: 'api_error' },
    event: plain('played'),
    to: 'closed',
    outcomes: [says('turn.fail'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from: 'draining',
    context: drainingTurn,
    event: tick(at + 30_000),
    to: 'closed',
    outcomes: [clear, cut('none'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from: 'draining',
    context: { ...drainingTurn, playUntil: at + 10_000 },
    event: tick(at + 10_000),
    to: 'closed',
    outcomes: [clear, cut('lost'), closed('api_error', 1012)],
    changes: because('api_error'),
  },
  {
    from: 'draining',
    context: { ...drainingTurn, drainUntil: at + 60_000 },
    event: tick(at + 30_000),
    to: 'draining',
    outcomes: [stop],
    changes: { replyUntil: null, failing: 'assistant_unavailable' },
  },

  {
    from: 'closed',
    context: standing['closed']!,
    event: opens(at),
    to: 'closed',
    outcomes: [refuses('invalid_token')],
  },
];

/** An event that a state does not wait for changes nothing. */
const named = new Set(
  rows.filter(({ event }) => event.type !== 'tick').map(({ from, event }) => `${from} × ${event.type}`),
);
const rest = Object.keys(callMachine.states).flatMap((from) =>
  every
    .filter(({ type }) => !named.has(`${from} × ${type}`))
    .map((event): CallRow => ({ from, context: standing[from]!, event, to: from, outcomes: [unchanged] })),
);

/** Cases that fall to the row that every state shares. */
const passed: CallRow[] = [
  { from: 'hearing', context: open, event: plain('voice'), to: 'hearing', outcomes: [unchanged] },
  { from: 'hearing', context: open, event: failed('api_error'), to: 'hearing', outcomes: [unchanged] },
  ...(['speaking', 'paused'] as const).map((from): CallRow => ({
    from,
    context: open,
    event: plain('abort'),
    to: from,
    outcomes: [unchanged],
  })),
];

export const callRows: CallRow[] = [...rows, ...passed, ...rest];
