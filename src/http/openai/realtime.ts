/** `GET /v1/realtime`: a call for clients of OpenAI's Realtime API (contract 18). */
import type { RequestHead, ResponseHeaders, Upgrade } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { RealtimeQuery } from '../../wire/wire.ts';
import { beginCall } from '../../conversation/call/begin.ts';
import { checkConverses, forget, reachModel } from '../../conversation/protocol-adapter.ts';
import { causeByPrincipal } from '../../conversation/principal.ts';
import { answeringOf, checkOpen, reachSession } from '../../conversation/access-checks.ts';
import { RealtimeSocket } from '../../conversation/realtime/socket.ts';
import { openSession } from '../../conversation/sessions.ts';
import { checkRoom, checkSpeaks, readyVoice, voiceOf } from '../../conversation/voice-call.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { Session } from '../../store/store.ts';
import type { KeyCaller, Request } from '../request.ts';

/** The subprotocol that such a client offers and is answered with. */
const subprotocol = 'realtime';

export async function openRealtime(
  request: Request<KeyCaller, RealtimeQuery>,
  upgrade: Upgrade,
  headers: ResponseHeaders,
): Promise<void> {
  const {
    caller: { principal },
    query,
    head,
    requestId,
    services,
  } = request;
  const cause = causeByPrincipal(principal, requestId);
  const assistant = await reachModel(principal, query.model, services);
  const known = query.session_id === undefined ? null : await reachSession(principal, query.session_id, services);
  if (known !== null && known.assistantId !== assistant.record.id)
    throw new Failure('invalid_field', { field: 'model' });
  if (known !== null) checkOpen(known, services);
  const answering = await checkConverses(principal, assistant, known, requestId, services);
  checkSpeaks(principal, assistant, cause, services);
  checkRoom(principal, services);
  const ready = await readyVoice(assistant, voiceOf(answering, services), services);
  services.voice.warm(ready.provider);
  if (upgrade.gone) return;
  const session =
    known ?? (await openSession(principal, { assistant_id: assistant.record.id }, null, requestId, services)).session;
  const socket = await socketOn(session, assistant, answering, ready, request).catch(async (error: unknown) => {
    if (known === null) await forget(principal, session, null, requestId, services);
    throw error;
  });
  upgrade.onGone(() => socket.closed());
  upgrade.accept(
    socket,
    { ...headers, 'x-session-id': session.id },
    offers(head.headers('sec-websocket-protocol')) ? subprotocol : '',
  );
}

const offers = (lines: readonly string[], sought: string = subprotocol): boolean =>
  lines.some((line) => line.split(',').some((name) => name.trim() === sought));

/** Whether the client speaks the beta of the API, as its header says, or a browser's subprotocol. */
const asksForBeta = (head: RequestHead): boolean =>
  offers(head.headers('openai-beta'), 'realtime=v1') ||
  offers(head.headers('sec-websocket-protocol'), 'openai-beta.realtime-v1');

/** The call of the session: a newer one replaces it, as any call does. */
async function socketOn(
  session: Session,
  assistant: AssistantActor,
  expected: AnsweringAssistant,
  ready: Awaited<ReturnType<typeof readyVoice>>,
  { caller: { principal }, query, head, requestId, span, services }: Request<KeyCaller, RealtimeQuery>,
): Promise<RealtimeSocket> {
  const { ids, clock } = services;
  const answering = await answeringOf(assistant, session, services);
  // A new session may be on another version than was expected.
  const isExpected = answering.version?.number === expected.version?.number;
  const voice = isExpected ? ready : await readyVoice(assistant, voiceOf(answering, services), services);
  const facts = {
    id: ids.make('call'),
    workspaceId: session.workspaceId,
    tokenUntilMs: clock.now() + limits.transcriptionTokenMs,
    expiresAt: session.expiresAt,
    cause: causeByPrincipal(principal, requestId),
  };
  return new RealtimeSocket({
    ...(await beginCall(session, facts, services)),
    principal,
    assistant,
    answering,
    ready: voice,
    requestId,
    span,
    services,
    model: query.model,
    isBeta: asksForBeta(head),
  });
}
