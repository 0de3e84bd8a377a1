/** The principal on whose behalf a conversation is held. */
import { isVisitorChannel } from '../host/visitors.ts';
import type { By, Cause, Session } from '../store/store.ts';
import type { CallAnswer } from '../turn/pending-tool-calls.ts';

/** A principal that holds a conversation: all that the handlers of sessions, turns and transcripts know of their caller. */
export interface Principal {
  readonly workspaceId: string;
  /** The principal's id; an `Idempotency-Key` is scoped to it. */
  readonly id: string;
  /** The kind that histories show, with the id. */
  readonly kind: By['kind'];
  readonly name: string;
  /** The channel that its sessions are opened on. */
  readonly channel: Session['channel'];
  /** The assistants that the principal may use; null for all of the workspace. */
  readonly assistantIds: readonly string[] | null;
  /**
   * A visitor of the link, who reaches only the visitor's own sessions and whose messages count against the assistant's
   * limits. `addressKey`: returns a digest of the visitor's address under a key of the UTC day of a time. `signedFields`:
   * the fields that the site has signed; null for a visitor whom it has not signed.
   */
  readonly visitor?: {
    readonly addressKey: (atMs: number) => string;
    readonly signedFields: Session['visitor'] | null;
  };
  /** Writes the audit rows of a person of the console (contract 22). */
  readonly auditStep?: Cause['auditStep'];
}

/**
 * Names the principal among the callers that share the voice processes: a key, a person of the console, or an address of
 * visitors.
 */
export const voiceCaller = ({ kind, id, visitor }: Principal, atMs: number): string =>
  visitor === undefined ? `${kind}/${id}` : `address/${visitor.addressKey(atMs)}`;

/** Returns the cause of a step that a request of the principal makes. */
export const causeByPrincipal = ({ kind, id, name, auditStep }: Principal, requestId: string): Cause => {
  const cause = { requestId, by: { kind, id, name } };
  return auditStep === undefined ? cause : { ...cause, auditStep };
};

/**
 * Whether the principal may give this answer to a call that waits in the session (contract 13). The visitor alone approves
 * what the visitor was asked; anybody else may decline it. A visitor gives no result: a client's functions belong to
 * the callers of the API.
 */
export const mayAnswer = ({ visitor }: Principal, { channel }: Session, answer: CallAnswer): boolean =>
  'output' in answer ? visitor === undefined : visitor !== undefined || !answer.approved || !isVisitorChannel(channel);
