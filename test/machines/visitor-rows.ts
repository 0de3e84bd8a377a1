import type { LimitRefusal, VisitorContext, VisitorEvent } from '../../machines/visitor.ts';
import type { Row } from './machine.ts';

const [now, later, due] = [1_000_000, 1_030_000, 1_060_000];
const byDay: LimitRefusal = { limit: 'messages_per_visitor_per_day', until: later };
const byMinutes: LimitRefusal = { limit: 'minutes_per_day', until: due };

const away: VisitorContext = { clockUntil: 0, refusal: null };
const present: VisitorContext = { clockUntil: due, refusal: null };
/** Refused, with a clock that outlasts the refusal, and with a clock that ended before. */
const limited: VisitorContext = { clockUntil: due, refusal: byDay };
const limitedAway: VisitorContext = { clockUntil: now, refusal: byDay };

const message = (refusal: LimitRefusal | null = null, clockUntil = due): VisitorEvent => ({
  type: 'message',
  at: now,
  refusal,
  clockUntil,
});
const sealed = (clockUntil: number): VisitorEvent => ({ type: 'sealed', at: now, clockUntil });
const left: VisitorEvent = { type: 'left', at: now };
const tick = (at: number): VisitorEvent => ({ type: 'tick', at });

const [unchanged, accepted, refused] = [
  { type: 'unchanged' },
  { type: 'accepted' },
  { type: 'refused', code: 'rate_limited' },
];
const says = (name: string) => ({ type: `visitor.${name}` });

export const visitorRows: Row<VisitorContext, VisitorEvent>[] = [
  {
    from: 'away',
    context: away,
    event: message(),
    to: 'present',
    outcomes: [says('arrived'), accepted],
    changes: { clockUntil: due },
  },
  {
    from: 'away',
    context: away,
    event: message(byDay, 0),
    to: 'limited',
    outcomes: [says('limited'), refused],
    changes: { refusal: byDay },
  },
  // A reply that began elsewhere, or before this process.
  {
    from: 'away',
    context: away,
    event: sealed(due),
    to: 'present',
    outcomes: [says('arrived')],
    changes: { clockUntil: due },
  },
  { from: 'away', context: away, event: sealed(now), to: 'away', outcomes: [unchanged] },
  { from: 'away', context: away, event: left, to: 'away', outcomes: [unchanged] },
  { from: 'away', context: away, event: tick(due), to: 'away', outcomes: [unchanged] },

  {
    from: 'present',
    context: present,
    event: message(null, due + 1),
    to: 'present',
    outcomes: [accepted],
    changes: { clockUntil: due + 1 },
  },
  {
    from: 'present',
    context: present,
    event: message(byDay),
    to: 'limited',
    outcomes: [says('limited'), refused],
    changes: { refusal: byDay },
  },
  {
    from: 'present',
    context: present,
    event: sealed(later),
    to: 'present',
    outcomes: [unchanged],
    changes: { clockUntil: later },
  },
  // A turn that was withdrawn leaves no clock running.
  {
    from: 'present',
    context: present,
    event: sealed(now),
    to: 'away',
    outcomes: [says('left')],
    changes: { clockUntil: now },
  },
  {
    from: 'present',
    context: present,
    event: left,
    to: 'away',
    outcomes: [says('left')],
    changes: { clockUntil: now },
  },
  { from: 'present', context: present, event: tick(due - 1), to: 'present', outcomes: [unchanged] },
  { from: 'present', context: present, event: tick(due), to: 'away', outcomes: [says('left')] },

  {
    from: 'limited',
    context: limited,
    event: message(),
    to: 'present',
    outcomes: [says('recovered'), accepted],
    changes: { refusal: null },
  },
  {
    from: 'limited',
    context: limited,
    event: message(byMinutes),
    to: 'limited',
    outcomes: [refused],
    changes: { refusal: byMinutes },
  },
  {
    from: 'limited',
    context: limited,
    event: sealed(later),
    to: 'limited',
    outcomes: [unchanged],
    changes: { clockUntil: later },
  },
  {
    from: 'limited',
    context: limited,
    event: left,
    to: 'away',
    outcomes: [says('left')],
    changes: { clockUntil: now, refusal: null },
  },
  { from: 'limited', context: limited, event: tick(later - 1), to: 'limited', outcomes: [unchanged] },
  {
    from: 'limited',
    context: limited,
    event: tick(later),
    to: 'present',
    outcomes: [says('recovered')],
    changes: { refusal: null },
  },
  {
    from: 'limited',
    context: limitedAway,
    event: tick(later),
    to: 'away',
    outcomes: [says('recovered'), says('left')],
    changes: { refusal: null },
  },
];
