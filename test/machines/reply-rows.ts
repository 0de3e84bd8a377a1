import {
  newReply,
  replyMachine,
  type Basis,
  type ReplyContext,
  type ReplyEvent,
  type ReplyOutcome,
} from '../../machines/reply.ts';
import type { CutBy } from '../../machines/call.ts';
import type { Row } from './machine.ts';

type ReplyRow = Row<ReplyContext, ReplyEvent>;

const at = 1_000_000;
const asked = newReply({ greeting: false, early: false });
const early: ReplyContext = { ...asked, early: true };
const asking: ReplyContext = { ...asked, asking: true };
const begun: ReplyContext = { ...asked, begun: true };
const known: ReplyContext = { ...begun, announced: true };
const ready: ReplyContext = { ...known, ready: true };
const spoken: ReplyContext = { ...ready, started: true };
const greeting: ReplyContext = { ...asked, greeting: true, announced: true };
const cutSpeech: ReplyContext = { ...spoken, ending: 'cut', cutBy: 'speech' };
const failedReply: ReplyContext = { ...spoken, failing: 'voice_unavailable', ending: 'failure' };
const standing: Readonly<Record<string, ReplyContext>> = {
  hidden: asked,
  announced: known,
  speaking: spoken,
  paused: spoken,
  settling: cutSpeech,
  sealed: cutSpeech,
  withdrawn: cutSpeech,
  failed: failedReply,
};

const plain = <T extends ReplyEvent['type']>(type: T): ReplyEvent => ({ type, at }) as ReplyEvent;
const failed = (code: string): ReplyEvent => ({ type: 'failed', at, code });
const cut = (by: CutBy, closing = false): ReplyEvent => ({ type: 'cut', at, by, closing });
const fail = (reports: boolean): ReplyEvent => ({ type: 'fail', at, reports });
const withdraw = (fields: Partial<Extract<ReplyEvent, { type: 'withdraw' }>> = {}): ReplyEvent => ({
  type: 'withdraw',
  at,
  called: false,
  fails: false,
  by: 'speech',
  reports: false,
  ...fields,
});
const settled = (points: number, called = false, stopped = false): ReplyEvent => ({
  type: 'settled',
  at,
  points,
  called,
  stopped,
});
const every: readonly ReplyEvent[] = [
  ...(['ask', 'begun', 'confirm', 'announced', 'ready', 'begin', 'pause', 'resume', 'stop', 'sent', 'played'] as const),
  ...(['ended', 'stopped', 'finish', 'leave', 'accepted', 'refused'] as const),
]
  .map((type) => plain(type))
  .concat([failed('voice_unavailable'), cut('speech'), fail(true), withdraw(), settled(0)]);

const says = <T extends ReplyOutcome['type']>(type: T): { type: T } => ({ type });
const unchanged = says('unchanged');
const [back, count, finish] = [says('words.return'), says('usage.count'), says('turn.finish')];
const remove = (told: boolean) => ({ type: 'turn.withdraw', told });
const find = (basis: Basis, by: CutBy) => ({ type: 'position.ask', basis, by });
const seal = (by: CutBy) => ({ type: 'turn.cut', by });
const fails = (code: string) => ({ type: 'reply.failed', code });

const row = (
  from: string,
  context: ReplyContext,
  event: ReplyEvent,
  to: string,
  outcomes: ReplyRow['outcomes'],
  changes: Partial<ReplyContext> = {},
): ReplyRow => ({ from, context, event, to, outcomes, changes });

const failure = { ending: 'failure', cutBy: 'none', failing: 'assistant_unavailable' } as const;

/** Rows of the events that the open states share. */
const shared = (from: string, context: ReplyContext): ReplyRow[] => [
  row(from, context, failed('voice_unavailable'), from, [fails('voice_unavailable')], { failing: 'voice_unavailable' }),
  row(from, { ...context, failing: 'api_error' }, failed('voice_unavailable'), from, [fails('voice_unavailable')]),
  row(from, context, plain('ended'), from, [fails('api_error')], { failing: 'api_error' }),
  row(from, context, plain('stop'), from, [says('audio.stop')], { failing: 'assistant_unavailable' }),
  row(from, context, plain('stopped'), 'settling', [find('estimate', 'none')], { ending: 'cut' }),
  row(from, context, plain('finish'), 'sealed', [count, finish]),
  row(from, context, plain('sent'), from, [says('audio.end')], { sent: true }),
  row(from, { ...context, sent: true }, plain('played'), from, [says('audio.played')], { played: true }),
  row(from, context, plain('played'), from, [unchanged]),
  row(from, { ...context, sent: true, played: true }, plain('played'), from, [unchanged]),
  ...ends(from, context),
];

