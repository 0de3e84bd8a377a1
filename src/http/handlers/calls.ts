/** `POST /call-tokens`, and the call that a token opens (contract 18). */
import { attendanceOf } from '../../store/records/attendance.ts';
import type { ResponseHeaders, Upgrade } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import type { CallQuery, CreateCallTokenBody } from '../../wire/wire.ts';
import { beginCall } from '../../conversation/call/begin.ts';
import { CallSocket } from '../../conversation/call/socket.ts';
import { settingsOf } from '../../conversation/call/settings.ts';
import { causeByPrincipal, type Principal } from '../../conversation/principal.ts';
import { answeringOf, checkOpen, reachAssistant, reachSession, turnRefusal } from '../../conversation/access-checks.ts';
import type { Services } from '../../conversation/services.ts';
import { takesRate } from '../../conversation/transcription-socket.ts';
import { checkRoom, checkSpeaks, readyVoice, voiceOf } from '../../conversation/voice-call.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { Session } from '../../store/store.ts';
import type { PrincipalCaller, Reply, Request, TokenCaller } from '../request.ts';
import { tokenReply } from './transcription.ts';

export const createCallToken = (request: Request<PrincipalCaller, unknown, CreateCallTokenBody>): Promise<Reply> =>
  mintCallToken(request, async () => {});

/** `admit` charges the caller's limits, after every other check but the provider's. */
export async function mintCallToken(
  { caller, body, head, requestId, services }: Request<PrincipalCaller, unknown, CreateCallTokenBody>,
  admit: (session: Session) => Promise<void>,
): Promise<Reply> {
  const { principal } = caller;
  const { session, assistant, answering } = await reach(principal, body.session_id, requestId, services);
  await admit(session);
  const { provider } = await readyVoice(assistant, voiceOf(answering, services), services);
  services.voice.warm(provider);
  return tokenReply(
    'call',
    principal,
    { id: services.ids.make('call'), assistantId: assistant.record.id, sessionId: session.id },
    head,
    services,
  );
}

/** The session with its assistant, in the order of checks of a chat. */
async function reach(
  principal: Principal,
  sessionId: string,
  requestId: string,
  services: Services,
): Promise<{ session: Session; assistant: AssistantActor; answering: AnsweringAssistant }> {
  const session = await reachSession(principal, sessionId, services);
  checkOpen(session, services);
  if (attendanceOf(session, services.clock.now()).state === 'person') throw new Failure('session_taken');
  const assistant = await reachAssistant(principal, session.assistantId, services);
  const cause = causeByPrincipal(principal, requestId);
  const refusal = turnRefusal(session, assistant, cause, services);
  if (refusal !== null) throw new Failure(refusal);
  checkSpeaks(principal, assistant, cause, services);
  return { session, assistant, answering: await answeringOf(assistant, session, services) };
}

/** `GET /call`: every check of an upgrade; the token is taken last, so that a refused upgrade leaves it good. */
export async function openCall(
  { caller, query, requestId, span, services }: Request<TokenCaller, CallQuery>,
  upgrade: Upgrade,
  headers: ResponseHeaders,
): Promise<void> {
  const { claims, principal, protocol } = caller;
  const settings = settingsOf(query);
  if (!takesRate(settings)) throw new Failure('invalid_field', { field: 'sample_rate' });
  const { session, assistant, answering } = await reach(principal, claims.sessionId!, requestId, services);
  const chosen = voiceOf(answering, services);
  if (settings.language !== null && chosen.provider !== null && !chosen.provider.takesLanguage(settings.language))
    throw new Failure('invalid_field', { field: 'language' });
  checkRoom(principal, services);
  const ready = await readyVoice(assistant, chosen, services);

  const { host } = services;
  const facts = {
    id: claims.id,
    workspaceId: claims.workspaceId,
    tokenUntilMs: claims.untilMs,
    expiresAt: session.expiresAt,
    cause: causeByPrincipal(principal, requestId),
  };
  if (upgrade.gone) return;
  if (!(await host.calls.spend(facts, requestId))) throw new Failure('invalid_token');
  const socket = new CallSocket(
    {
      ...(await beginCall(session, facts, services)),
      principal,
      assistant,
      answering,
      ready,
      requestId,
      span,
      services,
    },
    settings,
  );
  upgrade.onGone(() => socket.closed());
  upgrade.accept(socket, headers, protocol ?? '');
}
