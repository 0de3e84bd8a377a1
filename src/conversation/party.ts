/** The party on whose behalf a conversation is held. */
import type { By, Cause, Session } from '../store/store.ts';

/** A party that holds a conversation: all that the handlers of sessions, turns and transcripts know of their caller. */
export interface Party {
  readonly workspaceId: string;
  /** The party's id; an `Idempotency-Key` is scoped to it. */
  readonly id: string;
  /** The kind that histories show, with the id. */
  readonly kind: By['kind'];
  readonly name: string;
  /** The channel that its sessions are opened on. */
  readonly channel: Session['channel'];
  /** The assistants that the party may use; null for all of the workspace. */
  readonly assistantIds: readonly string[] | null;
  /** A visitor of the link, who reaches sessions of their own alone and whose messages count against the assistant's limits. `addressKey`: a digest of the visitor's address. */
  readonly visitor?: { readonly addressKey: string };
}

/** Returns the cause of a step that a request of the party makes. */
export const causeByParty = ({ kind, id, name }: Party, requestId: string): Cause => ({ requestId, by: { kind, id, name } });
