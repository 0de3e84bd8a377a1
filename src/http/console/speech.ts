/**
 * The assistant's voice in the console: which ones there are, and how one sounds, of a draft too (contract 9: trials).
 */
import { Failure } from '../../base/errors.ts';
import { checkText, chosenVoice, replyWithSpeech, voicesOf } from '../handlers/speech.ts';
import type { PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import type { TrialSpeechBody } from '../../wire/wire.ts';
import { causeByOperator, reachPathAssistant, type ConsoleRequest } from './common.ts';

export const listAssistantVoices = async (request: ConsoleRequest<PageFields>): Promise<Reply> =>
  voicesOf((await reachPathAssistant(request)).record, request.query, request.services);

/** Like a trial it counts in no usage and takes no budget. */
export async function speakInTrial(request: ConsoleRequest<unknown, TrialSpeechBody>): Promise<Reply> {
  const { body, services } = request;
  checkText(body.text);
  const assistant = await reachPathAssistant(request);
  const chosen = chosenVoice(assistant.record, body, services);
  const refusal = services.host.assistants.trialVoiceRefusal(assistant, causeByOperator(request));
  if (refusal !== null) throw new Failure(refusal);
  const { kind, id } = request.caller.by;
  const by = { caller: `${kind}/${id}`, keyId: null, counted: false };
  const wish = { ...by, text: body.text, format: 'wav', voice: body.voice ?? null, speed: 1, stream: false } as const;
  return replyWithSpeech(assistant, chosen, wish, request);
}
