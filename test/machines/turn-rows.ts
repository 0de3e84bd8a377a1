import {
  begunTurn,
  turnMachine,
  type AnswerCut,
  type TurnContext,
  type TurnEnding,
  type TurnEvent,
  type TurnStop,
} from '../../machines/turn.ts';
import type { Row } from './machine.ts';

type TurnRow = Row<TurnContext, TurnEvent>;

const at = 1000;
const runsUntil = 2000;
const until = 3000;

/** A turn of a process that owns its store alone, and one on a store that processes share. */
const alone = begunTurn({ runsUntil, shared: false });
const shared = begunTurn({ runsUntil, shared: true });
const begun: TurnContext = { ...shared, begun: true };
const begunAlone: TurnContext = { ...alone, begun: true };
const completing: TurnContext = { ...begun, ending: 'completed' };

const output: TurnEvent = { type: 'output', at };
const stored: TurnEvent = { type: 'stored', at };
const unstored: TurnEvent = { type: 'unstored', at, fault: 'store_away' };
const ended: TurnEvent = { type: 'ended', at };
const endedCut = (cut: AnswerCut): TurnEvent => ({ type: 'ended', at, cut });
const failed = { type: 'failed', at, reason: 'cut' } as const;
const called: TurnEvent = { type: 'called', at };
const noted: TurnEvent = { type: 'noted', at };
const answered: TurnEvent = { type: 'answered', at };
const awaited: TurnEvent = { type: 'awaited', at };
const overflow: TurnEvent = { type: 'overflow', at };
const stop = (reason: TurnStop): TurnEvent => ({ type: 'stop', at, reason });
const fault: TurnEvent = { type: 'fault', at, fault: 'error' };
const leaseLost: TurnEvent = { type: 'lease.lost', at };
const fenced: TurnEvent = { type: 'fenced', at, until };
const taken: TurnEvent = { type: 'taken', at, until };
const sealed: TurnEvent = { type: 'sealed', at };
const silenced: TurnEvent = { type: 'silenced', at };
const unsealed = (fault: string, more: { certain?: boolean; last?: boolean } = {}): TurnEvent => ({
  type: 'unsealed',
  at,
  fault,
  certain: false,
  last: false,
  until,
  ...more,
});
const withdrawn = (isStored: boolean): TurnEvent => ({ type: 'withdrawn', at, stored: isStored });
const fate = (end: Extract<TurnEvent, { type: 'fate' }>['end']): TurnEvent => ({ type: 'fate', at, end });
const tick = (when: number): TurnEvent => ({ type: 'tick', at: when });
const announced: TurnEvent = { type: 'announced', at };
const heard: TurnEvent = { type: 'heard', at };
const cut: TurnEvent = { type: 'cut', at };
const dropped = (reason: 'provider' | 'voice' | 'ours'): TurnEvent => ({ type: 'dropped', at, reason });
const unheard: TurnEvent = { type: 'unheard', at };
const every = [
  ...[announced, heard, cut, dropped('ours'), unheard, output, stored, unstored, ended],
  ...[called, noted, answered, awaited, failed, overflow, stop('aborted'), fault, leaseLost],
  ...[fenced, taken, sealed, silenced, unsealed('error'), withdrawn(true), fate('gone'), tick(at)],
];

const cancel = { type: 'model.cancel' };
const seal = (reason: TurnEnding) => ({ type: 'seal', reason });
const withdraw = { type: 'withdraw' };
const follow = { type: 'follow' };
const begin = { type: 'chat.begun' };
const refused = (reason: string) => ({ type: 'chat.refused', reason });
const store = { type: 'calls.store' };
const send = { type: 'calls.send' };
const ask = { type: 'model.ask' };
const next = { type: 'model.next' };
const left = { type: 'turn.left' };
const settled = { type: 'settled' };
const endReaders = { type: 'readers.end' };
const cutReaders = { type: 'readers.cut' };
const unsettled = { type: 'unsettled' };
const faulted = (reason: string) => ({ type: 'faulted', reason });
const providerFailed = { type: 'provider.failed', reason: 'cut' };

