/** The table of the turn, by its states, with an unchanged row for each event that a state does not wait for. */
import { turnMachine, type TurnContext, type TurnEvent } from '../../machines/turn.ts';
import { answeringRows } from './turn/answering.ts';
import { callingRows } from './turn/calling.ts';
import { voicingRows } from './turn/voicing.ts';
import { sealingRows } from './turn/sealing.ts';
import { unsureRows } from './turn/unsure.ts';
import {
  type TurnRow,
  at,
  alone,
  begun,
  completing,
  output,
  stored,
  unstored,
  ended,
  failed,
  called,
  noted,
  answered,
  awaited,
  overflow,
  stop,
  fault,
  leaseLost,
  fenced,
  taken,
  sealed,
  unsealed,
  withdrawn,
  fate,
  tick,
  announced,
  heard,
  cut,
  dropped,
  unheard,
} from './turn/standing.ts';

const rows: TurnRow[] = [...answeringRows, ...callingRows, ...voicingRows, ...sealingRows, ...unsureRows];

const silenced: TurnEvent = { type: 'silenced', at };

const every = [
  ...[announced, heard, cut, dropped('ours'), unheard, output, stored, unstored, ended],
  ...[called, noted, answered, awaited, failed, overflow, stop('aborted'), fault, leaseLost],
  ...[fenced, taken, sealed, silenced, unsealed('error'), withdrawn(true), fate('gone'), tick(at)],
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
