/** The assistant's voice in the console: which ones there are, and how one sounds, of a draft too (contract 9: trials). */
import { Failure } from '../errors.ts';
import { checkText, chosenVoice, spoken, voicesOf } from '../handlers/speech.ts';
import type { PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import type { TrialSpeechBody } from '../wire.ts';
import { causeOf, reachAssistant, type ConsoleRequest } from './common.ts';

export const listAssistantVoices = async (request: ConsoleRequest<PageFields>): Promise<Reply> => voicesOf(await reachAssistant(request), request.query, request.services);

/** Like a trial it counts in no usage and takes no budget. */
export async function speakInTrial(request: ConsoleRequest<unknown, TrialSpeechBody>): Promise<Reply> {
  const { body, services } = request;
  checkText(body.text);
  const assistant = await reachAssistant(request);
  const chosen = chosenVoice(assistant, body.voice, services);
  const refusal = services.host.assistants.trialRefusal(assistant, causeOf(request)) ?? (assistant.record.channels.voice ? null : 'voice_disabled');
  if (refusal !== null) throw new Failure(refusal);
  return spoken(assistant, chosen, { keyId: null, counted: false, text: body.text, format: 'wav', voice: body.voice ?? null, speed: 1, stream: false }, request);
}
