/**
 * `POST /speech` and `POST /transcription-tokens`. No voice provider is in this version, so there is none for a credential
 * to open: a request that passes every check hears `voice_unavailable`, and as no token is ever minted, none is valid.
 */
import { Failure } from '../errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { KeyCaller, Request } from '../request.ts';
import type { Services } from '../services.ts';
import type { Session } from '../store.ts';
import { sessionView } from '../views.ts';
import type { CreateTranscriptionTokenBody, SpeechBody } from '../wire.ts';
import { mayUse, retainedSession } from './common.ts';

export async function speech({ caller, body, services }: Request<KeyCaller, unknown, SpeechBody>): Promise<never> {
  const assistant = await knownAssistant(caller, body.assistant_id, services);
  if (!mayUse(caller, body.assistant_id)) throw new Failure('assistant_not_permitted');
  return refuse(assistant, services);
}

export async function createTranscriptionToken({ caller, body, services }: Request<KeyCaller, unknown, CreateTranscriptionTokenBody>): Promise<never> {
  const { assistant_id: assistantId, session_id: sessionId } = body;
  const assistant = await knownAssistant(caller, assistantId, services);
  const session = sessionId === undefined ? null : await retainedSession(caller.workspaceId, sessionId, services);
  if (![assistantId, session?.assistantId ?? assistantId].every((id) => mayUse(caller, id))) throw new Failure('assistant_not_permitted');
  if (session !== null) checkSession(session, assistantId, services);
  return refuse(assistant, services);
}

/** `GET /transcription`, which asks to become a socket. */
export function openTranscription(): never {
  throw new Failure('invalid_token');
}

async function knownAssistant({ workspaceId }: KeyCaller, id: string, { host }: Services): Promise<AssistantActor> {
  const actor = await host.assistants.of(workspaceId, id);
  if (actor === null) throw new Failure('assistant_not_found');
  return actor;
}

/** The session that a token is bound to: of this assistant (contract 12), and not over. */
function checkSession(session: Session, assistantId: string, { clock }: Services): void {
  if (session.assistantId !== assistantId) throw new Failure('invalid_field', { field: 'session_id' });
  const { status } = sessionView(session, clock.now());
  if (status !== 'open') throw new Failure(status === 'ended' ? 'session_ended' : 'session_expired');
}

function refuse(assistant: AssistantActor, { host }: Services): never {
  throw new Failure(host.assistants.voiceRefusal(assistant) ?? 'voice_unavailable');
}
