/** Records as they are sent: packed, beside the fields that a script reads. */
import type {
  AmendedMessage,
  Assistant,
  Basis,
  CatalogEntry,
  Feedback,
  IdempotencyRecord,
  Message,
  Session,
  Turn,
} from '../store.ts';
import { codePoints } from '../../base/text.ts';
import { isOdd, packRow, unpackRow } from '../codec.ts';
import { packer } from '../packer.ts';
import { countedVersion, haltedAssistant, haltMove, releaseRow } from '../releases.ts';
import { attendanceEvent, deliveryHead, eventText, sessionEvent, turnEvent } from '../webhook-events.ts';
import { moveAround } from './history.ts';
import { memoryDigest, part } from './keys.ts';
import type { Argument, RedisReply } from './reply.ts';
import { bytesOfReply } from './reply.ts';

/** A session in the form that every script takes: the record, and the fields that lists and sweeps read. */
export const sessionFields = (session: Session) => ({
  record: packRow(session, isOdd(session)),
  active: session.lastActivityAt,
  expires: session.expiresAt,
  state: session.machine.state,
});

/** The event of a session that ends with a step; empty if it does not end. */
export function endingFields(session: Session, nowMs: number) {
  const event = sessionEvent(session, nowMs);
  return event === null ? noEnding : { ...eventTime(nowMs), sessionEvent: eventText(event) };
}

const noEnding = { deliveryHead: '', eventAt: '', sessionEvent: '' };

/** The events of a turn's end; empty for a trial. */
export function endedFields(session: Session, turn: Turn, nowMs: number) {
  const event = turnEvent(session, turn, nowMs);
  return event === null
    ? { ...noEnding, turnEvent: '' }
    : { ...endingFields(session, nowMs), ...eventTime(nowMs), turnEvent: eventText(event) };
}

/** The event of a session whose attendance moves; empty for none. */
export function attendanceFields(session: Session | null, source: string, nowMs: number) {
  const event = session && attendanceEvent(session, nowMs);
  return event === null
    ? { deliveryHead: '', eventAt: '', event: '', source: '' }
    : { ...eventTime(nowMs), event: eventText(event), source: part(source) };
}

const eventTime = (nowMs: number) => ({ deliveryHead: deliveryHead(nowMs), eventAt: nowMs });

/** The version that a turn is counted for; its number is empty for a trial. */
export const versionFields = (
  session: Pick<Session, 'assistantId' | 'channel'>,
  version: number | undefined,
): { readonly assistant: string; readonly number: number | '' } => ({
  assistant: part(session.assistantId),
  number: countedVersion(session, version) ?? '',
});

/**
 * The release of an assistant whose record has this version: what the steps of sessions and turns read, and what a halt
 * leaves. Empty for other records.
 */
export function releaseFields({ kind, record }: CatalogEntry, version: number) {
  if (kind !== 'assistant' || record.release == null) return noRelease;
  const { revision, candidate, since, halt, isHalted } = releaseRow(record.release);
  return {
    revision,
    since,
    candidate: candidate ?? '',
    percent: halt?.failedPercent ?? '',
    after: halt?.afterTurns ?? '',
    halted: isHalted ? 1 : 0,
    ...(halt !== null && !isHalted ? haltedFields(haltedAssistant(record), version + 1) : notHalting),
  };
}

/** The record after a halt, and its entry in the history around the time. */
const haltedFields = (halted: Assistant, version: number) => ({
  haltedRecord: packRow(halted) as Argument,
  ...moveAround(haltMove(halted, version, 0)),
});

const notHalting = { haltedRecord: '', head: '', tail: '' };
const noRelease = { revision: '', since: '', candidate: '', percent: '', after: '', halted: '', ...notHalting };

/** The events that a webhook wants; empty if it is disabled, and for other records. */
export const wantsField = ({ kind, record }: CatalogEntry): string =>
  kind === 'webhook' && record.enabled ? record.events.join() : '';

/**
 * The basis of a decision in the form that every script takes: the mark with its name, as the record contains it. No
 * client gets to see a mark, so no client can give its session a field that passes for one.
 */
export const basisFields = ({ version, mark }: Basis) => ({
  version,
  mark: mark === undefined ? '' : packer.packField('mark', mark),
});

/** A message without its text, which is stored unpacked after it: so a script can append to it. */
export const messageRecord = (message: Message): Uint8Array => packRow({ ...message, content: '' });

/** A message that no longer changes: its record, its text and the text's code points; empty without a message. */
export const messageFields = (message: Message | null): { message: Argument; content: string; points: number } =>
  message === null
    ? { message: '', content: '', points: 0 }
    : { message: messageRecord(message), content: message.content, points: codePoints(message.content) };

/** An earlier message as it is stored; empty without one. */
export function amendsField(amends: AmendedMessage | undefined): Argument {
  if (amends === undefined) return '';
  const { message, content, points } = messageFields(amends.message);
  const record = message as Uint8Array;
  return Buffer.concat([Buffer.from(`${amends.index}:${points}::${record.length}:`), record, Buffer.from(content)]);
}

/**
 * A stored message: index, code points, turn while it streams and the record's length, each ended by a colon; then the
 * record; then the text.
 */
export function readMessage(stored: RedisReply): { message: Message; index: string } {
  const bytes = bytesOfReply(stored);
  const ends: number[] = [];
  for (let at = 0; ends.length < 4; at = ends.at(-1)! + 1) ends.push(bytes.indexOf(0x3a, at));
  const recordAt = ends[3]! + 1;
  const textAt = recordAt + Number(bytes.toString('latin1', ends[2]! + 1, ends[3]));
  const record = unpackRow<Message>(bytes.subarray(recordAt, textAt));
  return {
    message: { ...record, content: bytes.toString('utf8', textAt) },
    index: bytes.toString('latin1', 0, ends[0]),
  };
}

/**
 * The memory of a request: its name, its record, its result and the milliseconds that it lasts; empty without a
 * request.
 */
export const memoryFields = (
  remember: IdempotencyRecord | null,
  nowMs: number,
): { memory: string; memoryRecord: Argument; result: string; lasts: number } => {
  if (remember === null) return { memory: '', memoryRecord: '', result: '', lasts: 0 };
  return {
    memory: memoryDigest(remember.scope, remember.key),
    memoryRecord: packRow(remember),
    result: remember.resultId,
    lasts: remember.untilMs - nowMs,
  };
};

/** The memory that a turn is found by, as `memoryFields`. */
export function foundFields(
  found: IdempotencyRecord | null,
  nowMs: number,
): { found: string; foundRecord: Argument; foundResult: string; foundLasts: number } {
  const { memory, memoryRecord, result, lasts } = memoryFields(found, nowMs);
  return { found: memory, foundRecord: memoryRecord, foundResult: result, foundLasts: lasts };
}

/** Feedback as the scripts store it: the rating, which a script reads, then the packed record; empty without feedback. */
export const feedbackFields = (feedback: Feedback | null): { rating: string; feedback: Argument } =>
  feedback === null ? { rating: '', feedback: '' } : { rating: feedback.rating, feedback: packRow(feedback) };

/** Stored feedback as a field of its turn or message. */
export function feedbackOf(stored: RedisReply): { readonly feedback?: Feedback } {
  if (stored === null) return {};
  const bytes = bytesOfReply(stored);
  return { feedback: unpackRow<Feedback>(bytes.subarray(bytes.indexOf(0x20) + 1)) };
}