const givenUp = [refused('unavailable'), withdraw];
const unavailable = { refusal: 'unavailable' } as const;
const waits = { waitUntil: until };
const lost = { ending: 'ours', asStored: true } as const;

/** The stops of a turn that has output: its end is stored. */
const stops = (from: string, context: TurnContext): TurnRow[] => [
  {
    from,
    context,
    event: stop('aborted'),
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  {
    from,
    context,
    event: stop('expired'),
    to: 'sealing',
    outcomes: [cancel, seal('expired')],
    changes: { ending: 'expired' },
  },
  {
    from,
    context,
    event: stop('drain'),
    to: 'sealing',
    outcomes: [cancel, faulted('drain'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from,
    context,
    event: tick(runsUntil),
    to: 'sealing',
    outcomes: [cancel, faulted('time_limit'), seal('ours')],
    changes: { ending: 'ours' },
  },
  { from, context, event: ended, to: 'sealing', outcomes: [seal('completed')], changes: { ending: 'completed' } },
  ...(['length', 'content_filter'] as const).map((ending) => ({
    from,
    context,
    event: endedCut(ending),
    to: 'sealing',
    outcomes: [seal(ending)],
    changes: { ending },
  })),
  {
    from,
    context,
    event: failed,
    to: 'sealing',
    outcomes: [providerFailed, seal('provider')],
    changes: { ending: 'provider' },
  },
  {
    from,
    context,
    event: overflow,
    to: 'sealing',
    outcomes: [cancel, faulted('output_limit'), seal('ours')],
    changes: { ending: 'ours' },
  },
];

/** A turn that a call speaks: asked for early, and told of. */
const hidden = begunTurn({ runsUntil, shared: true, spoken: true });
const told: TurnContext = { ...hidden, begun: true };
const toldAlone: TurnContext = { ...begunTurn({ runsUntil, shared: false, spoken: true }), begun: true };
const replyOver = (reason: string) => ({ type: 'reply.over', reason });

/** The ends that the listener of a spoken turn decides, in a state in which its text is stored. */
const listened = (from: string): TurnRow[] => [
  {
    from,
    context: hidden,
    event: announced,
    to: from,
    outcomes: from === 'calling' ? [begin, store] : [begin],
    changes: { begun: true },
  },
  {
    from,
    context: told,
    event: heard,
    to: 'sealing',
    outcomes: [cancel, seal('completed')],
    changes: { ending: 'completed' },
  },
  { from, context: { ...told, ending: 'length' }, event: heard, to: 'sealing', outcomes: [cancel, seal('length')] },
  {
    from,
    context: told,
    event: cut,
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  {
    from,
    context: told,
    event: dropped('ours'),
    to: 'sealing',
    outcomes: [cancel, seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from,
    context: told,
    event: dropped('voice'),
    to: 'sealing',
    outcomes: [cancel, seal('voice')],
    changes: { ending: 'voice' },
  },
  {
    from,
    context: told,
    event: dropped('provider'),
    to: 'sealing',
    outcomes: [cancel, seal('provider')],
    changes: { ending: 'provider' },
  },
  {
    from,
    context: told,
    event: unheard,
    to: 'withdrawing',
    outcomes: [cancel, withdraw],
    changes: { refusal: 'withdrawn' },
  },
  // The effects of its calls stand.
  {
    from,
    context: { ...told, called: true },
    event: unheard,
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  // Nobody knows of a turn that was asked for early.
  {
    from,
    context: hidden,
    event: stop('aborted'),
    to: 'withdrawing',
    outcomes: [cancel, withdraw],
    changes: { refusal: 'withdrawn' },
  },
];

/** The model of a spoken turn makes no more, in a state in which it answers. */
const replied = (from: string): TurnRow[] => [
  { from, context: told, event: ended, to: 'voicing', outcomes: [replyOver('completed')] },
  {
    from,
    context: told,
    event: endedCut('length'),
    to: 'voicing',
    outcomes: [replyOver('completed')],
    changes: { ending: 'length' },
  },
  { from, context: told, event: failed, to: 'voicing', outcomes: [providerFailed, replyOver('provider')] },
  {
    from,
    context: told,
    event: tick(runsUntil),
    to: 'voicing',
    outcomes: [cancel, faulted('time_limit'), replyOver('ours')],
  },
];
const overlong = (from: string): TurnRow => ({
  from,
  context: told,
  event: overflow,
  to: 'voicing',
  outcomes: [cancel, faulted('output_limit'), replyOver('ours')],
});

/** The loss of a turn whose chat has not been answered. */
const losses = (from: string): TurnRow[] => [
  {
    from,
    context: shared,
    event: leaseLost,
    to: 'withdrawing',
    outcomes: [cancel, faulted('lease_lost'), ...givenUp],
    changes: unavailable,
  },
  { from, context: shared, event: fenced, to: 'asking', outcomes: [cancel, follow], changes: waits },
  { from, context: shared, event: taken, to: 'asking', outcomes: [cancel, follow], changes: waits },
];

/** A model fails before any output is stored, and a fallback is left. */
const retried = { event: failed, to: 'retrying', outcomes: [providerFailed, next], changes: { fallbacks: 1 } };
const asksNext = (from: string): TurnRow[] =>
  [alone, hidden].map((context) => ({ from, context: { ...context, fallbacks: 2 }, ...retried }));

/** A state in which a model is asked and nothing is said yet. */
const silence = (from: string): TurnRow[] => [
  { from, context: alone, event: output, to: 'starting', outcomes: [{ type: 'append' }] },
  {
    from,
    context: alone,
    event: ended,
    to: 'sealing',
    outcomes: [seal('completed')],
    changes: { ending: 'completed' },
  },
  {
    from,
    context: alone,
    event: endedCut('length'),
    to: 'sealing',
    outcomes: [seal('length')],
    changes: { ending: 'length' },
  },
  {
    from,
    context: alone,
    event: failed,
    to: 'withdrawing',
    outcomes: [providerFailed, withdraw],
    changes: { refusal: 'withdrawn' },
  },
  {
    from,
    context: alone,
    event: fault,
    to: 'withdrawing',
    outcomes: [faulted('error'), withdraw],
    changes: unavailable,
  },
  {
    from,
    context: alone,
    event: stop('aborted'),
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  {
    from,
    context: alone,
    event: stop('expired'),
    to: 'sealing',
    outcomes: [cancel, seal('expired')],
    changes: { ending: 'expired' },
  },
  {
    from,
    context: alone,
    event: tick(runsUntil),
    to: 'withdrawing',
    outcomes: [cancel, faulted('time_limit'), withdraw],
    changes: { refusal: 'late' },
  },
  {
    from,
    context: alone,
    event: stop('drain'),
    to: 'withdrawing',
    outcomes: [cancel, faulted('drain'), withdraw],
    changes: unavailable,
  },
  ...losses(from),
  ...listened(from),
  ...replied(from),
  ...asksNext(from),
  {
    from,
    context: { ...told, fallbacks: 1 },
    event: { ...failed, said: true },
    to: 'voicing',
    outcomes: [providerFailed, replyOver('provider')],
  },
];

const rows: TurnRow[] = [
  ...silence('waiting'),
  ...silence('retrying'),

  { from: 'starting', context: alone, event: stored, to: 'answering', outcomes: [begin], changes: { begun: true } },
  {
    from: 'starting',
    context: alone,
    event: unstored,
    to: 'withdrawing',
    outcomes: [cancel, faulted('store_away'), ...givenUp],
    changes: unavailable,
  },
  ...stops('starting', alone),
  ...listened('starting'),
  ...replied('starting'),
  ...asksNext('starting'),
  {
    from: 'starting',
    context: { ...alone, fallbacks: 1 },
    event: { ...failed, said: true },
    to: 'sealing',
    outcomes: [providerFailed, seal('provider')],
    changes: { ending: 'provider' },
  },
  overlong('starting'),
  ...losses('starting'),

  // With a single owner of the store a rejection is certain: readers need not wait for the end.
  {
    from: 'answering',
    context: begunAlone,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), endReaders, unsettled, seal('ours')],
    changes: lost,
  },
  {
    from: 'answering',
    context: begun,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), seal('ours')],
    changes: lost,
  },
  ...stops('answering', begun),
  ...listened('answering'),
  ...replied('answering'),
  overlong('answering'),
  {
    from: 'answering',
    context: begun,
    event: leaseLost,
    to: 'sealing',
    outcomes: [cancel, faulted('lease_lost'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from: 'answering',
    context: begun,
    event: fenced,
    to: 'sealing',
    outcomes: [cancel, seal('ours')],
    changes: { fenced: true, ending: 'ours' },
  },
  {
    from: 'answering',
    context: begun,
    event: taken,
    to: 'following',
    outcomes: [cancel, left, unsettled, follow],
    changes: waits,
  },

  // A reply ends in tool calls, with its first output stored or not; a call that was requested early is sent once the
  // machine gets its event.
  ...(['waiting', 'retrying', 'starting', 'answering'] as const).flatMap((from): TurnRow[] => [
    { from, context: from === 'answering' ? begun : alone, event: called, to: 'calling', outcomes: [store] },
    { from, context: hidden, event: called, to: 'calling', outcomes: [{ type: 'unchanged' }] },
  ]),
  {
    from: 'answering',
    context: begun,
    event: fault,
    to: 'sealing',
    outcomes: [faulted('error'), seal('ours')],
    changes: { ending: 'ours' },
  },
  { from: 'answering', context: told, event: fault, to: 'voicing', outcomes: [faulted('error'), replyOver('ours')] },
  ...listened('calling'),
  { from: 'calling', context: alone, event: stored, to: 'calling', outcomes: [begin], changes: { begun: true } },
  { from: 'calling', context: begun, event: stored, to: 'calling', outcomes: [{ type: 'unchanged' }] },
  {
    from: 'calling',
    context: alone,
    event: noted,
    to: 'calling',
    outcomes: [begin, send],
    changes: { begun: true, called: true },
  },
  { from: 'calling', context: begun, event: noted, to: 'calling', outcomes: [send], changes: { called: true } },
  { from: 'calling', context: alone, event: answered, to: 'calling', outcomes: [{ type: 'unchanged' }] },
  { from: 'calling', context: alone, event: awaited, to: 'calling', outcomes: [{ type: 'unchanged' }] },
  { from: 'calling', context: begun, event: answered, to: 'answering', outcomes: [ask] },
  {
    from: 'calling',
    context: begun,
    event: awaited,
    to: 'sealing',
    outcomes: [seal('tool_calls')],
    changes: { ending: 'tool_calls' },
  },
  {
    from: 'calling',
    context: begun,
    event: ended,
    to: 'sealing',
    outcomes: [seal('completed')],
    changes: { ending: 'completed' },
  },
  {
    from: 'calling',
    context: begun,
    event: endedCut('length'),
    to: 'sealing',
    outcomes: [seal('length')],
    changes: { ending: 'length' },
  },
  { from: 'calling', context: told, event: ended, to: 'voicing', outcomes: [replyOver('completed')] },
  {
    from: 'calling',
    context: told,
    event: endedCut('length'),
    to: 'voicing',
    outcomes: [replyOver('completed')],
    changes: { ending: 'length' },
  },
  {
    from: 'calling',
    context: alone,
    event: unstored,
    to: 'withdrawing',
    outcomes: [cancel, faulted('store_away'), ...givenUp],
    changes: unavailable,
  },
  {
    from: 'calling',
    context: begunAlone,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), endReaders, unsettled, seal('ours')],
    changes: lost,
  },
  {
    from: 'calling',
    context: begun,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), seal('ours')],
    changes: lost,
  },
  ...losses('calling'),
  {
    from: 'calling',
    context: begun,
    event: leaseLost,
    to: 'sealing',
    outcomes: [cancel, faulted('lease_lost'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from: 'calling',
    context: begun,
    event: fenced,
    to: 'sealing',
    outcomes: [cancel, seal('ours')],
    changes: { fenced: true, ending: 'ours' },
  },
  {
    from: 'calling',
    context: begun,
    event: taken,
    to: 'following',
    outcomes: [cancel, left, unsettled, follow],
    changes: waits,
  },
  {
    from: 'calling',
    context: alone,
    event: stop('drain'),
    to: 'withdrawing',
    outcomes: [cancel, faulted('drain'), withdraw],
    changes: unavailable,
  },
  {
    from: 'calling',
    context: begun,
    event: stop('drain'),
    to: 'sealing',
    outcomes: [cancel, faulted('drain'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from: 'calling',
    context: alone,
    event: stop('aborted'),
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  {
    from: 'calling',
    context: begun,
    event: stop('expired'),
    to: 'sealing',
    outcomes: [cancel, seal('expired')],
    changes: { ending: 'expired' },
  },
  {
    from: 'calling',
    context: alone,
    event: tick(runsUntil),
    to: 'withdrawing',
    outcomes: [cancel, faulted('time_limit'), withdraw],
    changes: { refusal: 'late' },
  },
  {
    from: 'calling',
    context: begun,
    event: tick(runsUntil),
    to: 'sealing',
    outcomes: [cancel, faulted('time_limit'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from: 'calling',
    context: told,
    event: tick(runsUntil),
    to: 'voicing',
    outcomes: [cancel, faulted('time_limit'), replyOver('ours')],
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'length' },
    event: sealed,
    to: 'completed',
    outcomes: [left, settled, endReaders, begin],
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'tool_calls' },
    event: sealed,
    to: 'completed',
    outcomes: [left, settled, endReaders, begin],
  },

  ...listened('voicing'),
  {
    from: 'voicing',
    context: told,
    event: stop('aborted'),
    to: 'sealing',
    outcomes: [cancel, seal('aborted')],
    changes: { ending: 'aborted' },
  },
  {
    from: 'voicing',
    context: told,
    event: stop('expired'),
    to: 'sealing',
    outcomes: [cancel, seal('expired')],
    changes: { ending: 'expired' },
  },
  {
    from: 'voicing',
    context: told,
    event: stop('drain'),
    to: 'sealing',
    outcomes: [cancel, faulted('drain'), seal('ours')],
    changes: { ending: 'ours' },
  },
  {
    from: 'voicing',
    context: toldAlone,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), endReaders, unsettled, seal('ours')],
    changes: lost,
  },
  {
    from: 'voicing',
    context: told,
    event: unstored,
    to: 'sealing',
    outcomes: [cancel, faulted('store_away'), seal('ours')],
    changes: lost,
  },
  {
    from: 'voicing',
    context: hidden,
    event: leaseLost,
    to: 'withdrawing',
    outcomes: [cancel, faulted('lease_lost'), ...givenUp],
    changes: unavailable,
  },
  {
    from: 'voicing',
    context: told,
    event: leaseLost,
    to: 'sealing',
    outcomes: [cancel, faulted('lease_lost'), seal('ours')],
    changes: { ending: 'ours' },
  },
  { from: 'voicing', context: hidden, event: fenced, to: 'asking', outcomes: [cancel, follow], changes: waits },
  {
    from: 'voicing',
    context: told,
    event: fenced,
    to: 'sealing',
    outcomes: [cancel, seal('ours')],
    changes: { fenced: true, ending: 'ours' },
  },
  { from: 'voicing', context: hidden, event: taken, to: 'asking', outcomes: [cancel, follow], changes: waits },
  {
    from: 'voicing',
    context: told,
    event: taken,
    to: 'following',
    outcomes: [cancel, left, unsettled, follow],
    changes: waits,
  },

  { from: 'sealing', context: completing, event: stored, to: 'sealing', outcomes: [{ type: 'unchanged' }] },
  {
    from: 'sealing',
    context: { ...completing, begun: false },
    event: stored,
    to: 'sealing',
    outcomes: [begin],
    changes: { begun: true },
  },
  { from: 'sealing', context: completing, event: unstored, to: 'sealing', outcomes: [{ type: 'unchanged' }] },
  {
    from: 'sealing',
    context: { ...completing, begun: false },
    event: unstored,
    to: 'withdrawing',
    outcomes: [faulted('store_away'), ...givenUp],
    changes: unavailable,
  },
  {
    from: 'sealing',
    context: completing,
    event: sealed,
    to: 'completed',
    outcomes: [left, settled, endReaders, begin],
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'aborted' },
    event: sealed,
    to: 'aborted',
    outcomes: [left, settled, endReaders, begin],
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'expired' },
    event: sealed,
    to: 'failed',
    outcomes: [left, settled, endReaders, begin],
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'ours', fenced: true },
    event: sealed,
    to: 'failed',
    outcomes: [faulted('lease_lost'), left, settled, endReaders, begin],
  },
  {
    from: 'sealing',
    context: { ...completing, begun: false },
    event: unsealed('store_away'),
    to: 'withdrawing',
    outcomes: [faulted('store_away'), ...givenUp],
    changes: unavailable,
  },
  {
    from: 'sealing',
    context: { ...begunAlone, ending: 'completed' },
    event: unsealed('error', { last: true }),
    to: 'failed',
    outcomes: [faulted('error'), unsettled, endReaders, left],
  },
  {
    from: 'sealing',
    context: completing,
    event: unsealed('error', { last: true }),
    to: 'failed',
    outcomes: [faulted('error'), left, unsettled, cutReaders],
  },
  {
    from: 'sealing',
    context: { ...begunAlone, ending: 'completed' },
    event: unsealed('store_away'),
    to: 'sealing',
    outcomes: [faulted('store_away'), unsettled, endReaders, seal('ours')],
    changes: lost,
  },
  {
    from: 'sealing',
    context: completing,
    event: unsealed('store_forgot', { certain: true }),
    to: 'sealing',
    outcomes: [faulted('store_forgot'), unsettled, seal('ours')],
    changes: { ...lost, ...waits },
  },
  {
    from: 'sealing',
    context: completing,
    event: unsealed('store_away'),
    to: 'sealing',
    outcomes: [unsettled, seal('completed')],
    changes: waits,
  },
  {
    from: 'sealing',
    context: { ...completing, waitUntil: 1500 },
    event: unsealed('store_away'),
    to: 'sealing',
    outcomes: [unsettled, seal('completed')],
  },
  {
    from: 'sealing',
    context: completing,
    event: unsealed('error'),
    to: 'sealing',
    outcomes: [faulted('error'), unsettled, seal('completed')],
    changes: waits,
  },
  {
    from: 'sealing',
    context: { ...completing, waitUntil: 1500 },
    event: taken,
    to: 'following',
    outcomes: [left, unsettled, follow],
    changes: waits,
  },
  {
    from: 'sealing',
    context: { ...completing, begun: false },
    event: taken,
    to: 'asking',
    outcomes: [follow],
    changes: waits,
  },
  {
    from: 'sealing',
    context: { ...completing, ...waits },
    event: tick(until),
    to: 'sealing',
    outcomes: [cutReaders],
    changes: { waitUntil: null },
  },
  { from: 'sealing', context: completing, event: tick(until), to: 'sealing', outcomes: [{ type: 'unchanged' }] },

  {
    from: 'withdrawing',
    context: { ...alone, refusal: 'late' },
    event: withdrawn(true),
    to: 'withdrawn',
    outcomes: [left, settled, endReaders, refused('late')],
  },
  {
    from: 'withdrawing',
    context: { ...alone, refusal: 'late' },
    event: withdrawn(false),
    to: 'withdrawn',
    outcomes: [left, unsettled, endReaders, refused('unavailable')],
  },

  {
    from: 'asking',
    context: { ...shared, ...waits },
    event: stored,
    to: 'sealing',
    outcomes: [begin, seal('ours')],
    changes: { begun: true, fenced: true, ending: 'ours', waitUntil: null },
  },
  {
    from: 'asking',
    context: { ...shared, ...waits },
    event: unstored,
    to: 'withdrawing',
    outcomes: [faulted('store_away'), ...givenUp],
    changes: unavailable,
  },
  {
    from: 'asking',
    context: { ...shared, ...waits },
    event: fate('aborted'),
    to: 'aborted',
    outcomes: [left, settled, endReaders, begin],
    changes: { begun: true },
  },
  {
    from: 'asking',
    context: { ...shared, ...waits },
    event: fate('expired'),
    to: 'failed',
    outcomes: [left, settled, endReaders, begin],
    changes: { begun: true },
  },
  ...(['completed', 'failed', 'gone', 'unknown'] as const).map((end): TurnRow => ({
    from: 'asking',
    context: { ...shared, ...waits },
    event: fate(end),
    to: 'withdrawing',
    outcomes: [faulted('fence_lost'), ...givenUp],
    changes: unavailable,
  })),
  {
    from: 'asking',
    context: { ...shared, ...waits },
    event: tick(until),
    to: 'withdrawing',
    outcomes: [faulted('fence_lost'), ...givenUp],
    changes: unavailable,
  },

  { from: 'following', context: { ...begun, ...waits }, event: fate('aborted'), to: 'aborted', outcomes: [endReaders] },
  { from: 'following', context: { ...begun, ...waits }, event: fate('expired'), to: 'failed', outcomes: [endReaders] },
  {
    from: 'following',
    context: { ...begun, ...waits },
    event: fate('completed'),
    to: 'completed',
    outcomes: [faulted('fence_lost'), endReaders],
  },
  {
    from: 'following',
    context: { ...begun, ...waits },
    event: fate('unknown'),
    to: 'failed',
    outcomes: [faulted('fence_lost'), cutReaders],
  },
  ...(['failed', 'gone'] as const).map((end): TurnRow => ({
    from: 'following',
    context: { ...begun, ...waits },
    event: fate(end),
    to: 'failed',
    outcomes: [faulted('fence_lost'), endReaders],
  })),
  {
    from: 'following',
    context: { ...begun, ...waits },
    event: tick(until),
    to: 'failed',
    outcomes: [faulted('fence_lost'), cutReaders],
  },
];

/** An event that a state does not wait for changes nothing. */
const named = new Set(
  rows.filter(({ event }) => event.type !== 'tick').map(({ from, event }) => `${from} × ${event.type}`),
);
const standing: Readonly<Record<string, TurnContext>> = {
  waiting: alone,
  retrying: alone,
  starting: alone,
  answering: begun,
  calling: begun,
};
/** Rows of these are in `taken-rows.ts`. */
const elsewhere = new Set(['sealing × silenced']);
const rest = Object.keys(turnMachine.states).flatMap((from) =>
  every
    .filter(({ type }) => !named.has(`${from} × ${type}`) && !elsewhere.has(`${from} × ${type}`))
    .map((event): TurnRow => ({
      from,
      context: standing[from] ?? completing,
      event,
      to: from,
      outcomes: [{ type: 'unchanged' }],
    })),
);

export const turnRows: TurnRow[] = [...rows, ...rest];
