/** Rows of a turn whose model is requested: starting, answering, and between attempts. */
import type { TurnContext } from '../../../machines/turn.ts';
import {
  type TurnRow,
  runsUntil,
  alone,
  begun,
  begunAlone,
  output,
  stored,
  unstored,
  ended,
  endedCut,
  failed,
  called,
  overflow,
  stop,
  fault,
  leaseLost,
  fenced,
  taken,
  tick,
  cancel,
  seal,
  withdraw,
  follow,
  begin,
  store,
  left,
  endReaders,
  unsettled,
  faulted,
  givenUp,
  unavailable,
  waits,
  lost,
  hidden,
  told,
  replyOver,
  listened,
  losses,
} from './standing.ts';

const next = { type: 'model.next' };

const providerFailed = { type: 'provider.failed', reason: 'cut' };

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

export const answeringRows: TurnRow[] = [
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
];
