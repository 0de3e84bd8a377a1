import type { WorkspaceContext, WorkspaceEvent } from '../../machines/workspace.ts';
import type { Row } from './machine.ts';

const refused = { type: 'refused', code: 'rate_limited' };
const acquired = (inFlight: number) => ({ type: 'acquired', inFlight });
const released = (inFlight: number) => ({ type: 'released', inFlight });
const configured = { type: 'configured' };
const taken = (inFlight: number, max = 3): WorkspaceContext => ({ inFlight, max });

export const workspaceRows: Row<WorkspaceContext, WorkspaceEvent>[] = [
  {
    from: 'available',
    context: taken(0),
    event: { type: 'acquire' },
    to: 'available',
    outcomes: [acquired(1)],
    changes: taken(1),
  },
  {
    from: 'available',
    context: taken(2),
    event: { type: 'acquire' },
    to: 'full',
    outcomes: [acquired(3)],
    changes: taken(3),
  },
  {
    from: 'available',
    context: taken(0, 1),
    event: { type: 'acquire' },
    to: 'full',
    outcomes: [acquired(1)],
    changes: taken(1, 1),
  },
  {
    from: 'available',
    context: taken(2),
    event: { type: 'release' },
    to: 'available',
    outcomes: [released(1)],
    changes: taken(1),
  },
  { from: 'available', context: taken(0), event: { type: 'release' }, to: 'available', outcomes: [released(0)] },
  {
    from: 'available',
    context: taken(2),
    event: { type: 'configure', max: 3 },
    to: 'available',
    outcomes: [configured],
  },
  {
    from: 'available',
    context: taken(2),
    event: { type: 'configure', max: 2 },
    to: 'full',
    outcomes: [configured],
    changes: taken(2, 2),
  },
  {
    from: 'available',
    context: taken(0),
    event: { type: 'sync', inFlight: 2 },
    to: 'available',
    outcomes: [configured],
    changes: taken(2),
  },
  {
    from: 'available',
    context: taken(0),
    event: { type: 'sync', inFlight: 3 },
    to: 'full',
    outcomes: [configured],
    changes: taken(3),
  },
  // Woken while every slot is taken, or more than that: the first event finds it out.
  { from: 'available', context: taken(3), event: { type: 'acquire' }, to: 'full', outcomes: [refused] },
  {
    from: 'available',
    context: taken(5),
    event: { type: 'release' },
    to: 'full',
    outcomes: [released(4)],
    changes: taken(4),
  },
  {
    from: 'available',
    context: taken(3),
    event: { type: 'release' },
    to: 'available',
    outcomes: [released(2)],
    changes: taken(2),
  },

  { from: 'full', context: taken(3), event: { type: 'acquire' }, to: 'full', outcomes: [refused] },
  {
    from: 'full',
    context: taken(3),
    event: { type: 'release' },
    to: 'available',
    outcomes: [released(2)],
    changes: taken(2),
  },
  // A ceiling that was lowered leaves more in flight than it allows.
  {
    from: 'full',
    context: taken(5),
    event: { type: 'release' },
    to: 'full',
    outcomes: [released(4)],
    changes: taken(4),
  },
  {
    from: 'full',
    context: taken(3),
    event: { type: 'configure', max: 4 },
    to: 'available',
    outcomes: [configured],
    changes: taken(3, 4),
  },
  {
    from: 'full',
    context: taken(3),
    event: { type: 'configure', max: 1 },
    to: 'full',
    outcomes: [configured],
    changes: taken(3, 1),
  },
  {
    from: 'full',
    context: taken(3),
    event: { type: 'sync', inFlight: 2 },
    to: 'available',
    outcomes: [configured],
    changes: taken(2),
  },
  {
    from: 'full',
    context: taken(3),
    event: { type: 'sync', inFlight: 7 },
    to: 'full',
    outcomes: [configured],
    changes: taken(7),
  },
];
