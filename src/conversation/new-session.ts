/** Creates sessions on the version that their assistant's release gives them (contract 20). */
import { limits } from '../base/limits.ts';
import type { AssistantActor } from '../host/assistants.ts';
import { releaseBasis, type AnsweringAssistant } from '../host/versions.ts';
import { StoreUnavailable, type Session } from '../store/store.ts';
import { ReleaseMoved, type NewSession, type SessionVersion } from '../turn/new-session.ts';
import type { Services } from './services.ts';

export const releaseMoved = `The versions of the assistant changed ${limits.decisionAttemptsMax} times in a row. Repeat the request.`;

/** The version of a new session of an answering assistant; null for a draft. */
const versionOfNewSession = (answering: AnsweringAssistant): SessionVersion | null =>
  answering.version === undefined
    ? null
    : {
        number: answering.version.number,
        release: releaseBasis(answering)!,
        recalls: answering.release?.recalls,
      };

/**
 * Creates the session that `wanted` describes for the version that it gets; called again after the versions have
 * changed. `visitorId`: all sessions of a visitor get the same version.
 */
export async function createOnVersion(
  assistant: AssistantActor,
  visitorId: string | null,
  wanted: (answering: AnsweringAssistant) => NewSession | Promise<NewSession>,
  { host }: Services,
): Promise<{ session: Session; replayed: boolean }> {
  const id = host.sessions.newId();
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    const found = host.versions.ofNew(assistant.record, visitorId ?? id);
    const answering = found instanceof Promise ? await found : found;
    const asked = wanted(answering);
    const session = asked instanceof Promise ? await asked : asked;
    try {
      return await host.sessions.create(session, versionOfNewSession(answering), id);
    } catch (error) {
      if (!(error instanceof ReleaseMoved)) throw error;
    }
    await host.assistants.refresh(assistant);
  }
  throw new StoreUnavailable(releaseMoved);
}
