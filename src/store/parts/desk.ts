/** The part of a store that keeps who answers a session (contract 23). */
import type { AuditEntry, IdempotencyRecord, Message, Session, UsageCounts } from '../records.ts';
import type { AskedLimit, TakenLimit } from './limits.ts';
import type { Page, PageRequest } from './pages.ts';
import type { Basis } from './sessions.ts';
import type { AmendedMessage } from './turns.ts';

/** A move of a session at the desk: who answers changes, or a message comes that no turn answers. */
export interface AttendSession extends Basis {
  /** The session after the step; its `messageCount` counts the new messages. */
  readonly session: Session;
  /** The new messages, in order: they are the session's last. */
  readonly messages: readonly Message[];
  /**
   * The turn in flight that the step silences: from then on no output and no call of it is stored. The rest of its lease
   * is cut, as by `TurnStore.requestStop`.
   */
  readonly silences?: { readonly turnId: string; readonly leaseUntilMs: number } | undefined;
  /** The message whose tool calls the step declines. */
  readonly amends?: AmendedMessage | undefined;
  /** The request, to be remembered; if an earlier one under its key is, the step changes nothing. */
  readonly remember: IdempotencyRecord | null;
  /** Limits that the message takes, all or none. */
  readonly asked?: readonly AskedLimit[] | undefined;
  readonly counts?: Partial<Pick<UsageCounts, 'personMessages' | 'handovers'>> | undefined;
  /** The id of the new message with the change that webhooks report. */
  readonly reports?: string | undefined;
  readonly audit?: AuditEntry | undefined;
  readonly nowMs: number;
}

export type AttendedSession =
  | { readonly outcome: 'stored'; readonly version: number }
  // an earlier request under the key; looked at before everything else
  | { readonly outcome: 'remembered'; readonly remembered: IdempotencyRecord }
  | { readonly outcome: 'lost' } // another writer moved the session
  | { readonly outcome: 'limited'; readonly answers: readonly TakenLimit[] }; // a limit refuses

export interface DeskStore {
  /**
   * Stores the session with the new messages, silences its turn, takes the limits and remembers the request, all or none.
   * A lost answer: a repeat under the same idempotency key is answered with the message; without a key the caller reads
   * the session again.
   */
  attend(step: AttendSession): Promise<AttendedSession>;
  /** Open sessions of a workspace that wait for a person or have one, in the order of their ids. */
  list(workspaceId: string, page: PageRequest): Promise<Page<Session>>;
  /** Workspaces that may have such sessions. */
  workspaces(): Promise<readonly string[]>;
}
