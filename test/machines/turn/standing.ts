/** Contexts, events and outcomes of the turn in its table, and the rows that several states share. */
import {
  begunTurn,
  type AnswerCut,
  type TurnContext,
  type TurnEnding,
  type TurnEvent,
  type TurnStop,
} from '../../../machines/turn.ts';
import type { Row } from '../machine.ts';

export type TurnRow = Row<TurnContext, TurnEvent>;
export const at = 1000;
export const runsUntil = 2000;
export const until = 3000;
/** A turn of a process that owns its store alone, and one on a store that processes share. */
export const alone = begunTurn({ runsUntil, shared: false });
export const shared = begunTurn({ runsUntil, shared: true });
export const begun: TurnContext = { ...shared, begun: true };
export const begunAlone: TurnContext = { ...alone, begun: true };
export const completing: TurnContext = { ...begun, ending: 'completed' };
export const output: TurnEvent = { type: 'output', at };
export const stored: TurnEvent = { type: 'stored', at };
export const unstored: TurnEvent = { type: 'unstored', at, fault: 'store_away' };
export const ended: TurnEvent = { type: 'ended', at };
export const endedCut = (cut: AnswerCut): TurnEvent => ({ type: 'ended', at, cut });
export const failed = { type: 'failed', at, reason: 'cut' } as const;
export const called: TurnEvent = { type: 'called', at };
export const noted: TurnEvent = { type: 'noted', at };
export const answered: TurnEvent = { type: 'answered', at };
export const awaited: TurnEvent = { type: 'awaited', at };
export const overflow: TurnEvent = { type: 'overflow', at };
export const stop = (reason: TurnStop): TurnEvent => ({ type: 'stop', at, reason });
export const fault: TurnEvent = { type: 'fault', at, fault: 'error' };
export const leaseLost: TurnEvent = { type: 'lease.lost', at };
export const fenced: TurnEvent = { type: 'fenced', at, until };
export const taken: TurnEvent = { type: 'taken', at, until };
export const sealed: TurnEvent = { type: 'sealed', at };
export const unsealed = (fault: string, more: { certain?: boolean; last?: boolean } = {}): TurnEvent => ({
  type: 'unsealed',
  at,
  fault,
  certain: false,
  last: false,
  until,
  ...more,
});
export const withdrawn = (isStored: boolean): TurnEvent => ({ type: 'withdrawn', at, stored: isStored });
export const fate = (end: Extract<TurnEvent, { type: 'fate' }>['end']): TurnEvent => ({ type: 'fate', at, end });
export const tick = (when: number): TurnEvent => ({ type: 'tick', at: when });
export const announced: TurnEvent = { type: 'announced', at };
export const heard: TurnEvent = { type: 'heard', at };
export const cut: TurnEvent = { type: 'cut', at };
export const dropped = (reason: 'provider' | 'voice' | 'ours'): TurnEvent => ({ type: 'dropped', at, reason });
export const unheard: TurnEvent = { type: 'unheard', at };
export const cancel = { type: 'model.cancel' };
export const seal = (reason: TurnEnding) => ({ type: 'seal', reason });
export const withdraw = { type: 'withdraw' };
export const follow = { type: 'follow' };
export const begin = { type: 'chat.begun' };
export const refused = (reason: string) => ({ type: 'chat.refused', reason });
export const store = { type: 'calls.store' };
export const left = { type: 'turn.left' };
export const settled = { type: 'settled' };
export const endReaders = { type: 'readers.end' };
export const cutReaders = { type: 'readers.cut' };
export const unsettled = { type: 'unsettled' };
export const faulted = (reason: string) => ({ type: 'faulted', reason });
export const givenUp = [refused('unavailable'), withdraw];
export const unavailable = { refusal: 'unavailable' } as const;
export const waits = { waitUntil: until };
export const lost = { ending: 'ours', asStored: true } as const;
/** A turn that a call speaks: asked for early, and told of. */
export const hidden = begunTurn({ runsUntil, shared: true, spoken: true });
export const told: TurnContext = { ...hidden, begun: true };
export const replyOver = (reason: string) => ({ type: 'reply.over', reason });
/** The ends that the listener of a spoken turn decides, in a state in which its text is stored. */
export const listened = (from: string): TurnRow[] => [
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
/** The loss of a turn whose chat has not been answered. */
export const losses = (from: string): TurnRow[] => [
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
