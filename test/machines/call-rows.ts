/** The table of the call, by its states, with an unchanged row for each event that a state does not wait for. */
import { callMachine } from '../../machines/call.ts';
import { listeningRows } from './call/listening.ts';
import { thinkingRows } from './call/thinking.ts';
import { speakingRows } from './call/speaking.ts';
import { endingRows } from './call/ending.ts';
import {
  type CallRow,
  at,
  open,
  standing,
  opens,
  plain,
  configure,
  said,
  unsaid,
  refused,
  failed,
  sentence,
  isDue,
  fault,
  tick,
  elsewhere,
  full,
  unchanged,
} from './call/standing.ts';

const rows: CallRow[] = [...listeningRows, ...thinkingRows, ...speakingRows, ...endingRows];

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
