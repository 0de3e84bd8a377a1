import {
  unattended,
  type AttendanceContext,
  type AttendanceEvent,
  type AttendanceOutcome,
  type Attendant,
} from '../../machines/attendance.ts';
import type { Row } from './machine.ts';

type AttendanceRow = Row<AttendanceContext, AttendanceEvent>;

const at = 100_000;
const untilMs = 160_000;
const ann: Attendant = { id: 'prs_ann', name: 'Ann' };
const bob: Attendant = { id: 'prs_bob', name: 'Bob' };

/** The turn that an earlier take has silenced stays: it may not be sealed yet. */
const alone: AttendanceContext = { ...unattended(1), silencedTurnId: 'turn_0' };
const waiting: AttendanceContext = { ...alone, since: 50, reason: 'a refund', untilMs: 170_000 };
const attended: AttendanceContext = { ...alone, since: 60, person: ann, reason: 'a refund', untilMs: 120_000 };

const ask: AttendanceEvent = { type: 'ask', at, reason: 'help', untilMs };
const take = (by: Attendant, turnId: string | null = null): AttendanceEvent => ({
  type: 'take',
  at,
  by,
  untilMs,
  turnId,
});
const say = (by: Attendant): AttendanceEvent => ({ type: 'say', at, by });
const back = (by: Attendant): AttendanceEvent => ({ type: 'return', at, by });
const release = (by: Attendant): AttendanceEvent => ({ type: 'release', at, by, untilMs });
const tick = (when: number, presentUntilMs = 0): AttendanceEvent => ({
  type: 'tick',
  at: when,
  presentUntilMs,
  untilMs,
});

const refused = { type: 'refused', code: 'session_taken' } as const;
const only = (type: Exclude<AttendanceOutcome['type'], 'refused'>) => ({ type }) as const;
const unchanged = only('unchanged');

/** An event that leaves the state as it is. */
const stays = (
  from: string,
  context: AttendanceContext,
  event: AttendanceEvent,
  outcome: AttendanceRow['outcomes'][number],
): AttendanceRow => ({ from, context, event, to: from, outcomes: [outcome] });

const taken = (from: string, context: AttendanceContext): AttendanceRow => ({
  from,
  context,
  event: take(bob, 'turn_1'),
  to: 'person',
  outcomes: [only('taken')],
  changes: { since: 100, person: bob, untilMs, silencedTurnId: 'turn_1' },
});

export const attendanceRows: AttendanceRow[] = [
  {
    from: 'assistant',
    context: alone,
    event: ask,
    to: 'waiting',
    outcomes: [only('asked')],
    changes: { since: 100, reason: 'help', untilMs },
  },
  taken('assistant', alone),
  ...[say(ann), back(ann), release(ann)].map((event) => stays('assistant', alone, event, refused)),
  stays('assistant', alone, tick(at), unchanged),

  stays('waiting', waiting, ask, unchanged),
  taken('waiting', waiting),
  ...[say(ann), back(ann), release(ann)].map((event) => stays('waiting', waiting, event, refused)),
  stays('waiting', waiting, tick(169_999), unchanged),
  {
    from: 'waiting',
    context: waiting,
    event: tick(170_000),
    to: 'assistant',
    outcomes: [only('lapsed')],
    changes: { since: 170, reason: null, untilMs: null },
  },

  stays('person', attended, ask, unchanged),
  stays('person', attended, take(ann), unchanged),
  ...[take(bob), say(bob), back(bob), release(bob)].map((event) => stays('person', attended, event, refused)),
  stays('person', attended, say(ann), only('said')),
  {
    from: 'person',
    context: attended,
    event: back(ann),
    to: 'assistant',
    outcomes: [only('returned')],
    changes: { since: 100, person: null, reason: null, untilMs: null },
  },
  {
    from: 'person',
    context: attended,
    event: release(ann),
    to: 'waiting',
    outcomes: [only('released')],
    changes: { since: 100, person: null, untilMs },
  },
  stays('person', attended, tick(119_999), unchanged),
  {
    from: 'person',
    context: attended,
    event: tick(120_000, 150_000),
    to: 'person',
    outcomes: [only('stayed')],
    changes: { untilMs: 150_000 },
  },
  {
    from: 'person',
    context: attended,
    event: tick(120_000),
    to: 'waiting',
    outcomes: [only('lost')],
    changes: { since: 120, person: null, untilMs },
  },
];
