/** The rows of a turn whose session a person takes. */
import { begunTurn, type TurnContext, type TurnEvent } from '../../machines/turn.ts';
import type { Row } from './machine.ts';

const at = 1000;
const fresh = begunTurn({ runsUntil: 2000, shared: true });
const begun: TurnContext = { ...fresh, begun: true };
const end = [{ type: 'turn.left' }, { type: 'settled' }, { type: 'readers.end' }, { type: 'chat.begun' }];

const stopped = (from: string, context: TurnContext): Row<TurnContext, TurnEvent> => ({
  from,
  context,
  event: { type: 'stop', at, reason: 'taken' },
  to: 'sealing',
  outcomes: [{ type: 'model.cancel' }, { type: 'seal', reason: 'taken' } as { type: string }],
  changes: { ending: 'taken', asStored: true },
});

export const takenRows: Row<TurnContext, TurnEvent>[] = [
  ...['waiting', 'retrying', 'starting'].map((from) => stopped(from, fresh)),
  ...['answering', 'calling', 'voicing'].map((from) => stopped(from, begun)),
  {
    from: 'sealing',
    context: { ...begun, ending: 'taken', asStored: true },
    event: { type: 'sealed', at },
    to: 'aborted',
    outcomes: end,
  },
  {
    from: 'sealing',
    context: { ...begun, ending: 'completed' },
    event: { type: 'silenced', at },
    to: 'aborted',
    outcomes: end,
    changes: { ending: 'taken' },
  },
];
