/** Looks up assistants and sessions, and checks that the caller may use them: 404 comes before 403 (contract 3). */
import { isUncounted } from '../store/records.ts';
import { secondsOf } from '../base/clock.ts';
import { Failure, type ErrorName } from '../base/errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { AnsweringAssistant } from '../host/versions.ts';
import type { LiveSession } from '../turn/in-flight.ts';
import { limits } from '../base/limits.ts';
import { thenSync } from '../base/then-sync.ts';
import type { Services } from './services.ts';
import type { Cause, Session } from '../store/store.ts';
import { sessionView } from './views.ts';
import type { Principal } from './principal.ts';

export const mayUse = ({ assistantIds }: Principal, assistantId: string): boolean =>
  assistantIds?.includes(assistantId) ?? true;

/** Returns the API key that the principal's requests count for; null for another kind of principal. */
export const keyOf = ({ channel, id }: Principal): string | null => (channel === 'api' ? id : null);

/** Throws 403 `assistant_not_permitted`. */
export function checkPermission(principal: Principal, assistantId: string): void {
  if (!mayUse(principal, assistantId)) throw new Failure('assistant_not_permitted');
}

/** The assistant, whether or not the caller may use it: 404 if the workspace does not have it. */
export async function findAssistant(
  { workspaceId }: Principal,
  id: string,
  { host }: Services,
): Promise<AssistantActor> {
  const actor = await host.assistants.of(workspaceId, id);
  if (actor === null) throw new Failure('assistant_not_found');
  return actor;
}

/** The assistant: 404 if the workspace does not have it, then 403 if the caller may not use it. */
export async function reachAssistant(principal: Principal, id: string, services: Services): Promise<AssistantActor> {
  const actor = await findAssistant(principal, id, services);
  checkPermission(principal, id);
  return actor;
}

/**
 * The assistants that a list may contain: the requested one, otherwise all that the caller may use; null for any. An
 * assistant that the caller may not use is treated as unknown (contract 4).
 */
export async function checkListed(
  principal: Principal,
  assistantId: string | undefined,
  { host }: Services,
): Promise<readonly string[] | null> {
  if (assistantId === undefined) return principal.assistantIds;
  const actor = await host.assistants.of(principal.workspaceId, assistantId);
  if (actor === null || !mayUse(principal, assistantId)) throw new Failure('assistant_not_found');
  return [assistantId];
}

/** Unix seconds before which a session's last activity puts it past retention. */
export const retainedSince = (workspaceId: string, { host, clock }: Services): number | Promise<number> =>
  thenSync(host.workspaces.of(workspaceId), (workspace) => {
    const days = workspace?.record.retentionDays ?? limits.retentionDaysDefault;
    return secondsOf(clock.now()) - days * 86_400;
  });

/** The workspace's session: 404 if it is unknown, another workspace's or past retention. */
export const readSession = (workspaceId: string, id: string, services: Services): Session | Promise<Session> =>
  thenSync(services.host.sessions.read(workspaceId, id), (session) => {
    if (session === null) throw new Failure('session_not_found');
    return checkRetained(session, services);
  });

const checkRetained = (session: Session, services: Services): Session | Promise<Session> =>
  thenSync(retainedSince(session.workspaceId, services), (since) => {
    if (session.lastActivityAt < since) throw new Failure('session_not_found');
    return session;
  });

/**
 * Throws 404 for a session that is hidden from the caller: only the console sees trials and sessions of tests, and a visitor only the
 * visitor's own sessions (contract 9).
 */
export function checkVisible({ channel, link }: Session, { id, channel: from, visitor }: Principal): void {
  const hidden = (isUncounted({ channel }) && from !== 'console') || (visitor !== undefined && link?.visitorId !== id);
  if (hidden) throw new Failure('session_not_found');
}

/** The session: 404 as above, then 403. */
export async function reachSession(principal: Principal, id: string, services: Services): Promise<Session> {
  const session = await readSession(principal.workspaceId, id, services);
  checkVisible(session, principal);
  checkPermission(principal, session.assistantId);
  return session;
}

/** Throws 409 for a session that has ended. */
export function checkOpen(session: Session, { clock }: Services): void {
  const { status } = sessionView(session, clock.now());
  if (status !== 'open') throw new Failure(status === 'ended' ? 'session_ended' : 'session_expired');
}

/** The assistant as it answers the session, or a new session without one. */
export const answeringOf = (
  { record }: AssistantActor,
  session: Session | null,
  { host: { versions } }: Services,
): AnsweringAssistant | Promise<AnsweringAssistant> =>
  session === null ? versions.current(record) : versions.ofSession(record, session);

/** The assistant as it answers the session's next turn, or a new session without one. */
export const answeringNextTurn = (
  { record }: AssistantActor,
  session: Session | null,
  { host: { versions } }: Services,
): AnsweringAssistant | Promise<AnsweringAssistant> =>
  session === null ? versions.current(record) : versions.ofNextTurn(record, session);

/** The refusal of the assistant's machine to a turn of the session, a trial or another; null if it does not refuse. */
export const turnRefusal = (
  { channel }: Session,
  assistant: AssistantActor,
  cause: Cause,
  { host: { assistants } }: Services,
): ErrorName | null =>
  channel === 'console' ? assistants.trialRefusal(assistant, cause) : assistants.refusal(assistant, cause);

/** The session's actor, with the refusals of `reachSession`. */
export const reachActor = (principal: Principal, id: string, services: Services): LiveSession | Promise<LiveSession> =>
  thenSync(services.host.sessions.of(principal.workspaceId, id), (actor) => {
    if (actor === null) throw new Failure('session_not_found');
    return thenSync(checkRetained(actor.record, services), (session) => {
      checkVisible(session, principal);
      checkPermission(principal, session.assistantId);
      return actor;
    });
  });

/** A session's actor with its assistant, and the assistant as it answers the session's next turn. */
export interface ReachedConversation {
  readonly actor: LiveSession;
  readonly assistant: AssistantActor;
  readonly answering: AnsweringAssistant;
}

/** A session's actor with its assistant; nulls if the assistant is deleted. */
export type Reached =
  | ReachedConversation
  | { readonly actor: LiveSession; readonly assistant: null; readonly answering: null };

/**
 * The session's actor as this process knows it, with the refusals of `reachSession`, and its assistant. The fields that
 * the refusals depend on never change in a session, except its retention, which is a day at least (see `Sessions.of`).
 * Workspace and assistant are read at the same time, where they must be read.
 */
export const reachConversation = (principal: Principal, id: string, services: Services): Reached | Promise<Reached> =>
  thenSync(services.host.sessions.of(principal.workspaceId, id, true), (actor) => {
    if (actor === null) throw new Failure('session_not_found');
    const retained = checkRetained(actor.record, services);
    const published = services.host.assistants.of(principal.workspaceId, actor.record.assistantId);
    // A refusal of the session comes first, also where the assistant cannot be read.
    if (published instanceof Promise) published.catch(() => {});
    return thenSync(retained, (session) => {
      checkVisible(session, principal);
      checkPermission(principal, session.assistantId);
      return thenSync<AssistantActor | null, Reached>(published, (assistant) =>
        assistant === null
          ? { actor, assistant: null, answering: null }
          : thenSync(services.host.versions.ofNextTurn(assistant.record, actor.record), (answering) => ({
              actor,
              assistant,
              answering,
            })),
      );
    });
  });
