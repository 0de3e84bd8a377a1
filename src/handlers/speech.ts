/** `POST /speech` and `GET /voices` (contract 8). */
import { beginSpeech, type BegunSpeech } from '../conversation/speech.ts';
import { keyOf, mayUse, reachAssistant } from '../conversation/reach.ts';
import { checkSpeaks, choiceOf, failureOfVoice, readyVoice, voiceOf } from '../conversation/voice-call.ts';
import { Failure } from '../errors.ts';
import { causeOf, type PartyCaller, type Reply, type Request } from '../request.ts';
import { voiceView } from '../views.ts';
import type { SpeechFormat } from '../voice/audio/formats.ts';
import type { SpeechBody } from '../wire.ts';
import { pour } from './flowing.ts';
import { listOfAll, type PageFields } from './lists.ts';

const audible = /[\p{L}\p{N}]/u;

export async function speech({ caller, body, services, requestId, head }: Request<PartyCaller, unknown, SpeechBody>): Promise<Reply> {
  if (!audible.test(body.text)) throw new Failure('invalid_field', { field: 'text' });
  const assistant = await reachAssistant(caller.party, body.assistant_id, services);
  const chosen = voiceOf(assistant, services);
  if (body.voice !== undefined && !(chosen.provider?.takesVoice(body.voice) ?? true)) throw new Failure('invalid_field', { field: 'voice' });
  checkSpeaks(assistant, causeOf(caller.party, requestId), services);
  const ready = await readyVoice(assistant, chosen, services);
  const wish = { keyId: keyOf(caller.party), text: body.text, format: (body.format ?? 'wav') as SpeechFormat, voice: body.voice ?? null, speed: body.speed ?? 1, stream: body.stream ?? true };
  const askedAt = services.clock.monotonic();
  let gone = false;
  head.onGone(() => (gone = true));
  const failed = (error: unknown): never => {
    if (!gone) services.log.warn({ request_id: requestId, assistant_id: body.assistant_id, reason: (error as { reason?: string }).reason, err: error }, 'voice provider failed');
    throw failureOfVoice(error);
  };
  const begun = await beginSpeech(assistant, ready, wish, (callback) => head.onGone(callback), services).catch(failed);
  services.metrics.voice.firstAudio.observe((services.clock.monotonic() - askedAt) / 1000);
  const { encoder } = begun;
  const headers = { 'content-type': encoder.contentType, 'x-audio-sample-rate': String(encoder.sampleRate) };
  if (begun.whole) return { status: 200, headers, bytes: await wholeOf(begun).catch(failed) };
  return {
    status: 200,
    headers,
    stream: (outlet, onGone) =>
      pour(begun.bytes, outlet, onGone).catch((error) => {
        if (!gone) services.log.warn({ request_id: requestId, err: error }, 'voice provider failed');
        outlet.cut();
      }),
  };
}

async function wholeOf({ bytes }: BegunSpeech): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

interface VoicesFields extends PageFields {
  readonly assistant_id: string;
}

export async function listVoices({ caller, query, services }: Request<PartyCaller, VoicesFields>): Promise<Reply> {
  const assistant = await services.host.assistants.of(caller.party.workspaceId, query.assistant_id);
  // What the key may not use does not exist in a list (contract 8).
  if (assistant === null || !mayUse(caller.party, query.assistant_id)) throw new Failure('assistant_not_found');
  const { provider, settings } = voiceOf(assistant, services);
  // The newest is first by default, as in every list: the provider's own is the newest.
  return listOfAll(provider?.voices(choiceOf(settings)) ?? [], query, 'desc', voiceView);
}
