/** Formats messages and events of a session for a terminal. */
import type { Attendance, Message, SessionEvent } from '../client/types.ts';
import { oneLine, printable, time } from './output.ts';

export function renderMessage(message: Message): string {
  const text = printable(message.content).replace(/^/gm, '  ');
  return `${time(message.created_at)}  ${oneLine(message.by?.name ?? message.role)}${ending(message)}\n${text}`;
}

/** State of a message that did not complete. */
function ending(message: Message): string {
  if (message.status === 'completed') return '';
  return ` (${[message.status, message.stop_reason, message.error_code].filter(Boolean).join(', ')})`;
}

export const renderAttendance = ({ state, person }: Attendance): string =>
  state === 'waiting' ? 'waits for a person' : `${oneLine(person?.name ?? 'the assistant')} answers`;

export function renderEvent(event: SessionEvent): string {
  if (event.type === 'message.created') return renderMessage(event.message);
  if (event.type === 'turn.started') return `turn ${event.turn_id} started`;
  if (event.type === 'attendance.changed') return renderAttendance(event.attendance);
  return event.type === 'turn.ended' ? `turn ${event.turn_id} ${event.status}` : `session ${event.status}`;
}
