/**
 * The common part of the stores' lists of sessions: which sessions a filter lets through, and which ids can be among
 * them.
 */
import { timeText } from '../base/ids.ts';
import type { PageRequest, Session, SessionFilter } from './store.ts';

/**
 * Whether a session passes the filter. For the API's own lists every store decides by the session's index rows; other
 * filters need the session itself.
 */
export function matchesFilter(session: Session, filter: SessionFilter): boolean {
  const { status, activeSince, now } = filter;
  if (session.lastActivityAt < activeSince) return false;
  if (!matchesRecord(session, filter)) return false;
  if (status === null) return true;
  const { state } = session.machine;
  const over = state === 'ended' || state === 'expired';
  return status === (over ? state : session.expiresAt <= now ? 'expired' : 'open');
}

/** The part of a filter that only a session's record can answer. */
export function matchesRecord(
  session: Session,
  { channels, keyId, visitorId, createdFrom, createdBefore, beginning }: SessionFilter,
): boolean {
  if (channels && !channels.includes(session.channel)) return false;
  if (keyId !== undefined && keyId !== null && session.keyId !== keyId) return false;
  if (visitorId != null && session.link?.visitorId !== visitorId) return false;
  if (session.createdAt < (createdFrom ?? 0) || session.createdAt >= (createdBefore ?? Infinity)) return false;
  return beginning === undefined || beginning === null || begins(session, beginning);
}

function begins({ id, visitor }: Session, text: string): boolean {
  if (id.startsWith(text)) return true;
  const lower = text.toLowerCase();
  return Object.values(visitor).some((value) => String(value).toLowerCase().startsWith(lower));
}

/**
 * Largest distance of a session's id from its `createdAt`: a process whose clock went back makes ids that are ahead
 * of it.
 */
const slackMs = 86_400_000;

/**
 * The ids between which a filter on the time of creation lets sessions through: an id begins with its time. `after` is
 * where the page begins, in the form of a key; `isPast` says of an id whether neither it nor any that follows it can be
 * in the list.
 */
export function spanOf(
  { createdFrom, createdBefore }: SessionFilter,
  order: PageRequest['order'],
  after: string | null,
): { after: string | null; isPast(id: string): boolean } {
  const textAt = (second: number | null | undefined, shiftMs: number): string | null =>
    second == null ? null : `ses_${timeText(Math.min(Math.max(0, second * 1000 + shiftMs), latestMs))}`;
  const [oldest, newest] = [textAt(createdFrom, -slackMs), textAt(createdBefore, slackMs)];
  if (order === 'asc')
    return {
      after: oldest !== null && (after ?? '') < oldest ? oldest : after,
      isPast: (id) => newest !== null && id > newest,
    };
  return {
    after: newest !== null && (after === null || after > newest) ? newest : after,
    isPast: (id) => oldest !== null && id < oldest,
  };
}

/** The latest time that an id can have. */
const latestMs = 2 ** 45 - 1;
