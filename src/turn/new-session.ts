/** A session that is to be created: its parts, and its record. */
import { openedSession, sessionVersion } from '../../machines/session.ts';
import type { Unsealed } from '../store/records.ts';
import type { Cause, IdempotencyRecord, Message, ReleaseBasis, Session, SessionLink } from '../store/store.ts';

export interface NewSession {
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly channel: Session['channel'];
  /** The API key that creates it; absent without one. */
  readonly keyId?: string | null;
  /** Whether a client of another protocol holds the conversation. */
  readonly isForeign?: true;
  readonly visitor: Session['visitor'];
  /** Left out unless a visitor of a link holds the conversation. */
  readonly link?: SessionLink;
  readonly metadata: Session['metadata'];
  readonly maxCallSeconds: number;
  /** The greeting, or a function that returns the greeting of the session; null for none. */
  readonly greeting: string | null | ((session: Session) => string | null);
  /** The messages of a conversation that was held elsewhere before (contract 14). */
  readonly earlier?: readonly Pick<Message, 'role' | 'content'>[];
  readonly remember: Omit<IdempotencyRecord, 'resultId' | 'untilMs'> | null;
  /** Whether it is remembered until it ends, and not for a day. */
  readonly remembersItself?: boolean;
  /** The session whose idempotency record this one takes over. */
  readonly replaces?: string;
  /** The number of trials that may be open at a time; for a trial only. */
  readonly trialsMax?: number;
  /** The key of the run of tests that it belongs to; for a session of a test only. */
  readonly run?: string;
  readonly cause?: Cause;
}

/** The version that a new session is on. */
export interface SessionVersion {
  readonly number: number;
  /** The release that gave it the version. */
  readonly release: ReleaseBasis;
  /** Number of recalls of the assistant's sessions so far; undefined for none. */
  readonly recalls: number | undefined;
}

/** The versions that people get have changed since the version of a session was chosen. */
export class ReleaseMoved extends Error {}

/** The record of a new session, before its greeting. Assignments: spreading fields costs a twentieth of a creation. */
export function openedSessionRecord(
  wanted: NewSession,
  version: SessionVersion | null,
  { id, createdAt, mark }: Pick<Session, 'id' | 'createdAt' | 'mark'>,
): Unsealed<Session> {
  const expiresAt = createdAt + wanted.maxCallSeconds;
  const session: Unsealed<Session> = {
    id,
    workspaceId: wanted.workspaceId,
    assistantId: wanted.assistantId,
    channel: wanted.channel,
    visitor: wanted.visitor,
    metadata: wanted.metadata,
    maxCallSeconds: wanted.maxCallSeconds,
    createdAt,
    expiresAt,
    lastActivityAt: createdAt,
    messageCount: wanted.earlier?.length ?? 0,
    mark,
    machine: { version: sessionVersion, state: 'open', context: openedSession(expiresAt) },
  };
  if (wanted.keyId !== undefined) session.keyId = wanted.keyId;
  if (wanted.isForeign) session.isForeign = true;
  if (wanted.link !== undefined) session.link = wanted.link;
  if (version === null) return session;
  session.assistantVersion = version.number;
  if (version.recalls !== undefined) session.recalls = version.recalls;
  return session;
}
