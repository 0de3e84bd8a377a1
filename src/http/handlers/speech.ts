/** `POST /speech` and `GET /voices` (contract 8). */
import { beginSpeech, type BegunSpeech, type SpeechWish } from '../../conversation/speech.ts';
import { causeByPrincipal, voiceCaller } from '../../conversation/principal.ts';
import {
  answeringOf,
  checkOpen,
  keyOf,
  mayUse,
  reachAssistant,
  reachSession,
} from '../../conversation/access-checks.ts';
import {
  checkSpeaks,
  choiceOf,
  failureOfVoice,
  readyVoice,
  voiceOf,
  type AssistantVoice,
} from '../../conversation/voice-call.ts';
import { Failure } from '../../base/errors.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Assistant, Session } from '../../store/store.ts';
import { voiceView } from '../../conversation/views.ts';
import type { SpeechBody } from '../../wire/wire.ts';
import { pour } from './flowing.ts';
import { listOfAll, type PageFields } from './lists.ts';

const audible = /[\p{L}\p{N}]/u;

export const speech = (request: Request<PrincipalCaller, unknown, SpeechBody>): Promise<Reply> =>
  speak(request, null, async () => {});

/**
 * Speaks within a session, or without one; `admit` charges the caller's limits, after every other check but the
 * provider's.
 */
export async function speak(
  { caller, body, services, requestId, head }: Request<PrincipalCaller, unknown, SpeechBody>,
  sessionId: string | null,
  admit: (session: Session | null) => Promise<void>,
): Promise<Reply> {
  checkText(body.text);
  const assistant = await reachAssistant(caller.principal, body.assistant_id, services);
  const session = sessionId === null ? null : await reachSession(caller.principal, sessionId, services);
  const chosen = chosenVoice(await answeringOf(assistant, session, services), body, services);
  if (session !== null) checkOpen(session, services);
  checkSpeaks(caller.principal, assistant, causeByPrincipal(caller.principal, requestId), services);
  await admit(session);
  const { format = 'wav', voice = null, speed = 1, stream = true, text } = body;
  const by = {
    caller: voiceCaller(caller.principal, services.clock.now()),
    keyId: keyOf(caller.principal),
    counted: true,
  };
  const wish = { ...by, text, format: format, voice, speed, stream };
  return replyWithSpeech(assistant, chosen, wish, { head, requestId, services });
}

/** Throws 422 for a text in which there is nothing to say. */
export function checkText(text: string): void {
  if (!audible.test(text)) throw new Failure('invalid_field', { field: 'text' });
}

/**
 * Returns the assistant's voice; throws 422 for a voice that its provider does not have, and for a text that cannot be
 * spoken.
 */
export function chosenVoice(
  assistant: Pick<Assistant, 'voice'>,
  { voice: wished, text }: Pick<SpeechBody, 'voice' | 'text'>,
  services: Services,
): AssistantVoice {
  const chosen = voiceOf(assistant, services);
  if (wished !== undefined && !(chosen.provider?.takesVoice(wished) ?? true))
    throw new Failure('invalid_field', { field: 'voice' });
  if (chosen.provider?.sayable?.(text) === '') throw new Failure('invalid_field', { field: 'text' });
  return chosen;
}

/** The answer that speaks, after every check but the provider's. */
export async function replyWithSpeech(
  assistant: AssistantActor,
  chosen: AssistantVoice,
  wish: SpeechWish,
  { head, requestId, services }: Pick<Request<never>, 'head' | 'requestId' | 'services'>,
): Promise<Reply> {
  const ready = await readyVoice(assistant, chosen, services);
  const askedAt = services.clock.monotonic();
  let gone = false;
  head.onGone(() => (gone = true));
  const failed = (error: unknown): never => {
    if (!gone)
      services.log.warn(
        {
          request_id: requestId,
          assistant_id: assistant.record.id,
          reason: (error as { reason?: string }).reason,
          err: error,
        },
        'voice provider failed',
      );
    throw failureOfVoice(error);
  };
  const begun = await beginSpeech(assistant, ready, wish, (callback) => head.onGone(callback), services).catch(failed);
  services.metrics.voice.firstAudio.observe((services.clock.monotonic() - askedAt) / 1000);
  const { encoder } = begun;
  const headers = { 'content-type': encoder.contentType, 'x-audio-sample-rate': String(encoder.sampleRate) };
  if (begun.whole) return { status: 200, headers, bytes: await readWhole(begun).catch(failed) };
  return {
    status: 200,
    headers: { ...headers, 'x-accel-buffering': 'no' },
    stream: (outlet, onGone) =>
      pour(begun.bytes, outlet, onGone).catch((error) => {
        if (!gone) services.log.warn({ request_id: requestId, err: error }, 'voice provider failed');
        outlet.cut();
      }),
  };
}

async function readWhole({ bytes }: BegunSpeech): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

interface VoicesFields extends PageFields {
  readonly assistant_id: string;
}

export async function listVoices({ caller, query, services }: Request<PrincipalCaller, VoicesFields>): Promise<Reply> {
  const assistant = await services.host.assistants.of(caller.principal.workspaceId, query.assistant_id);
  // An assistant that the key may not use does not exist in a list (contract 8).
  if (assistant === null || !mayUse(caller.principal, query.assistant_id)) throw new Failure('assistant_not_found');
  return voicesOf(await answeringOf(assistant, null, services), query, services);
}

/** The newest is first by default, as in every list: the provider's own is the newest. */
export function voicesOf(assistant: Pick<Assistant, 'voice'>, query: PageFields, services: Services): Promise<Reply> {
  const { provider, settings } = voiceOf(assistant, services);
  return listOfAll(provider?.voices(choiceOf(settings)) ?? [], query, 'desc', voiceView);
}
