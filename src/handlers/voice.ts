/**
 * `POST /speech` and `POST /transcription-tokens`. No voice provider is in this version, so there is none for a credential
 * to open: a request that passes every check hears `voice_unavailable`, and as no token is ever minted, none is valid.
 */
import { checkPermission, knownAssistant, reachAssistant, retainedSession } from '../conversation/reach.ts';
import { Failure } from '../errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { PartyCaller, Request, TokenCaller } from '../request.ts';
import type { Services } from '../services.ts';
import type { Session } from '../store.ts';
import { sessionView } from '../views.ts';
import type { CreateTranscriptionTokenBody, SpeechBody } from '../wire.ts';

export async function speech({ caller, body, services }: Request<PartyCaller, unknown, SpeechBody>): Promise<never> {
  return refuse(await reachAssistant(caller.party, body.assistant_id, services), services);
}

export async function createTranscriptionToken({ caller: { party }, body, services }: Request<PartyCaller, unknown, CreateTranscriptionTokenBody>): Promise<never> {
  const { assistant_id: assistantId, session_id: sessionId } = body;
  const assistant = await knownAssistant(party, assistantId, services);
  const session = sessionId === undefined ? null : await retainedSession(party.workspaceId, sessionId, services);
  for (const id of [assistantId, session?.assistantId ?? assistantId]) checkPermission(party, id);
  if (session !== null) checkSession(session, assistantId, services);
  return refuse(assistant, services);
}

/** `GET /transcription`, which asks to become a socket: no token has been let through. */
export function openTranscription(_request: Request<TokenCaller>): never {
  throw new Failure('invalid_token');
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
