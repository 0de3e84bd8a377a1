/** `POST /v1/audio/speech`: `POST /speech` under other names (contract 14). */
import { Failure } from '../../base/errors.ts';
import type { CompletionSpeechBody } from '../../wire/wire.ts';
import { reachModel } from '../../conversation/protocol-adapter.ts';
import { answeringOf } from '../../conversation/access-checks.ts';
import { voiceOf } from '../../conversation/voice-call.ts';
import { speech } from '../handlers/speech.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';

/** The fields of `POST /speech`, by the names that they have here. */
const names: Readonly<Record<string, string>> = { text: 'input', assistant_id: 'model', format: 'response_format' };

/** The names of OpenAI's voices. */
const openaiVoices: ReadonlySet<string> = new Set([
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
]);

export async function audioSpeech(request: Request<PrincipalCaller, unknown, CompletionSpeechBody>): Promise<Reply> {
  const { model, input, response_format: format = 'mp3', voice, speed } = request.body;
  const assistant = await reachModel(request.caller.principal, model, request.services);
  const { provider } = voiceOf(await answeringOf(assistant, null, request.services), request.services);
  // Clients of that API name one of its voices, since they must name one.
  const isOwn = voice === undefined || (openaiVoices.has(voice) && provider?.takesVoice(voice) === false);
  const body = {
    assistant_id: assistant.record.id,
    text: input,
    format,
    ...(!isOwn && { voice }),
    ...(speed !== undefined && { speed }),
  };
  try {
    return await speech({ ...request, body });
  } catch (error) {
    const name = error instanceof Failure && error.param !== undefined ? names[error.param] : undefined;
    throw name === undefined ? error : new Failure('invalid_field', { field: name });
  }
}
