/** The events that webhooks report (contract 17), made from the records of the step that stores an end. */
import { isUncounted } from './records.ts';
import { createHash } from 'node:crypto';
import { timedId } from '../base/ids.ts';
import type { WebhookEvent } from '../base/webhook-events.ts';
import type { Session, Turn } from './store.ts';
import { part } from './key-parts.ts';
import { attendanceOf } from './records/attendance.ts';

/** The part of a delivery that is the same for every webhook. */
export interface StoredEvent {
  readonly type: WebhookEvent;
  readonly body: string;
  readonly traceparent?: string;
}

const endStates: ReadonlySet<string> = new Set(['ended', 'expired']);
export const hasEnd = ({ machine }: Session): boolean => endStates.has(machine.state);

/** The event of a turn's end; null for a trial and in a test. */
export function turnEvent(session: Session, turn: Turn, atMs: number): StoredEvent | null {
  if (isUncounted(session)) return null;
  const type = turn.status === 'failed' ? 'turn.failed' : 'turn.completed';
  const { id, status, errorCode, endedAt, traceparent } = turn;
  const body = bodyOf(session, type, endedAt, atMs, { turn_id: id, status, error_code: errorCode });
  return { type, body, ...(traceparent !== undefined && { traceparent }) };
}

/** The event of a session that ends with a step; null for a trial and in a test, and for a session that has no end. */
export function sessionEvent(session: Session, atMs: number): StoredEvent | null {
  const { machine } = session;
  if (!endStates.has(machine.state) || isUncounted(session)) return null;
  const type = machine.state === 'ended' ? 'session.ended' : 'session.expired';
  const { endedAt = null } = machine.context as { endedAt?: number | null };
  const body = bodyOf(session, type, endedAt, atMs, { turn_id: null, status: machine.state, error_code: null });
  return { type, body };
}

const attendanceEvents = {
  waiting: 'session.waiting',
  person: 'session.taken',
  assistant: 'session.returned',
} as const;

/** The event of a session whose attendance moves; null for a trial. */
export function attendanceEvent(session: Session, atMs: number): StoredEvent | null {
  if (session.channel === 'console') return null;
  const { state, name } = attendanceOf(session, atMs);
  const type = attendanceEvents[state];
  const body = bodyOf(session, type, null, atMs, { turn_id: null, status: state, error_code: null, person: name });
  return { type, body };
}

interface End {
  readonly turn_id: string | null;
  readonly status: string;
  readonly error_code: string | null;
  /** The name of the person who has the session; only of the desk's events. */
  readonly person?: string | null;
}

const bodyOf = (
  { id, assistantId, channel, metadata }: Session,
  type: WebhookEvent,
  endedAt: number | null,
  atMs: number,
  { turn_id, status, error_code, person }: End,
): string =>
  `{"type":"${type}","timestamp":"${timeOf(endedAt === null ? atMs : endedAt * 1000)}","data":{` +
  `"session_id":${JSON.stringify(id)},"assistant_id":${JSON.stringify(assistantId)},` +
  `"turn_id":${JSON.stringify(turn_id)},"channel":"${channel}","status":"${status}",` +
  `"error_code":${JSON.stringify(error_code)},${person === undefined ? '' : `"person":${JSON.stringify(person)},`}"metadata":${JSON.stringify(metadata)}}}`;

let lastTime = { atMs: NaN, text: '' };

/** A time as ISO 8601. The turns that end in one second share it. */
function timeOf(atMs: number): string {
  if (lastTime.atMs !== atMs) lastTime = { atMs, text: new Date(atMs).toISOString() };
  return lastTime.text;
}

/**
 * An event as Redis keeps it: type, span and body. A step of every turn brings one along, also where no webhook waits,
 * so it is text and not packed.
 */
export const eventText = ({ type, traceparent = '', body }: StoredEvent): string => `${type} ${traceparent} ${body}`;

export function eventOf(text: string): StoredEvent {
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  const traceparent = text.slice(first + 1, second);
  return {
    type: text.slice(0, first) as WebhookEvent,
    body: text.slice(second + 1),
    ...(traceparent !== '' && { traceparent }),
  };
}

/** The beginning of the ids of deliveries that are made at this time. */
export const deliveryHead = (atMs: number): string => timedId('dlv', atMs);

/** The id of a delivery: every store derives the same one from the same step. */
export const deliveryId = (head: string, sourceId: string, webhookId: string): string =>
  head +
  createHash('sha1')
    .update(`${part(sourceId)}/${part(webhookId)}`)
    .digest('hex')
    .slice(0, 16);
