/** `POST /speech` and `GET /voices` (contract 8). */
import { beginSpeech, type BegunSpeech } from '../conversation/speech.ts';
import { mayUse, reachAssistant } from '../conversation/reach.ts';
import { checkSpeaks, choiceOf, failureOfVoice, readyVoice, voiceOf } from '../conversation/voice-call.ts';
import type { Outlet } from '../edge.ts';
import { Failure } from '../errors.ts';
import type { PartyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import { voiceView } from '../views.ts';
import type { SpeechFormat } from '../voice/audio/formats.ts';
import type { SpeechBody } from '../wire.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

const audible = /[\p{L}\p{N}]/u;

export async function speech({ caller, body, services, requestId, head }: Request<PartyCaller, unknown, SpeechBody>): Promise<Reply> {
  if (!audible.test(body.text)) throw new Failure('invalid_field', { field: 'text' });
  const assistant = await reachAssistant(caller.party, body.assistant_id, services);
  const chosen = voiceOf(assistant, services);
  if (body.voice !== undefined && !(chosen.provider?.takesVoice(body.voice) ?? true)) throw new Failure('invalid_field', { field: 'voice' });
  checkSpeaks(assistant, services);
  const ready = await readyVoice(assistant, chosen, services);
  const wish = { text: body.text, format: (body.format ?? 'wav') as SpeechFormat, voice: body.voice ?? null, speed: body.speed ?? 1, stream: body.stream ?? true };
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
  return { status: 200, headers, stream: (outlet, onGone) => send(begun, outlet, onGone, services, requestId) };
}

async function wholeOf({ bytes }: BegunSpeech): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Sends what the reader can take; rejects if the provider fails, which cuts the answer. */
async function send({ bytes }: BegunSpeech, outlet: Outlet, onGone: (callback: () => void) => void, { log }: Services, requestId: string): Promise<void> {
  let gone = false;
  let wake = (): void => {};
  onGone(() => {
    gone = true;
    wake();
  });
  outlet.onDrain(() => wake());
  try {
    for await (const piece of bytes) {
      if (gone) return;
      if (piece.length > 0 && !outlet.write(piece)) await new Promise<void>((resolve) => (gone ? resolve() : (wake = resolve)));
      if (gone) return;
    }
  } catch (error) {
    if (gone) return;
    log.warn({ request_id: requestId, err: error }, 'voice provider failed');
    outlet.cut();
    return;
  }
  outlet.end();
}

interface VoicesFields extends PageFields {
  readonly assistant_id: string;
}

export async function listVoices({ caller, query, services }: Request<PartyCaller, VoicesFields>): Promise<Reply> {
  const assistant = await services.host.assistants.of(caller.party.workspaceId, query.assistant_id);
  // What the key may not use does not exist in a list (contract 8).
  if (assistant === null || !mayUse(caller.party, query.assistant_id)) throw new Failure('assistant_not_found');
  const { provider, settings } = voiceOf(assistant, services);
  const all = provider?.voices(choiceOf(settings)) ?? [];
  return list(
    pageRequest(query, 'desc'),
    ({ after, limit, order }) => {
      // The newest is first by default, as in every list: the provider's own is the newest.
      const ordered = order === 'desc' ? all : [...all].reverse();
      const from = Number(after ?? 0);
      return { items: ordered.slice(from, from + limit), next: from + limit < ordered.length ? String(from + limit) : null };
    },
    voiceView,
  );
}
