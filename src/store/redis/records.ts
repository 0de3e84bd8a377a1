/** Records as they travel: packed beside the fields that a script looks at. */
import type { Basis, Message, Remembered, Session } from '../../store.ts';
import { codePoints } from '../../text.ts';
import { isOdd, packField, packRow, unpackRow } from '../codec.ts';
import { memoryOf } from './keys.ts';
import type { Argument, Reply } from './reply.ts';

/** Record, last activity, expiry and state, as every script takes a session. */
export const sessionFields = (session: Session): Argument[] => [packRow(session, isOdd(session)), session.lastActivityAt, session.expiresAt, session.machine.state];

/**
 * Version and mark, as every script takes what a decision was made on: the mark with its name, as the record holds them. No client
 * is told of a mark, so that none can give its session a field that passes for one.
 */
export const basisFields = ({ version, mark }: Basis): Argument[] => [version, mark === undefined ? '' : packField('mark', mark)];

/** A message without its text, which lies behind it as it is: a script may then append to it. */
export const messageRecord = (message: Message): Uint8Array => packRow({ ...message, content: '' });

/** Record, text and code points of a message that stands. */
export const messageFields = (message: Message | null): Argument[] =>
  message === null ? ['', '', 0] : [messageRecord(message), message.content, codePoints(message.content)];

/** A message as it is stored: index, code points, turn while it streams and the record's length, each ended by a colon; record; text. */
export function messageOf(stored: Reply): { message: Message; index: string } {
  const bytes = stored as Buffer;
  const ends: number[] = [];
  for (let at = 0; ends.length < 4; at = ends.at(-1)! + 1) ends.push(bytes.indexOf(0x3a, at));
  const recordAt = ends[3]! + 1;
  const textAt = recordAt + Number(bytes.toString('latin1', ends[2]! + 1, ends[3]));
  const record = unpackRow<Message>(bytes.subarray(recordAt, textAt));
  return { message: { ...record, content: bytes.toString('utf8', textAt) }, index: bytes.toString('latin1', 0, ends[0]) };
}

/** Name, record, result and the milliseconds that a memory lasts. */
export const memoryFields = (workspaceId: string, remember: Remembered | null, nowMs: number): Argument[] =>
  remember === null
    ? ['', '', '', 0]
    : [memoryOf(workspaceId, remember.scope, remember.key), packRow(remember), remember.resultId, remember.untilMs - nowMs];
