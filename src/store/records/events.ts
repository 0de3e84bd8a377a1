/**
 * Numbers of a session's events (contract 23), from 1. No event has a row: each is derived from the message or the turn
 * whose step stored it, and only a turn stores a number, its first event's. A turn has the events
 * `message.created` of the user's message, `turn.started`, and with its end `message.created` of the reply and
 * `turn.ended`. A message outside of a turn has one event, or two with a change of who answers; it has its number, unless
 * the step that created the session stored it. Each message of a turn that has no number, has one event, too.
 */
import { firstIndexOf, type Message, type Session, type Turn } from '../records.ts';

/** Consecutive numbers. */
export interface EventNumbers {
  readonly from: number;
  readonly count: number;
}

/** Ranges that a session keeps; beyond it the two oldest become one. */
const rangesMax = 100;

/** Number of events so far, with all events of the turn in flight. Before the first turn, each message has one. */
export const eventCountOf = ({ eventCount, messageCount }: Pick<Session, 'eventCount' | 'messageCount'>): number =>
  eventCount ?? messageCount;

/** Number of events of a turn until its end. */
export const turnEvents = ({ unasked }: Pick<Turn, 'unasked'>): number => (unasked ? 3 : 4);

/** Number of events of a message outside of a turn: a change of who answers, and the message unless it is empty. */
export const eventsOfMessage = ({ attendance, content }: Pick<Message, 'attendance' | 'content'>): number =>
  attendance === undefined ? 1 : content === '' ? 1 : 2;

/** The numbers of a turn's events. */
export const numbersOf = (turn: Turn): EventNumbers =>
  turn.sequence === undefined
    ? { from: firstIndexOf(turn) + 1, count: turn.unasked ? 1 : 2 }
    : { from: turn.sequence, count: turnEvents(turn) };

/** The session's fields of events without a turn. `isLast`: no other turn has begun since. */
export function withoutEvents(
  session: Session,
  turn: Turn,
  isLast: boolean,
): Pick<Session, 'eventCount' | 'withdrawnEvents'> {
  const numbers = numbersOf(turn);
  if (isLast) return { eventCount: numbers.from - 1 };
  const ranges = [...(session.withdrawnEvents ?? []), numbers].sort((one, other) => one.from - other.from);
  const [first, second, ...rest] = ranges;
  if (ranges.length <= rangesMax) return { withdrawnEvents: ranges };
  return { withdrawnEvents: [{ from: second!.from, count: first!.count + second!.count }, ...rest] };
}

/** The number that clients see: numbers without an event are left out. */
export const shownNumber = ({ withdrawnEvents = [] }: Pick<Session, 'withdrawnEvents'>, stored: number): number =>
  withdrawnEvents.reduce((shown, { from, count }) => (from < stored ? shown - count : shown), stored);

/** The stored number of an event that clients see under `shown`. */
export const storedNumber = ({ withdrawnEvents = [] }: Pick<Session, 'withdrawnEvents'>, shown: number): number =>
  withdrawnEvents.reduce((stored, { from, count }) => (stored >= from ? stored + count : stored), shown);
