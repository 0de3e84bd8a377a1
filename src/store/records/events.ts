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

/** Number of events of a turn's end: the reply, and the end itself. */
export const endEvents = 2;

/** Number of events of a turn, with its end. */
export const turnEvents = ({ unasked }: Pick<Turn, 'unasked'>): number => (unasked ? 3 : 4);

/** Number of events of a message outside of a turn: a change of who answers, and the message unless it is empty. */
export const eventsOfMessage = ({ attendance, content }: Pick<Message, 'attendance' | 'content'>): number =>
  attendance === undefined ? 1 : content === '' ? 1 : 2;

/** The number of the first event of a turn's end. */
export const endNumberOf = (
  turn: Turn & { readonly sequence: number },
  { turnEnd }: Pick<Session, 'turnEnd'>,
): number =>
  turn.endSequence ?? (turnEnd?.turnId === turn.id ? turnEnd.number : turn.sequence + turnEvents(turn) - endEvents);

/** The numbers of a turn's events, and of the desk's events between them. */
export const numbersOf = (turn: Turn, session: Pick<Session, 'turnEnd'>): EventNumbers =>
  isNumbered(turn)
    ? { from: turn.sequence, count: endNumberOf(turn, session) + endEvents - turn.sequence }
    : { from: firstIndexOf(turn) + 1, count: turn.unasked ? 1 : 2 };

/** Whether the turn has its first event's number; turns of versions without events have none. */
export const isNumbered = (turn: Turn): turn is Turn & { readonly sequence: number } => turn.sequence !== undefined;

/** The turn as its end is stored, with the number of its end where that is not the usual one. */
export const endedIn = <T extends Turn>(turn: T, { turnEnd }: Pick<Session, 'turnEnd'>): T =>
  turnEnd?.turnId === turn.id ? { ...turn, endSequence: turnEnd.number } : turn;

/** The session's fields of events without a turn. `isLast`: no other turn has begun since. */
export function withoutEvents(
  session: Session,
  turn: Turn,
  isLast: boolean,
): Pick<Session, 'eventCount' | 'withdrawnEvents'> {
  const { from, count } = numbersOf(turn, session);
  if (isLast) return { eventCount: from - 1 };
  const begun = turnEvents(turn) - endEvents;
  const withdrawn =
    !isNumbered(turn) || count === turnEvents(turn)
      ? [{ from, count }]
      : [
          { from, count: begun },
          { from: from + count - endEvents, count: endEvents },
        ];
  const ranges = [...(session.withdrawnEvents ?? []), ...withdrawn].sort((one, other) => one.from - other.from);
  while (ranges.length > rangesMax) {
    const [first, second] = ranges.splice(0, 2);
    ranges.unshift({ from: second!.from, count: first!.count + second!.count });
  }
  return { withdrawnEvents: ranges };
}

/** The number that clients see: numbers without an event are left out. */
export const shownNumber = ({ withdrawnEvents = [] }: Pick<Session, 'withdrawnEvents'>, stored: number): number =>
  withdrawnEvents.reduce((shown, { from, count }) => (from < stored ? shown - count : shown), stored);

/** The stored number of an event that clients see under `shown`. */
export const storedNumber = ({ withdrawnEvents = [] }: Pick<Session, 'withdrawnEvents'>, shown: number): number =>
  withdrawnEvents.reduce((stored, { from, count }) => (stored >= from ? stored + count : stored), shown);