/** Rows of the events that end a reply, also one whose turn a request has stopped. */
const ends = (from: string, context: ReplyContext): ReplyRow[] => [
  row(from, context, cut('speech'), 'settling', [find('answer', 'speech')], { ending: 'cut', cutBy: 'speech' }),
  row(from, context, cut('client', true), 'settling', [find('estimate', 'client')], {
    ending: 'cut',
    cutBy: 'client',
    closing: true,
  }),
  row(from, context, cut('none'), 'settling', [find('estimate', 'none')], { ending: 'cut', cutBy: 'none' }),
  row(from, context, cut('lost'), 'settling', [find('report', 'lost')], { ending: 'cut', cutBy: 'lost' }),
  row(from, context, cut('lost', true), 'settling', [find('sent', 'lost')], {
    ending: 'cut',
    cutBy: 'lost',
    closing: true,
  }),
  row(from, context, fail(true), 'settling', [find('report', 'none')], failure),
  row(from, { ...context, failing: 'api_error' }, fail(false), 'settling', [find('estimate', 'none')], {
    ...failure,
    failing: 'api_error',
  }),
  row(
    from,
    context,
    withdraw({ called: true, fails: true, reports: true }),
    'settling',
    [find('report', 'none')],
    failure,
  ),
  row(from, context, withdraw({ called: true, by: 'client' }), 'settling', [find('answer', 'client')], {
    ending: 'cut',
    cutBy: 'client',
  }),
  row(from, { ...context, begun: true }, withdraw(), 'withdrawn', [back, remove(context.announced)]),
  row(from, { ...context, begun: true }, withdraw({ fails: true }), 'withdrawn', [back, remove(false)]),
  row(from, { ...context, begun: false }, withdraw(), 'withdrawn', [back]),
  row(from, { ...context, asking: true, begun: false }, withdraw(), 'withdrawn', [unchanged]),
];

const left = (from: string): ReplyRow[] => [
  row(from, greeting, plain('leave'), 'sealed', [count]),
  row(from, begun, plain('leave'), 'withdrawn', [back, remove(false)]),
  row(from, asked, plain('leave'), 'withdrawn', [back]),
  row(from, asking, plain('leave'), 'withdrawn', [unchanged]),
];

