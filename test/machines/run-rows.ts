import type { RunContext, RunEvent } from '../../machines/run.ts';
import type { Row } from './machine.ts';

const attempted = (attempts: number): RunContext => ({ attempts });
const ended = (status: string) => ({ type: 'ended', status });
const events: readonly RunEvent[] = [
  { type: 'begin' },
  { type: 'advance' },
  { type: 'leave' },
  { type: 'finish', passed: true },
  { type: 'cancel' },
  { type: 'interrupt' },
];
const finals = ['passed', 'failed', 'cancelled', 'interrupted'];

export const runRows: Row<RunContext, RunEvent>[] = [
  {
    from: 'queued',
    context: attempted(0),
    event: { type: 'begin' },
    to: 'running',
    outcomes: [{ type: 'begun' }],
    changes: attempted(1),
  },
  ...(['advance', 'leave', 'finish'] as const).map((type): Row<RunContext, RunEvent> => ({
    from: 'queued',
    context: attempted(0),
    event: type === 'finish' ? { type, passed: true } : { type },
    to: 'queued',
    outcomes: [{ type: 'unchanged' }],
  })),
  {
    from: 'running',
    context: attempted(2),
    event: { type: 'begin' },
    to: 'running',
    outcomes: [{ type: 'begun' }],
    changes: attempted(3),
  },
  {
    from: 'running',
    context: attempted(3),
    event: { type: 'begin' },
    to: 'interrupted',
    outcomes: [ended('interrupted')],
  },
  {
    from: 'running',
    context: attempted(2),
    event: { type: 'advance' },
    to: 'running',
    outcomes: [{ type: 'advanced' }],
    changes: attempted(0),
  },
  ...[2, 0].map((attempts): Row<RunContext, RunEvent> => ({
    from: 'running',
    context: attempted(attempts),
    event: { type: 'leave' },
    to: 'running',
    outcomes: [{ type: 'left' }],
    changes: attempted(Math.max(0, attempts - 1)),
  })),
  ...[true, false].map((passed): Row<RunContext, RunEvent> => ({
    from: 'running',
    context: attempted(1),
    event: { type: 'finish', passed },
    to: passed ? 'passed' : 'failed',
    outcomes: [ended(passed ? 'passed' : 'failed')],
  })),
  ...['queued', 'running'].flatMap((from): Row<RunContext, RunEvent>[] => [
    { from, context: attempted(1), event: { type: 'cancel' }, to: 'cancelled', outcomes: [ended('cancelled')] },
    { from, context: attempted(1), event: { type: 'interrupt' }, to: 'interrupted', outcomes: [ended('interrupted')] },
  ]),
  ...finals.flatMap((from) =>
    events.map((event): Row<RunContext, RunEvent> => ({
      from,
      context: attempted(1),
      event,
      to: from,
      outcomes: [{ type: 'unchanged' }],
    })),
  ),
];
