/** `POST /transcription-tokens`, and the socket that a token opens (contract 8). */
import { publicAddress } from '../../access/own-origins.ts';
import type { HolderKind, SocketUse, TokenClaims } from '../../access/socket-tokens.ts';
import { secondsOf } from '../../base/clock.ts';
import { causeByPrincipal, type Principal } from '../../conversation/principal.ts';
import {
  answeringOf,
  checkOpen,
  checkPermission,
  checkVisible,
  findAssistant,
  reachAssistant,
  readSession,
} from '../../conversation/access-checks.ts';
import { takesRate, TranscriptionSocket, type AudioSettings } from '../../conversation/transcription-socket.ts';
import { checkRoom, checkSpeaks, readyVoice, voiceOf, type AssistantVoice } from '../../conversation/voice-call.ts';
import type { ResponseHeaders, Upgrade } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import { limits } from '../../base/limits.ts';
import type { PrincipalCaller, Reply, Request, TokenCaller } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Session } from '../../store/store.ts';
import type { CreateTranscriptionTokenBody, TranscriptionQuery } from '../../wire/wire.ts';

export const createTranscriptionToken = (
  request: Request<PrincipalCaller, unknown, CreateTranscriptionTokenBody>,
): Promise<Reply> => mintToken(request, async () => {});

/** `admit` charges the caller's limits, after every other check but the provider's. */
export async function mintToken(
  { caller, body, head, requestId, services }: Request<PrincipalCaller, unknown, CreateTranscriptionTokenBody>,
  admit: (session: Session | null) => Promise<void>,
): Promise<Reply> {
  const { principal } = caller;
  const { assistant_id: assistantId, session_id: sessionId = null } = body;
  const assistant = await findAssistant(principal, assistantId, services);
  const session = await checkUse(principal, assistant, sessionId, requestId, services);
  await admit(session);
  const chosen = voiceOf(await answeringOf(assistant, session, services), services);
  const { provider } = await readyVoice(assistant, chosen, services);
  // The models for listening are loaded by the time that the socket opens.
  services.voice.warm(provider);
  return tokenReply(
    'transcription',
    principal,
    { id: services.ids.make('tok'), assistantId, sessionId },
    head,
    services,
  );
}

function holderKindOf({ channel, visitor }: Principal): HolderKind {
  if (visitor !== undefined) return visitor.signedFields === null ? 'visitor' : 'signed_visitor';
  return channel === 'console' ? 'person' : 'key';
}

/** A token for one socket of the principal's, with the address that it opens the socket at. */
export function tokenReply(
  use: SocketUse,
  principal: Principal,
  opens: Pick<TokenClaims, 'id' | 'assistantId' | 'sessionId'>,
  head: Request['head'],
  services: Services,
): Reply {
  const expiresAt = secondsOf(services.clock.now() + limits.transcriptionTokenMs);
  const holder = { kind: holderKindOf(principal), id: principal.id };
  const tokens = use === 'call' ? services.callTokens : services.transcriptionTokens;
  const token = tokens.seal({ ...opens, workspaceId: principal.workspaceId, holder, untilMs: expiresAt * 1000 });
  return {
    status: 201,
    json: {
      object: `${use}_token`,
      token,
      url: `${socketOrigin(head, services)}/${use}?token=${token}`,
      expires_at: expiresAt,
    },
  };
}

/**
 * The assistant with its session, if one is named: permission, then that the session is of this assistant (contract 8)
 * and open, then the assistant's state. Returns the session.
 */
async function checkUse(
  principal: Principal,
  assistant: AssistantActor,
  sessionId: string | null,
  requestId: string,
  services: Services,
): Promise<Session | null> {
  const { id } = assistant.record;
  const session = sessionId === null ? null : await readSession(principal.workspaceId, sessionId, services);
  if (session !== null) checkVisible(session, principal);
  for (const used of [id, session?.assistantId ?? id]) checkPermission(principal, used);
  if (session !== null) checkSession(session, id, services);
  checkSpeaks(principal, assistant, causeByPrincipal(principal, requestId), services);
  return session;
}

function checkSession(session: Session, assistantId: string, services: Services): void {
  if (session.assistantId !== assistantId) throw new Failure('invalid_field', { field: 'session_id' });
  checkOpen(session, services);
}

/** The same address as a socket. */
const socketOrigin = (head: Request['head'], { config }: Services): string =>
  publicAddress(head, config).replace(/^http/, 'ws');

/**
 * `GET /transcription`: every check of an upgrade; the token is taken last, so that a refused upgrade leaves it good.
 */
export async function openTranscription(
  { caller, query, requestId, services }: Request<TokenCaller, TranscriptionQuery>,
  upgrade: Upgrade,
  headers: ResponseHeaders,
): Promise<void> {
  const { claims, principal, protocol } = caller;
  const settings = settingsOf(query);
  if (!takesRate(settings)) throw new Failure('invalid_field', { field: 'sample_rate' });
  const assistant = await reachAssistant(principal, claims.assistantId, services);
  const session = await checkUse(principal, assistant, claims.sessionId, requestId, services);
  const chosen = voiceOf(await answeringOf(assistant, session, services), services);
  checkLanguage(query.language, chosen);
  checkRoom(principal, services);
  const ready = await readyVoice(assistant, chosen, services);

  const { host } = services;
  const facts = {
    id: claims.id,
    workspaceId: claims.workspaceId,
    tokenUntilMs: claims.untilMs,
    expiresAt: session?.expiresAt ?? null,
    cause: causeByPrincipal(principal, requestId),
  };
  if (upgrade.gone) return;
  if (!(await host.sockets.spend(facts, requestId))) throw new Failure('invalid_token');
  const actor = await host.sockets.open(facts);
  actor.send({ type: 'open', at: Math.min(services.clock.now(), claims.untilMs - 1), refusal: null });
  const socket = new TranscriptionSocket({
    actor,
    assistant,
    session,
    principal,
    ready,
    settings,
    requestId,
    services,
  });
  upgrade.onGone(() => socket.closed());
  upgrade.accept(socket, headers, protocol ?? '');
}

function checkLanguage(language: string | undefined, { provider }: AssistantVoice): void {
  if (language !== undefined && provider !== null && !provider.takesLanguage(language))
    throw new Failure('invalid_field', { field: 'language' });
}

const settingsOf = (query: TranscriptionQuery): AudioSettings => ({
  encoding: query.encoding ?? 'pcm_s16le',
  sampleRate: query.sample_rate ?? 16_000,
  language: query.language ?? null,
  silenceMs: query.silence_ms ?? 300,
  partials: query.partials ?? true,
});