const rows: readonly ReplyRow[] = [
  ...['hidden', 'announced', 'speaking', 'paused'].flatMap((from) => shared(from, standing[from]!)),
  ...['hidden', 'announced'].flatMap(left),

  row('hidden', asked, plain('ask'), 'hidden', [says('turn.ask')], { asking: true }),
  row('hidden', begun, plain('ask'), 'hidden', [unchanged]),
  row('hidden', early, plain('begun'), 'hidden', [unchanged], { begun: true }),
  row('hidden', asking, plain('begun'), 'hidden', [says('turn.announce')], { asking: false, begun: true }),
  row('hidden', asking, plain('accepted'), 'withdrawn', [unchanged], { asking: false }),
  row('hidden', asking, plain('refused'), 'hidden', [unchanged], { asking: false }),
  row('hidden', { ...early, begun: true }, plain('confirm'), 'hidden', [says('turn.announce')], { early: false }),
  row('hidden', early, plain('confirm'), 'hidden', [says('turn.ask')], { early: false, asking: true }),
  row('hidden', { ...asked, greeting: true }, plain('announced'), 'announced', [unchanged], { announced: true }),
  row('hidden', begun, plain('announced'), 'announced', [says('turn.started')], { announced: true }),
  row(
    'hidden',
    { ...begun, ready: true },
    plain('announced'),
    'announced',
    [says('turn.started'), says('audio.ready')],
    {
      announced: true,
    },
  ),
  row('hidden', asked, plain('ready'), 'hidden', [unchanged], { ready: true }),

  row('announced', known, plain('ready'), 'announced', [says('audio.ready')], { ready: true }),
  row('announced', ready, plain('begin'), 'speaking', [says('audio.begin')], { started: true }),
  row('announced', greeting, plain('pause'), 'paused', [says('audio.pause')]),
  row('announced', ready, plain('resume'), 'announced', [says('audio.ready')]),
  row('announced', known, plain('resume'), 'announced', [unchanged]),

  row('speaking', spoken, plain('pause'), 'paused', [says('audio.pause')]),
  row('paused', spoken, plain('resume'), 'speaking', [says('audio.resume')]),
  row('paused', greeting, plain('resume'), 'announced', [says('audio.resume')]),
  row('paused', greeting, plain('ready'), 'paused', [says('audio.ready')], { ready: true }),
  row('paused', greeting, plain('begin'), 'paused', [says('audio.begin')], { started: true }),
  row('paused', spoken, plain('begin'), 'paused', [unchanged]),
  ...['speaking', 'paused'].flatMap((from) => [
    row(from, greeting, plain('leave'), 'sealed', [count]),
    row(from, spoken, plain('leave'), 'settling', [find('estimate', 'none')], { ending: 'cut' }),
  ]),

  ...ends('settling', cutSpeech).map((one) => ({
    ...one,
    changes: { ...(one.to === 'settling' && { closing: false }), ...one.changes },
  })),
  row('settling', cutSpeech, plain('finish'), 'sealed', [count, finish]),
  row('settling', cutSpeech, plain('leave'), 'sealed', [unchanged]),
  row('settling', { ...asked, ending: 'cut' }, plain('begun'), 'settling', [remove(false)], { begun: true }),
  row('settling', { ...asking, ending: 'cut' }, plain('accepted'), 'withdrawn', [unchanged], { asking: false }),
  row('settling', { ...asking, ending: 'cut' }, plain('refused'), 'settling', [unchanged], { asking: false }),
  row('settling', failedReply, settled(1), 'failed', [count, { type: 'turn.fail', code: 'voice_unavailable' }]),
  row('settling', failedReply, settled(0, true), 'failed', [count, { type: 'turn.fail', code: 'voice_unavailable' }]),
  row('settling', failedReply, settled(0), 'withdrawn', [back, remove(false)]),
  row('settling', { ...failedReply, begun: false }, settled(0, true), 'withdrawn', [back, remove(false)]),
  row('settling', { ...asked, ending: 'cut' }, settled(0), 'withdrawn', [back]),
  row('settling', { ...begun, ending: 'cut', cutBy: 'api' }, settled(0), 'withdrawn', [back, remove(false)]),
  row('settling', cutSpeech, settled(0), 'withdrawn', [back, remove(true)]),
  row('settling', { ...cutSpeech, cutBy: 'client' }, settled(0), 'withdrawn', [back, remove(true)]),
  row('settling', cutSpeech, settled(0, false, true), 'sealed', [count, says('turn.ended')]),
  row('settling', cutSpeech, settled(4, false, true), 'sealed', [count, says('turn.ended')]),
  row('settling', cutSpeech, settled(4), 'sealed', [count, seal('speech')]),
  row('settling', cutSpeech, settled(0, true), 'sealed', [count, seal('speech')]),
  row('settling', { ...cutSpeech, closing: true }, settled(0), 'sealed', [count, seal('speech')]),
  row('settling', { ...cutSpeech, cutBy: 'lost' }, settled(0), 'sealed', [count, seal('lost')]),

  row('withdrawn', asked, plain('begun'), 'withdrawn', [remove(false)], { begun: true }),
  row('withdrawn', asking, plain('begun'), 'withdrawn', [back, remove(false)], { asking: false, begun: true }),
  row('withdrawn', asking, plain('accepted'), 'withdrawn', [unchanged], { asking: false }),
  row('withdrawn', asking, plain('refused'), 'withdrawn', [back], { asking: false }),
  row('withdrawn', asked, plain('refused'), 'withdrawn', [unchanged]),
];

/** An event that a state does not wait for changes nothing. */
const named = new Set(rows.map(({ from, event }) => `${from} × ${event.type}`));
const rest = Object.keys(replyMachine.states).flatMap((from) =>
  every
    .filter(({ type }) => !named.has(`${from} × ${type}`))
    .map((event) => row(from, standing[from]!, event, from, [unchanged])),
);

export const replyRows: ReplyRow[] = [...rows, ...rest];
