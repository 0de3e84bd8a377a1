/** The part of a store that keeps sessions and their messages. */
import type { AuditEntry, IdempotencyRecord, Message, Move, ReleaseBasis, Session, SettledLimit } from '../records.ts';
import type { AskedLimit, TakenLimit } from './limits.ts';
import type { Page, PageRequest, Versioned } from './pages.ts';

export interface CreateSession {
  readonly session: Session;
  readonly greeting: Message | null;
  /** Messages from before the session's first turn, oldest first, behind the greeting (contract 14). */
  readonly earlier?: readonly Message[];
  readonly remember: IdempotencyRecord | null;
  /** The result of an earlier request whose memory this one takes over. */
  readonly replaces?: string;
  /** For a session of the channel `console`: how many of these the workspace may have open at a time. */
  readonly trialsMax?: number;
  /** The release that gave the session its version; absent for a trial. */
  readonly release?: ReleaseBasis | undefined;
  /** For a session of the channel `test`: the key of its run, without which it is not created. */
  readonly run?: string;
  readonly nowMs: number;
  /** The step's entry in the session's history. */
  readonly move?: Move;
  /** The step's row in the audit. */
  readonly audit?: AuditEntry | undefined;
}

export type CreatedSession =
  | { readonly outcome: 'created'; readonly version: number }
  | { readonly outcome: 'remembered'; readonly remembered: IdempotencyRecord }
  | { readonly outcome: 'outdated' } // the versions that people get have changed since the decision
  | { readonly outcome: 'gone' } // the session's run has been removed
  | { readonly outcome: 'full' }; // the workspace has `trialsMax` sessions of the channel `console` open

/**
 * The version of the session that a decision was made on. Both parts must match, or another writer has moved the
 * session: after a failover the store may give the same version again.
 */
export interface Basis {
  readonly version: number;
  /** Undefined for a session without a mark (see `Session`); then only the version is compared. */
  readonly mark: string | undefined;
}

/** Limits that a session takes without a turn. */
export interface ChargeSession extends Basis {
  /** The session after the step. */
  readonly session: Session;
  readonly asked: readonly AskedLimit[];
  readonly nowMs: number;
}

export type ChargedSession =
  | { readonly outcome: 'charged'; readonly version: number }
  | { readonly outcome: 'lost' } // another writer moved the session
  // the limits' answers, as of `LimitStore.take`
  | { readonly outcome: 'limited'; readonly answers: readonly TakenLimit[] };

export interface SessionFilter {
  /** Only sessions of these assistants; null for any. */
  readonly assistantIds: readonly string[] | null;
  readonly status: 'open' | 'ended' | 'expired' | null;
  /** Sessions whose last activity is before this time are past retention and are left out. */
  readonly activeSince: number;
  /** Only sessions of these channels; any if absent. */
  readonly channels?: readonly Session['channel'][] | null;
  /** Only sessions that this API key made. */
  readonly keyId?: string | null;
  /** Only sessions of the link or the widget that this visitor holds. */
  readonly visitorId?: string | null;
  /** Only sessions created at this Unix second or later, and before that one. */
  readonly createdFrom?: number | null;
  readonly createdBefore?: number | null;
  /** Only sessions whose id begins with this text, or whose visitor has a value that does, ignoring case. */
  readonly beginning?: string | null;
  /** The time now, for the status: an open session whose `expiresAt` is reached counts as expired. */
  readonly now: number;
}

export interface SessionStore {
  /**
   * Creates a session with its greeting and the messages from before it, and counts it, or finds the request
   * remembered. A session of the channel `console` is a trial: neither it nor its turns are counted. A lost answer: a
   * repeat under the same idempotency key returns that session; without a key the session stays unused until it expires
   * (contract 2, "Retrying").
   */
  create(step: CreateSession): Promise<CreatedSession>;
  read(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null>;
  /**
   * Works like `read`, and the store sends one notice `session.moved` for the session's next move or its removal. A lost
   * answer: the notice may be sent.
   */
  awaitMove(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null>;
  /** Newest first by default; the cursor is a session's id. */
  list(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>>;
  /**
   * Replaces a session, with no output to store, and adds the move to its history: resolves with the new version, or
   * null if another writer moved the session. A lost answer: the process polls the session until the move is stored or
   * can no longer be applied, and stops the turn of a session that has ended. `settled`: limits that the move settles;
   * `audit`: its row in the audit.
   */
  save(
    session: Session,
    basis: Basis,
    move?: Move,
    settled?: readonly SettledLimit[],
    nowMs?: number,
    audit?: AuditEntry,
  ): Promise<number | null>;
  /**
   * Takes all of these limits and replaces the session, or does neither, because another writer moved the session or
   * one of the limits refuses. A lost answer: the limits may have been taken.
   */
  charge(step: ChargeSession): Promise<ChargedSession>;
  /**
   * Removes a session that was never reported to a client, with its messages, its count in the usage and, if it is
   * remembered under this scope and key, that memory: true once it is gone, false if it has moved or has a turn in
   * flight. It must have had no turn. A lost answer: sent again it is gone.
   */
  discard(
    session: Session,
    basis: Basis,
    remembered: Pick<IdempotencyRecord, 'scope' | 'key'> | null,
  ): Promise<boolean>;
  /** The transcript; a streaming message carries the output stored so far. The cursor is an index. */
  messages(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>>;
  /**
   * The newest messages before index `before`, oldest first: at most `messagesMax` messages and at most `charactersMax`
   * code points in total (the message that crosses the bound is left out).
   */
  recentMessages(
    workspaceId: string,
    sessionId: string,
    before: number,
    charactersMax: number,
    messagesMax: number,
  ): Promise<Message[]>;
}
